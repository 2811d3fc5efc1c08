/**
 * Headers that the proxy writes itself. In: the name of a header. Out: whether filters may change it, and
 * whether a response to a subrequest may.
 */

/**
 * What filters leave alone: framing, the connection (RFC 9110 §7.6.1), the host, by which the route
 * was found, and `CDN-Loop`, without which a loop has no end (RFC 8586 §2).
 */
const PROXY_HEADERS: ReadonlySet<string> = new Set([
  "cdn-loop",
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** @param name in lower case, in any spelling that some reader takes for one of these. */
export function isProxyHeader(name: string): boolean {
  return PROXY_HEADERS.has(folded(name));
}

/** Those that the proxy sets for every backend, also `nginx-forwarded-headers`, which runs later. */
const FORWARDED_HEADERS: ReadonlySet<string> = new Set([
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-proto",
  "x-forwarded-scheme",
  "x-original-forwarded-for",
  "x-real-ip",
  "x-request-id",
  "x-scheme",
]);

/**
 * Whether the proxy says it of a request, and no one else: what a server of external authentication
 * says beside it would be lost, or stand beside a value that the client has chosen.
 *
 * @param name in lower case, in any spelling.
 */
export function isForwardedHeader(name: string): boolean {
  return FORWARDED_HEADERS.has(folded(name));
}

/** All punctuation counts as a hyphen: CGI and its successors read `CDN-Loop` and `cdn_loop` alike. */
function folded(name: string): string {
  return name.replace(/[^a-z\d]/g, "-");
}
