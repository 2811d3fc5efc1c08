/**
 * Plans for the addresses of Gateways. In: Gateways as they are translated, their open ports, and flags. Out: a
 * plan for each.
 */
import {
  type ServiceDefaults,
  serviceSettings,
} from "../../translate/gateway/objects/parameters.ts";
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
  defaults: ServiceDefaults,
): readonly GatewayAddressPlan[] {
  const settings = serviceSettings({}, {}, defaults);
  if (!settings.ok) return [];
  return gateways.map(({ identity: { ref, key }, uid, className, infrastructure }) => {
    const { labels, annotations, addresses } = infrastructure;
    return {
      gateway: { namespace: ref.namespace, name: ref.name, uid, className },
      ports: openPorts(key),
      ...{ labels, annotations, addresses },
      service: settings.value,
    };
  });
}
