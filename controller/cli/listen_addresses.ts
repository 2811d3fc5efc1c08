/**
 * Where the stream is served. In: the address that was asked for. Out: what is listened on, the first
 * that there is: all addresses means those of IPv4 where the system knows no IPv6.
 */
import { type Address, withoutIpv6 } from "../../shared/net/address.ts";

export function listenAddresses(address: Address): readonly [Address, ...Address[]] {
  const other = withoutIpv6(address);
  return other === address ? [address] : [address, other];
}
