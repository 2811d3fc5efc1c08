/**
 * Listeners as proxies get them. In: the Gateways of our classes, the oldest first. Out: the listeners of a
 * snapshot with their container ports and certificates, and which of the Gateways' listeners have none as the
 * range of ports is full.
 */
import type { PortRange } from "../../../shared/net/port_range.ts";
import { gatewayOf, listenerId } from "../../../shared/snapshot/listener_id.ts";
import type { Certificate, Listener } from "../../../shared/snapshot/types.ts";
import { compareText } from "../../base/text_order.ts";
import { GATEWAYS } from "../../kube/types.ts";
import { allocatePorts, type ContainerPorts, portKey } from "./container_ports.ts";
import type { GatewayModel } from "./objects/gateway.ts";
import type { ListenerModel } from "./objects/listener.ts";

export interface ServedListeners {
  /** Sorted by id. */
  readonly listeners: readonly Listener[];
  readonly ids: ReadonlyMap<ListenerModel, string>;
  readonly containerPorts: ContainerPorts;
}

/**
 * @param isAccepted Whether a listener is to be served, as far as its Gateway says.
 * @param certificatesOf Of a listener of HTTPS: those to show; none where one of them cannot be used, so that
 *   handshakes for its names are refused.
 */
export function serveListeners<G extends GatewayModel>(
  gateways: readonly G[],
  isAccepted: (listener: ListenerModel, gateway: G) => boolean,
  certificatesOf: (listener: ListenerModel) => readonly Certificate[],
  published: readonly Listener[],
  range: PortRange,
): ServedListeners {
  const accepted = gateways.map((gateway) => {
    const listeners = gateway.listeners.filter((listener) => isAccepted(listener, gateway));
    return { gateway, listeners };
  });
  const containerPorts = allocatePorts(
    accepted.map(({ gateway: { identity: { key } }, listeners }) => {
      return { key, ports: listeners.map(({ port }) => port) };
    }),
    publishedPorts(published),
    range,
  );
  const served: Listener[] = [];
  const ids = new Map<ListenerModel, string>();
  for (const { gateway, listeners } of accepted) {
    for (const listener of listeners) {
      const containerPort = containerPorts.get(portKey(gateway.identity.key, listener.port));
      if (containerPort === undefined) continue;
      const id = listenerId(gateway.identity.key, listener.name);
      ids.set(listener, id);
      served.push(
        listenerOf(id, listener, gateway, containerPort, certificatesOf(listener)),
      );
    }
  }
  return { listeners: served.sort((a, b) => compareText(a.id, b.id)), ids, containerPorts };
}

function listenerOf(
  id: string,
  { port, protocol, hostname, field }: ListenerModel,
  { identity: { ref: { namespace, name: gateway } } }: GatewayModel,
  containerPort: number,
  certificates: readonly Certificate[],
): Listener {
  const isHttps = protocol === "HTTPS";
  return {
    ...{ id, port, socket: String(containerPort), protocol: isHttps ? "HTTPS" : "HTTP" },
    ...(hostname === null ? {} : { hostname }),
    wildcards: "suffix",
    fallThrough: true,
    ...(isHttps ? { certificates: certificates.map((certificate) => certificate.id) } : {}),
    origin: { kind: GATEWAYS.kind, namespace, name: gateway, field },
  };
}

/** Those that are published, by Gateway and public port. */
function publishedPorts(published: readonly Listener[]): ContainerPorts {
  return new Map(published.flatMap(({ id, port, socket }) => {
    const containerPort = Number(socket);
    const gateway = gatewayOf(id);
    return Number.isInteger(containerPort) && gateway !== ""
      ? [[portKey(gateway, port), containerPort] as const]
      : [];
  }));
}

/** Keys of Gateways with listeners that are published. */
export function publishedGateways(published: readonly Listener[]): ReadonlySet<string> {
  return new Set(published.map(({ id }) => gatewayOf(id)));
}
