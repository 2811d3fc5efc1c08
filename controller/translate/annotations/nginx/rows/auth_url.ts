/**
 * Types of the values of external authentication. In: the trimmed text of a value. Out: what a proxy makes
 * of it for each request, or null for what it cannot make, or what a client could lead elsewhere.
 */
import { isIPv6 } from "node:net";
import { canonicalPath } from "../../../../../shared/path/canonical_path.ts";
import { isTemplateVariable } from "../../../../../shared/path/template_variables.ts";
import { isForwardedHeader, isProxyHeader } from "../../../../../shared/path/proxy_headers.ts";
import { parseTemplate, type TemplatePart } from "./template.ts";
import { HEADER_NAMES, type ValueType } from "./value.ts";

export type Parts = readonly TemplatePart[];

export interface AuthUrl {
  readonly scheme: "http" | "https";
  /** Host and port. */
  readonly authority: Parts;
  /** Of an authority without variables; else null. */
  readonly place: AuthPlace | null;
  /** Path and query. */
  readonly target: Parts;
}

export interface AuthPlace {
  /** In lower case, without brackets and last dot. */
  readonly host: string;
  readonly port: number;
}

const PLAIN = { hasOff: false, refersTo: null } as const;

/** Of the client's host, and of the Ingress: what else a client sends does not choose a host. */
const HOST_VARIABLES: ReadonlySet<string> = new Set([
  ...["best_http_host", "host", "http_host", "namespace"],
]);

