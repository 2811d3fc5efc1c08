/**
 * A request as somebody would send it. In: texts from a command line or an admin page. Out: host, path
 * and query of a URL as they reach the proxy: nothing but the fragment is taken off, since what a
 * client sends and what it is matched as may differ, and that is worth explaining; the name and value
 * of a header as curl takes it.
 */

export interface RequestedUrl {
  readonly scheme: "http" | "https";
  /** As for `RouteTable.match`: lower case, in ASCII, without port and last dot; IPv6 in brackets. */
  readonly host: string;
  /** As it is written; null for none. */
  readonly port: number | null;
  /** Without query; bytes above ASCII escaped, as every client does. */
  readonly rawPath: string;
  /** With its `?`, or ""; escaped as the path. */
  readonly query: string;
}

/** What an `/explain` of an admin port is about. */
export interface RequestedExplanation {
  readonly url: RequestedUrl;
  readonly method: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** Scheme (one of HTTP, or of a protocol inside of it), host with port, path. */
const URL_PARTS =
  /^(?:((?:http|ws|grpc)s?):\/\/|(?![a-z][a-z0-9+.-]*:\/\/))([^/?#\\\s]+)(\/[^?#]*)?(\?[^#]*)?(?=#|$)/i;

/** Schemes over TLS. */
const SECURE: ReadonlySet<string> = new Set(["https", "wss", "grpcs"]);

/**
 * Null where the text is no URL. Without a scheme it is taken for http, as ws and grpc are; wss and grpcs
 * for https.
 */
export function parseRequestedUrl(text: string): RequestedUrl | null {
  const match = URL_PARTS.exec(text);
  if (match === null) return null;
  const [, scheme = "http", authority, path = "/", query = ""] = match;
  let hostname: string;
  try {
    const url = new URL(`http://${authority}`);
    if (url.username !== "" || url.password !== "" || url.pathname !== "/") return null;
    hostname = url.hostname;
  } catch {
    return null;
  }
  return {
    scheme: SECURE.has(scheme.toLowerCase()) ? "https" : "http",
    host: hostname.replace(/\.$/, ""),
    port: portIn(authority),
    rawPath: escaped(path),
    query: escaped(query),
  };
}

/** Of an authority that has been found to be one. */
function portIn(authority: string): number | null {
  const digits = /:(\d+)$/.exec(authority)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** Of `url`, `method` (GET unless it is there) and each `header` of a query; else what is wrong, with the remedy. */
export function parseExplainQuery(query: URLSearchParams): RequestedExplanation | string {
  const url = parseRequestedUrl(query.get("url") ?? "");
  if (url === null) {
    return "Request /explain?url=https://app.example.com/path, escaped as a query is";
  }
  const method = query.get("method") ?? "GET";
  const headers = query.getAll("header").map(parseRequestedHeader);
  const found = headers.filter((header) => header !== null);
  return isToken(method) && found.length === headers.length
    ? { url, method, headers: found }
    : "Write &method=POST and &header=X-Beta:%20yes, escaped as a query is";
}

/** `X-Beta: yes` as name and value, without blanks around it; null where that is no header. */
export function parseRequestedHeader(text: string): readonly [name: string, value: string] | null {
  const colon = text.indexOf(":");
  const name = text.slice(0, Math.max(colon, 0));
  const value = text.slice(colon + 1).trim();
  return isToken(name) && !/[\0\r\n]/.test(value) ? [name, value] : null;
}

/** A token of RFC 9110 §5.6.2, as methods and the names of headers are. */
export function isToken(text: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text);
}

function escaped(text: string): string {
  return text.replace(/[\u0080-\u{10ffff}]+/gu, escapeText);
}

/** UTF-8 in escapes; lone surrogates, which have no UTF-8, as U+FFFD. */
function escapeText(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
