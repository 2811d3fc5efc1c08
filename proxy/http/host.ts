/**
 * An authority, `host[:port]`, as Host and absolute-form targets carry it (RFC 3986 §3.2, RFC 9112
 * §3.2). In: what the client wrote. Out: the host for the router, or null for a malformed one.
 */
import { isIPv6 } from "node:net";
import { latin1 } from "./fields.ts";

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
  if (isPlainName(authority)) return authority;
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

const DOT = 0x2e;

/**
 * Whether a name is as routes have it, as nearly every client sends it: in lower case, without port
 * or last dot. What is not goes the long way, be it good or bad.
 */
function isPlainName(authority: string): boolean {
  const { length } = authority;
  if (length > 253) return false;
  let before = DOT;
  for (let i = 0; i < length; i++) {
    const code = authority.charCodeAt(i);
    const isLabel = (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39) ||
      code === 0x2d || code === 0x5f;
    if (!isLabel && (code !== DOT || before === DOT)) return false;
    before = code;
  }
  return before !== DOT;
}
