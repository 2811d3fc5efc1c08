/**
 * Ports of an address that Gateways share with Ingresses. In: the port and protocol of a listener. Out: the
 * socket of the proxies that is behind it, or why there is none.
 */
import type { SharedSocket } from "../../../../shared/snapshot/listener_id.ts";
import { type Condition, falseCondition } from "../objects/condition.ts";
import type { ListenerModel } from "../objects/listener.ts";

type PortOf = Pick<ListenerModel, "port" | "protocol">;

/** Public ports, and what is spoken there. */
const SOCKETS: readonly (PortOf & { readonly socket: SharedSocket })[] = [
  { socket: "http", port: 80, protocol: "HTTP" },
  { socket: "https", port: 443, protocol: "HTTPS" },
];

/** Null for none. */
export function sharedSocket({ port, protocol }: PortOf): SharedSocket | null {
  return SOCKETS.find((one) => one.port === port && one.protocol === protocol)?.socket ?? null;
}

/** Of a listener that is to share an address; null where it can. */
export function sharedPortFault(
  listener: PortOf & Pick<ListenerModel, "field">,
): Condition | null {
  if (sharedSocket(listener) !== null) return null;
  const all = SOCKETS.map(({ port, protocol }) => `${port} for ${protocol}`).join(" and ");
  const condition = falseCondition(
    "Accepted",
    "PortUnavailable",
    `${listener.field}: the Gateway shares the address of Ingresses, which has the ports ${all}, and no port ` +
      `${listener.port} for ${listener.protocol}. Write one of them, or address own into the parameters of the ` +
      "Gateway.",
  );
  return { ...condition, ofSharedAddress: true };
}

/**
 * Listeners of one namespace on a shared address: 16 Gateways of the API's 64. Addresses of their own are
 * limited by ports; here each listener is some 300 bytes that every proxy keeps.
 */
export const MAX_SHARED_LISTENERS = 1024;

/** Of a listener of a namespace that has as many already. */
export function crowdedOut(namespace: string): Condition {
  return falseCondition(
    "Accepted",
    "PortUnavailable",
    `spec.listeners: namespace ${namespace} has ${MAX_SHARED_LISTENERS} listeners on the shared address, which are ` +
      "the most that it may have. Remove listeners or Gateways.",
  );
}
