/**
 * Headers that the proxy writes itself. In: the name of a header. Out: whether filters may change it.
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

/** @param name in lower case. */
export function isProxyHeader(name: string): boolean {
  return PROXY_HEADERS.has(name);
}
