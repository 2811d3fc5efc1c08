/**
 * The addresses of a Gateway that shares those of Ingresses. In: what the Gateway asks for, and the addresses of
 * the proxies. Out: what its status is to show, all or nothing.
 */
import type { RequestedAddress } from "../../translate/gateway/objects/infrastructure.ts";
import type { GatewayAddress, GatewayAddressState } from "./plan.ts";

/** @param addresses Null where they are not known: then so is the state. */
export function sharedAddressState(
  requested: readonly RequestedAddress[],
  addresses: readonly GatewayAddress[] | null,
): GatewayAddressState | null {
  if (addresses === null) return null;
  const missing = requested.flatMap(({ value }) => value ?? [])
    .filter((value) => !addresses.some((address) => address.value === value));
  if (missing.length > 0) {
    return {
      addresses: [],
      fault: {
        reason: "AddressNotUsable",
        message: `spec.addresses: the Gateway shares the address of Ingresses, which is not ${
          missing.map((value) => value.slice(0, 253)).join(" or ")
        }. Remove spec.addresses, or write address own into the parameters of the Gateway.`,
      },
    };
  }
  return {
    addresses,
    fault: addresses.length > 0
      ? null
      : { reason: "AddressNotAssigned", message: "the proxies have no address yet." },
  };
}
