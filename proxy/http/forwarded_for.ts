/**
 * Who the client is behind trusted proxies. In: the elements of X-Forwarded-For, which proxies wrote
 * in several ways and clients at will. Out: an address in plain form, and never anything else.
 */
import { isIPv4, isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";
import type { TrustedProxies } from "./trusted_proxies.ts";

/**
 * The last address of `chain`, from the right, that no trusted proxy has; the first of all if each
 * has. An element that is no address ends the walk, for only its writer vouches for those before it:
 * then it is the address behind it, or `peer`, the trusted proxy that sent the chain.
 */
export function originalClient(
  chain: readonly string[],
  peer: string,
  trustedProxies: Pick<TrustedProxies, "contains">,
): string {
  let client = peer;
  for (let i = chain.length - 1; i >= 0; i--) {
    const address = addressIn(chain[i]);
    if (address === null) break;
    client = address;
    if (!trustedProxies.contains(address)) break;
  }
  return client;
}

/**
 * The address in `10.0.0.1`, `10.0.0.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`,
 * an IPv4-mapped one as IPv4; null for anything else.
 */
export function addressIn(element: string): string | null {
  const v4 = element.replace(/:\d{1,5}$/, "");
  if (isIPv4(v4)) return v4;
  const v6 = element.replace(/^\[([^\]]*)\](?::\d{1,5})?$/, "$1");
  // A zone is of no meaning to others, and its name may hold anything.
  if (!isIPv6(v6) || v6.includes("%")) return null;
  const address = ipaddr.IPv6.parse(v6);
  return address.isIPv4MappedAddress() ? address.toIPv4Address().toString() : v6;
}
