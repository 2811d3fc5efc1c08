/**
 * Plans for the addresses of Gateways. In: Gateways as they are translated, and their open ports. Out: a plan
 * for each.
 */
import type { GatewayPort, GatewayStatus } from "../../translate/gateway/gateway_translation.ts";
import type { GatewayAddressPlan } from "./plan.ts";

/**
 * One without ports keeps the Service that it has, and with it the address: it may be mended.
 *
 * @param openPorts Those of a Gateway that all proxies have opened; null while they are not known.
 */
export function gatewayPlans(
  gateways: readonly GatewayStatus[],
  openPorts: (gateway: string) => readonly GatewayPort[] | null,
): readonly GatewayAddressPlan[] {
  return gateways.map((gateway) => {
    const { identity: { ref, key }, uid, className, infrastructure, address, service } = gateway;
    const { labels, annotations, addresses } = infrastructure;
    return {
      gateway: { namespace: ref.namespace, name: ref.name, uid, className },
      ports: openPorts(key),
      ...{ labels, annotations, addresses, address, service },
    };
  });
}
