/**
 * An authority, `host[:port]`, as Host and absolute-form targets carry it (RFC 3986 §3.2, RFC 9112
 * §3.2). In: what the client wrote. Out: the host for the router, or null for a malformed one.
 */
import { isIPv6 } from "node:net";

/** The last authority read: clients of one site send the same again and again. */
let lastAuthority = "";
let lastHost: string | null = null;

/**
 * The host in lower case without port and without one trailing dot, or null: empty, an empty label,
 * userinfo, a bad port, or bytes that no host name has.
 */
export function readAuthority(authority: string): string | null {
  if (authority !== lastAuthority) {
    lastHost = parseAuthority(authority);
    lastAuthority = authority;
  }
  return lastHost;
}

function parseAuthority(authority: string): string | null {
  const match = /^(?:(\[[0-9A-Fa-f:.]+\])|([0-9A-Za-z._-]+))(?::([0-9]*))?$/.exec(authority);
  if (match === null) return null;
  const [, literal, name, port] = match;
  if (port !== undefined && (port.length > 5 || Number(port) > 65535)) return null;
  if (literal !== undefined) {
    return isIPv6(literal.slice(1, -1)) ? literal.toLowerCase() : null;
  }
  const host = (name.endsWith(".") ? name.slice(0, -1) : name).toLowerCase();
  // DNS names end at 253 bytes; an empty label has no meaning to anyone.
  const hasEmptyLabel = host.startsWith(".") || host.endsWith(".") || host.includes("..");
  return host === "" || host.length > 253 || hasEmptyLabel ? null : host;
}
