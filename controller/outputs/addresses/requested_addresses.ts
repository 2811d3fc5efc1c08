/**
 * Addresses that a Gateway asks for, as fields of its Service. In: `spec.addresses`, and the Service's type.
 * Out: the fields, or why one of the addresses cannot be had: then none is.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#gatewayspecaddress
 */
import { isIP } from "node:net";
import type { RequestedAddress } from "../../translate/gateway/objects/infrastructure.ts";
import type { ServiceType } from "../../translate/gateway/objects/parameters.ts";
import type { AddressFault } from "./plan.ts";

/** Fields of a Service's spec. */
export interface AddressFields {
  readonly clusterIP?: string;
  readonly clusterIPs?: readonly string[];
  readonly loadBalancerIP?: string;
}

export type RequestedFields =
  | { readonly ok: true; readonly fields: AddressFields; readonly values: readonly string[] }
  | { readonly ok: false; readonly fault: AddressFault };

/** A Service has one address of each family at most. */
const FAMILIES = [4, 6];

export function requestedFields(
  addresses: readonly RequestedAddress[],
  type: ServiceType,
): RequestedFields {
  const hostname = addresses.find((address) => address.type === "Hostname");
  if (hostname !== undefined) {
    return unusable(
      `${
        shown(hostname)
      } cannot be assigned to a Gateway. Write addresses of type IPAddress, or none.`,
    );
  }
  const values = addresses.flatMap(({ value }) => value ?? []);
  const wrong = values.find((value) => isIP(value) === 0 || value.includes("%"));
  if (wrong !== undefined) {
    return unusable(`${JSON.stringify(wrong.slice(0, 80))} is no IP address. Correct it.`);
  }
  for (const family of FAMILIES) {
    const same = values.filter((value) => isIP(value) === family);
    if (same.length > 1) {
      return unusable(
        `a Gateway has one address of each family, and not ${
          same.join(" and ")
        }. Remove all but one.`,
      );
    }
  }
  if (addresses.length > FAMILIES.length) {
    return unusable(
      `a Gateway has one address of each family, and not ${addresses.length}. Remove some.`,
    );
  }
  if (type === "LoadBalancer" && values.length > 1) {
    return unusable(
      `one address can be asked of a load balancer, and not ${values.join(" and ")}. Remove one.`,
    );
  }
  if (values.length === 0) return { ok: true, fields: {}, values };
  return {
    ok: true,
    values,
    fields: type === "LoadBalancer"
      ? { loadBalancerIP: values[0] }
      : { clusterIP: values[0], clusterIPs: values },
  };
}

function shown({ type, value }: RequestedAddress): string {
  return value === null ? `an address of type ${type}` : `${type} ${value.slice(0, 253)}`;
}

function unusable(message: string): { readonly ok: false; readonly fault: AddressFault } {
  return {
    ok: false,
    fault: { reason: "AddressNotUsable", message: `spec.addresses: ${message}` },
  };
}
