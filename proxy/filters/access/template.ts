/**
 * Texts that are made for each request, such as the URL of a subrequest. In: the parts of a text, and an
 * exchange. Out: the text; a ProxyError for one that is no part of a URL or a header.
 *
 * https://nginx.org/en/docs/http/ngx_http_core_module.html#variables
 */
import type { FilterSpec } from "../../../shared/snapshot/types.ts";
import { ProxyError } from "../../errors.ts";
import { asciiBytes, COOKIE, DROPPED } from "../../http/fields.ts";
import { trimmed } from "../../http/field_values.ts";
import { equalsLower } from "../../http/letter_case.ts";
import { requestIdOf } from "../../http/forwarded_headers.ts";
import type { Exchange } from "../../http/message.ts";

export type External = NonNullable<Extract<FilterSpec, { readonly kind: "access" }>["external"]>;
export type Template = External["target"];

/** In characters: a text may name one long header many times. As much as a head may have. */
const MAX_TEXT = 32 * 1024;

/** Visible ASCII: nothing of it ends a line, or begins another part of one. */
const VISIBLE = /^[\x21-\x7e]*$/;

/** The text for one request. Throws a ProxyError. */
export function rendered(template: Template, x: Exchange): string {
  let text = "";
  for (const part of template) {
    text += part.kind === "text" ? part.text : variable(part.name, x);
    if (text.length > MAX_TEXT) throw new ProxyError("auth_failed", "a text is too long");
  }
  if (!VISIBLE.test(text)) {
    throw new ProxyError("auth_failed", "a variable has a blank or a control character");
  }
  return text;
}

/** Path and query as the client has requested them. */
export function requestedTarget({ request, record }: Exchange): string {
  return record.requestedPath === null
    ? request.path + request.query
    : record.requestedPath + record.requestedQuery;
}

export function schemeOf({ client }: Exchange): "http" | "https" {
  return client.secure ? "https" : "http";
}

function variable(name: string, x: Exchange): string {
  return variableReader(name)(x);
}

/** What reads a variable; "" for one that the request does not have. */
export function variableReader(name: string): (x: Exchange) => string {
  if (Object.hasOwn(VALUES, name)) return VALUES[name];
  const [, family, rest] = /^(arg|cookie|http)_(.*)$/.exec(name)!;
  switch (family) {
    case "arg":
      return (x) => argument(queryOf(x), rest);
    case "cookie":
      return (x) => cookie(x, rest);
    default:
      return headerReader(rest.replaceAll("_", "-"));
  }
}

const VALUES: Readonly<Record<string, (x: Exchange) => string>> = {
  args: queryOf,
  best_http_host: (x) => x.request.authority || x.request.host,
  content_length: (x) => x.request.contentLength === -1 ? "" : String(x.request.contentLength),
  content_type: headerReader("content-type"),
  document_uri: (x) => x.request.path,
  escaped_request_uri: (x) => escaped(requestedTarget(x)),
  host: (x) => x.request.host,
  http_host: (x) => x.request.authority,
  is_args: (x) => queryOf(x) === "" ? "" : "?",
  literal_dollar: () => "$",
  pass_access_scheme: (x) => schemeOf(x),
  proxy_add_x_forwarded_for: (x) => addedHeader(x, "x-forwarded-for"),
  query_string: queryOf,
  remote_addr: (x) => x.record.clientAddress,
  remote_port: (x) => String(x.client.port),
  req_id: (x) => requestIdOf(x),
  request_id: (x) => requestIdOf(x),
  request_method: (x) => x.request.method,
  request_uri: requestedTarget,
  scheme: schemeOf,
  server_port: (x) => String(x.client.localPort),
  uri: (x) => x.request.path,
};

/** Without its `?`. */
function queryOf({ request: { query } }: Exchange): string {
  return query.slice(1);
}

/** The first argument of a name, as it is written; nginx compares names without case. */
function argument(query: string, name: string): string {
  for (const pair of query.split("&")) {
    const equals = pair.indexOf("=");
    if (equals === name.length && pair.slice(0, equals).toLowerCase() === name.toLowerCase()) {
      return pair.slice(equals + 1);
    }
  }
  return "";
}

/** The first cookie of a name. */
function cookie(x: Exchange, name: string): string {
  return cookies(x, name)[0] ?? "";
}

/** All cookies of a name (RFC 6265 §4.2.1). */
export function cookies(x: Exchange, name: string): string[] {
  const found: string[] = [];
  for (const text of cookiePairs(x)) {
    const equals = text.indexOf("=");
    if (equals === name.length && text.slice(0, equals) === name) {
      found.push(text.slice(equals + 1));
    }
  }
  return found;
}

/**
 * Whether others may read another cookie of a name than `cookies` does: nginx ignores case, and many
 * libraries drop blanks before the `=`.
 */
export function isAmbiguous(x: Exchange, name: string): boolean {
  const lower = name.toLowerCase();
  let count = 0;
  for (const text of cookiePairs(x)) {
    const equals = text.indexOf("=");
    // Most are of other names, and need no string.
    if (equals < name.length) continue;
    const written = text.slice(0, equals);
    if (written.trim().toLowerCase() !== lower) continue;
    if (written !== name || ++count > 1) return true;
  }
  return false;
}

function cookiePairs({ request: { fields } }: Exchange): string[] {
  const pairs: string[] = [];
  for (let i = fields.find(COOKIE); i !== -1; i = fields.find(COOKIE, i + 1)) {
    // Not `trim`, which takes the byte 0xa0 for a blank.
    for (const pair of fields.value(i).split(";")) pairs.push(trimmed(pair));
  }
  return pairs;
}

/** All lines of a header, but for those that end here. @param name in lower case. */
function headerReader(name: string): (x: Exchange) => string {
  if (name === "host") return ({ request }) => request.authority;
  const bytes = asciiBytes(name);
  // Without a string of each name: a filter reads it for every request.
  return ({ request: { fields } }) => {
    let text: string | null = null;
    for (let i = 0; i < fields.count; i++) {
      const start = fields.nameStart(i);
      if (fields.nameEnd(i) - start !== bytes.length || fields.ids[i] === DROPPED) continue;
      if (!equalsLower(fields.bytes, start, bytes)) continue;
      const value = fields.value(i);
      text = text === null ? value : `${text}, ${value}`;
    }
    return text ?? "";
  };
}

function addedHeader({ added }: Exchange, name: string): string {
  for (let i = 0; added !== null && i < added.count; i++) {
    if (added.name(i).toLowerCase() === name) return added.value(i);
  }
  return "";
}

/** As nginx's `set_escape_uri`: all but letters, digits and `-._~`. */
function escaped(text: string): string {
  return text.replace(
    /[^\w.~-]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
}
