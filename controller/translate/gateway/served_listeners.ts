/**
 * Listeners as proxies get them. In: the Gateways of our classes, the oldest first. Out: the listeners of a
 * snapshot with their sockets and certificates, and which of the Gateways' listeners have no container port as
 * the range of ports is full.
 */
import type { PortRange } from "../../../shared/net/port_range.ts";
import {
  gatewayOf,
  listenerId,
  sharedListenerId,
  sharedSocketOf,
} from "../../../shared/snapshot/listener_id.ts";
import type { Certificate, Listener } from "../../../shared/snapshot/types.ts";
import { compareText } from "../../base/text_order.ts";
import { GATEWAYS } from "../../kube/types.ts";
import { allocatePorts, type ContainerPorts, portKey } from "./objects/container_ports.ts";
import type { ConfiguredGateway } from "./gateway_parameters.ts";
import type { ListenerModel } from "./objects/listener.ts";
import type { AddressKind } from "./objects/parameters.ts";
import { sharedSocket } from "./sharing/shared_ports.ts";

/** Where listeners are served. */
export interface PlacedListeners {
  readonly ids: ReadonlyMap<ListenerModel, string>;
  readonly containerPorts: ContainerPorts;
  readonly places: readonly PlacedListener[];
}

export interface PlacedListener {
  readonly gateway: ConfiguredGateway;
  readonly listener: ListenerModel;
  readonly place: ListenerPlace;
}

/** @param isAccepted Whether a listener is to be served, as far as its Gateway says. */
export function placeListeners(
  gateways: readonly ConfiguredGateway[],
  isAccepted: (listener: ListenerModel, gateway: ConfiguredGateway) => boolean,
  published: readonly Listener[],
  range: PortRange,
): PlacedListeners {
  const accepted = gateways.map((gateway) => {
    const listeners = gateway.listeners.filter((listener) => isAccepted(listener, gateway));
    return { gateway, listeners };
  });
  const containerPorts = allocatePorts(
    accepted.filter(({ gateway: { address } }) => address === "own")
      .map(({ gateway: { identity: { key } }, listeners }) => {
        return { key, ports: listeners.map(({ port }) => port) };
      }),
    publishedPorts(published),
    range,
  );
  const places = accepted.flatMap(({ gateway, listeners }) =>
    listeners.flatMap((listener): PlacedListener[] => {
      const place = placeOf(listener, gateway, containerPorts);
      return place === null ? [] : [{ gateway, listener, place }];
    })
  );
  const ids = new Map(places.map(({ listener, place: { id } }) => [listener, id]));
  return { ids, containerPorts, places };
}

/**
 * Sorted by id.
 *
 * @param certificatesOf Of a listener of HTTPS: those to show; none where one of them cannot be used, so that
 *   handshakes for its names are refused.
 */
export function serveListeners(
  { places }: PlacedListeners,
  certificatesOf: (listener: ListenerModel) => readonly Certificate[],
): readonly Listener[] {
  return places.map((placed) => listenerOf(placed, certificatesOf(placed.listener))).sort((a, b) =>
    compareText(a.id, b.id)
  );
}

type ListenerPlace = Pick<Listener, "id" | "socket">;

/** Null where there is no port for it. */
function placeOf(
  listener: ListenerModel,
  { identity: { key }, address }: ConfiguredGateway,
  containerPorts: ContainerPorts,
): ListenerPlace | null {
  const { name, port } = listener;
  if (address === "shared") {
    const socket = sharedSocket(listener);
    return socket === null ? null : { id: sharedListenerId(key, name, socket), socket };
  }
  const containerPort = containerPorts.get(portKey(key, port));
  return containerPort === undefined
    ? null
    : { id: listenerId(key, name), socket: String(containerPort) };
}

export function listenerOf(
  { place: { id, socket }, listener, gateway: { identity: { ref } } }: PlacedListener,
  certificates: readonly Certificate[],
): Listener {
  const { port, protocol, hostname, field } = listener;
  const { namespace, name: gateway } = ref;
  const isHttps = protocol === "HTTPS";
  return {
    ...{ id, port, socket, protocol: isHttps ? "HTTPS" : "HTTP" },
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

/** By key, Gateways with listeners that are published. */
export function publishedGateways(
  published: readonly Listener[],
): ReadonlyMap<string, AddressKind> {
  return new Map(
    published.map(({ id }) => [gatewayOf(id), sharedSocketOf(id) === null ? "own" : "shared"]),
  );
}
