/**
 * Paths that upstreams get in place of the client's. In: the parts of a path and a query, and a pattern
 * whose groups they name. Out: a filter that rewrites the target of requests, or redirects to it. What
 * the client has sent stays in the record of the exchange, for logs.
 *
 * As nginx's `rewrite`, but that a new path which an upstream could read in two ways is refused, and that
 * paths have their escapes unless the route is compared with decoded ones.
 */
import { STATUS_CODES } from "node:http";
import { isCanonicalPath } from "../../shared/path/canonical_path.ts";
import { decodedPath, escapedPath, escapeOf } from "../../shared/path/decoded_path.ts";
import type { FilterSpec } from "../../shared/snapshot/types.ts";
import { ProxyError } from "../errors.ts";
import { extended } from "../http/changed_fields.ts";
import { dropNamed } from "../http/field_values.ts";
import { asciiBytes, fieldsOf } from "../http/fields.ts";
import { NO_BODY } from "../http/body.ts";
import { type Exchange, type Reply, ResponseHead } from "../http/message.ts";
import { compileSearch, type PatternSearch } from "../router/patterns/pattern.ts";
import { MAX_SEARCH, PatternWork } from "../router/patterns/work.ts";
import type { Filter } from "./filter.ts";

type Rewrite = Extract<FilterSpec, { readonly kind: "rewrite" }>;
type Parts = Rewrite["path"];

/** In characters: a target may name one long group many times. As much as a head may have. */
const MAX_TARGET = 32 * 1024;

/** A path, or the URL to redirect to, and a query with its `?`, or "". */
export interface Target {
  readonly path: string;
  readonly query: string;
  /** "" takes the header away; null leaves it. */
  readonly forwardedPrefix: string | null;
}

export function rewrite(spec: Rewrite): Filter {
  const targetOf = rewriting(spec);
  return {
    ...(spec.redirects === true ? {} : { changesRequestAlone: true }),
    request: (x) => {
      const { request, record } = x;
      const { path, query, forwardedPrefix } = targetOf(request.path, request.query);
      if (spec.redirects === true) return redirectTo(x, path + query);
      record.requestedPath = request.path;
      record.requestedQuery = request.query;
      request.path = path;
      request.query = query;
      if (forwardedPrefix !== null) setForwardedPrefix(x, forwardedPrefix);
      return null;
    },
  };
}

/** How targets of requests are rewritten; that throws a ProxyError for one that cannot be. */
export function rewriting(spec: Rewrite): (path: string, query: string) => Target {
  const { pattern, dropsQuery = false, redirects = false } = spec;
  const decoded = spec.decoded === true;
  const compiled = pattern === undefined ? null : compileSearch(pattern);
  if (compiled?.ok === false) throw new Error(compiled.reason);
  const search = compiled?.exec ?? null;
  return (requested, requestedQuery) => {
    const text = decoded ? decodedPath(requested) : requested;
    if (text === null) throw new ProxyError("bad_target");
    const groups = search === null ? NO_GROUPS : found(search, text);
    // The route's expression has matched, so that this one must.
    if (groups === null) throw new ProxyError("route_broken", "rewrite: the pattern has no match");
    const inQuery = decoded && /[%+]/.test(requested) ? inArguments : asIs;
    const written = joined(spec.path, groups, redirects ? inQuery : asIs);
    const path = !decoded ? written : redirects ? locationOf(written) : escapedPath(written);
    const own = spec.query === undefined ? "" : joined(spec.query, groups, inQuery);
    const query = queryOf(own, dropsQuery ? "" : requestedQuery);
    const { forwardedPrefix: prefix } = spec;
    const forwardedPrefix = prefix === undefined
      ? null
      : joined(prefix, groups, decoded ? inHeader : asIs);
    const size = path.length + query.length + (forwardedPrefix?.length ?? 0);
    if (size > MAX_TARGET) throw new ProxyError("target_too_long");
    if (!redirects && !path.startsWith("/")) {
      throw new ProxyError("route_broken", "rewrite: the new path does not begin with a slash");
    }
    if (!redirects && !isCanonicalPath(path)) {
      throw new ProxyError("bad_request", "rewrite: the new path is not canonical");
    }
    return { path, query, forwardedPrefix };
  };
}

const NO_GROUPS: readonly string[] = [];

/** One for all, as they may come in floods. */
const TOO_LONG = new ProxyError("too_much_matching");

/** The groups of the first match, or null; throws where finding it would take too long. */
function found(search: PatternSearch, text: string): RegExpExecArray | null {
  const work = new PatternWork(MAX_SEARCH);
  const groups = search(text, work);
  if (work.isExceeded) throw TOO_LONG;
  return groups;
}

function joined(
  parts: Parts,
  groups: readonly (string | undefined)[],
  encode: (group: string) => string,
): string {
  let text = "";
  for (const part of parts) {
    text += part.kind === "text" ? part.text : encode(groups[part.group] ?? "");
  }
  return text;
}

function asIs(group: string): string {
  return group;
}

/** As nginx's NGX_ESCAPE_ARGS, which it uses where the request's path has escapes or a plus. */
function inArguments(group: string): string {
  return group.replace(/[^!-~]|[#%&+;?]/g, escapeOf);
}

/** What nginx leaves of these escapes in a redirect: up to the first question mark it decodes some. */
function locationOf(url: string): string {
  const mark = /\?|%3F/.exec(url);
  const end = mark?.index ?? url.length;
  const path = url.slice(0, end).replace(
    /%2[6B]|%3B/g,
    (digits) => String.fromCharCode(parseInt(digits.slice(1), 16)),
  );
  return mark === null ? path : `${path}?${url.slice(end + mark[0].length)}`;
}

/** Headers have visible ASCII. */
function inHeader(group: string): string {
  return group.replace(/[^!-~]/g, escapeOf);
}

/** With its `?`, or "". */
function queryOf(own: string, requested: string): string {
  // A `?` with nothing behind it goes, as in nginx.
  const rest = requested.length > 1 ? requested.slice(1) : "";
  if (own === "") return rest === "" ? "" : requested;
  return rest === "" ? `?${own}` : `?${own}&${rest}`;
}

const FORWARDED_PREFIX = asciiBytes("x-forwarded-prefix");

function setForwardedPrefix(x: Exchange, value: string): void {
  const { request } = x;
  dropNamed(request.fields, FORWARDED_PREFIX);
  // nginx sends no header that is empty.
  const fields = fieldsOf(value === "" ? [] : [["X-Forwarded-Prefix", value]]);
  request.extra = extended(request.extra, [FORWARDED_PREFIX], fields);
}

function redirectTo({ request }: Exchange, location: string): Reply {
  const head = new ResponseHead();
  head.status = 302;
  head.reason = STATUS_CODES[302] ?? "";
  head.fields = fieldsOf([["Location", location]]);
  head.bodyLength = head.contentLength = 0;
  // Whether the request's body has come already, or is still to be waited for, is chance.
  head.closes = request.bodyLength !== 0;
  return { head, body: NO_BODY };
}
