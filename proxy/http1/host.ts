/**
 * An authority, `host[:port]`, as Host and absolute-form targets carry it (RFC 3986 §3.2, RFC 9112
 * §3.2). In: what the client wrote. Out: the host for the router, or null for a malformed one.
 */
import { isIPv6 } from "node:net";
import { latin1 } from "../fields.ts";

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

/** The authority at `bytes[start, end)`: the last one read, where it is the same, costs no string. */
export function authorityAt(bytes: Uint8Array, start: number, end: number): string {
  if (end - start !== lastAuthority.length) return latin1(bytes, start, end);
  for (let i = start; i < end; i++) {
    if (bytes[i] !== lastAuthority.charCodeAt(i - start)) return latin1(bytes, start, end);
  }
  return lastAuthority;
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