const HOST_TEXT = /^[-.:\w[\]]+$/;
const VISIBLE = /^[\x21-\x7e]+$/;
/** RFC 3986 §2. */
const URL_TEXT = /^[-\w.~:/?#[\]@!$&'()*+,;=%]+$/;
/** In characters. */
export const MAX_URL = 4096;

/** Characters of a URL and variables that a proxy knows. */
function readParts(text: string): Parts | null {
  if (text.length > MAX_URL || !VISIBLE.test(text)) return null;
  const parts = parseTemplate(text);
  return parts?.every((part) =>
      part.kind === "literal"
        ? URL_TEXT.test(part.text)
        : part.name === "namespace" || isTemplateVariable(part.name)
    )
    ? parts
    : null;
}

function readAuthority(text: string): Parts | null {
  const parts = readParts(text);
  return parts?.every((part) =>
      part.kind === "literal" ? HOST_TEXT.test(part.text) : HOST_VARIABLES.has(part.name)
    )
    ? parts
    : null;
}

function hasVariables(parts: Parts): boolean {
  return parts.some(({ kind }) => kind === "variable");
}

const PLACE = /^(?:\[([\da-f:.]{2,45})\]|([a-z\d_](?:[-\w.]{0,251}[\w.])?))(?::(\d{1,5}))?$/i;

/** Null for what is no host. */
export function placeOf(authority: string, scheme: AuthUrl["scheme"]): AuthPlace | null {
  const match = PLACE.exec(authority);
  if (match === null) return null;
  const [, address, name, written] = match;
  // As a name, a resolver would read some of them as an IPv4 address.
  if (address !== undefined && !isIPv6(address)) return null;
  const port = written === undefined ? (scheme === "https" ? 443 : 80) : Number(written);
  // Before the last dot is dropped: of two, one would be left, which hides what the name is.
  if (name?.includes("..") === true) return null;
  const host = (address ?? name.replace(/\.$/, "")).toLowerCase();
  return port < 1 || port > 65535 ? null : { host, port };
}

function readUrl(text: string): AuthUrl | null {
  if (text.length > MAX_URL || !VISIBLE.test(text) || text.includes("#")) return null;
  const [start] = /^https?:\/\//i.exec(text) ?? [];
  if (start === undefined) return null;
  const scheme = start.length === "https://".length ? "https" : "http";
  const end = text.slice(start.length).search(/[/?]/);
  const host = end === -1 ? text.slice(start.length) : text.slice(start.length, start.length + end);
  const rest = text.slice(start.length + host.length);
  const written = rest.startsWith("/") ? rest : `/${rest}`;
  const authority = host === "" ? null : readAuthority(host);
  const target = readParts(written);
  if (authority === null || target === null) return null;
  const place = hasVariables(authority) ? null : placeOf(host, scheme);
  if (place === null && !hasVariables(authority)) return null;
  const [path] = written.split("?", 1);
  return hasVariables(target) || canonicalPath(path).ok
    ? { scheme, authority, place, target }
    : null;
}

export const AUTH_URL: ValueType<AuthUrl> = {
  ...PLAIN,
  what: "http or https URL, of which the host may have $host, $http_host and $namespace, and the " +
    "rest other variables of a request",
  read: readUrl,
};

/** Where clients sign in: no client chooses the host, but by the one that it has requested. */
export const SIGNIN_URL: ValueType<Parts> = {
  ...PLAIN,
  what: "http or https URL or absolute path, of which the host may have $host, $http_host and " +
    "$namespace, and the rest other variables of a request",
  read: (text) => {
    if (text.length > MAX_URL) return null;
    if (/^\/(?![/\\])/.test(text)) return readParts(text);
    const match = /^(?:https?|\$(?:pass_access_)?scheme):\/\/([^/?#]+)/i.exec(text);
    return match === null || readAuthority(match[1]) === null ? null : readParts(text);
  },
};

export const REQUEST_TEXT: ValueType<Parts> = {
  ...PLAIN,
  what: "text without blanks, with variables of a request",
  read: readParts,
};

/** Of the URI that nginx looks at, which is another one in a subrequest. */
const URI_VARIABLE = /^(?:uri|document_uri|args|query_string|is_args|arg_.*)$/;

export function readsUri(parts: Parts): boolean {
  return parts.some((part) => part.kind === "variable" && URI_VARIABLE.test(part.name));
}

/** In lower case, each once. */
export const COPIED_HEADERS: ValueType<readonly string[]> = {
  ...HEADER_NAMES,
  what: "names of headers, separated by commas, without those that the proxy sets, such as " +
    "X-Request-ID and CDN-Loop, in any spelling",
  read: (text) => {
    const names = HEADER_NAMES.read(text);
    if (names === null) return null;
    const lower = [...new Set(names.map((name) => name.toLowerCase()))];
    return lower.some((name) => isProxyHeader(name) || isForwardedHeader(name)) ? null : lower;
  },
};

export interface CacheTime {
  readonly statuses: readonly number[];
  /** In ms; 0 for not at all. */
  readonly time: number;
}

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  M: 30 * 86_400_000,
  y: 365 * 86_400_000,
};

const DURATION = /^((?:\d{3} +)*)((?:\d{1,9}(?:ms|[smhdwMy]) *)+)$/;
const MAX_DURATIONS = 32;

/** Those of nginx's `proxy_cache_valid` without any. */
const DEFAULT_STATUSES = [200, 301, 302];

export const CACHE_TIMES: ValueType<readonly CacheTime[]> = {
  ...PLAIN,
  what: 'status codes and a time, such as "200 202 401 5m", several separated by commas',
  read: (text) => {
    if (text.length > MAX_URL) return null;
    const written = text.split(",").map((part) => part.trim()).filter((part) => part !== "");
    if (written.length === 0 || written.length > MAX_DURATIONS) return null;
    const times: CacheTime[] = [];
    for (const part of written) {
      const match = part.length > 256 ? null : DURATION.exec(part);
      if (match === null) return null;
      const codes = match[1].trim();
      const statuses = codes === "" ? DEFAULT_STATUSES : codes.split(/ +/).map(Number);
      let time = 0;
      for (const [, number, unit] of match[2].matchAll(/(\d{1,9})(ms|[smhdwMy])/g)) {
        time += Number(number) * UNITS[unit];
      }
      if (!Number.isSafeInteger(time)) return null;
      times.push({ statuses, time });
    }
    return times;
  },
};
