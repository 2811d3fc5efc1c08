/**
 * Many endpoints on one machine. In: the backend's address, and how many. Out: addresses of
 * 127.0.0.0/8 at its port, all of which lead to it.
 */
import { type Address } from "../shared/net/address.ts";

/** Of the 256 in the last octet; 0 and 255 look like those of a network. */
const PER_OCTET = 250;

/** From 127.0.0.1 on; the backend itself where it is one. */
export function endpointsOf(
  { backend, endpoints }: { readonly backend: Address; readonly endpoints: number },
): readonly Address[] {
  if (endpoints === 1) return [backend];
  return Array.from({ length: endpoints }, (_, index) => ({
    hostname: `127.0.${Math.floor(index / PER_OCTET)}.${index % PER_OCTET + 1}`,
    port: backend.port,
  }));
}
