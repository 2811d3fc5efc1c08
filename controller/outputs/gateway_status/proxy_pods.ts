/**
 * Proxies that clients may reach, and what they have. In: the pods of the proxies, and their
 * acknowledgements, of whichever replica. Out: how far a content has come, and the sockets that are not open.
 */
import { plainAddress } from "../../../shared/net/address.ts";
import type { KubeObject } from "../../kube/types.ts";
import type { ProxyAck } from "../../stream/proxy_acks.ts";
import type { GatewayPort } from "../../translate/gateway/gateway_translation.ts";
import { isPodReady, podAddresses } from "../workload/pod_status.ts";
import type { Acknowledgements } from "./acknowledgements.ts";
import type { Progress } from "./programmed.ts";

/** A pod that is ready and not being deleted. */
export interface ProxyState {
  readonly name: string;
  readonly uid: string;
  /**
   * The newest content that it has, or has had since it is connected, as none replaces a newer one; 0 for
   * none that is known.
   */
  readonly sequence: number;
  /** Null where it has no stream to any replica. */
  readonly ack: ProxyAck | null;
}

/** Pods that a message names for one socket. */
const MAX_NAMES = 3;

/** Sorted by name. @param before As of the last look. */
export function proxyStates(
  pods: readonly KubeObject[],
  acks: readonly ProxyAck[],
  acknowledgements: Pick<Acknowledgements, "sequenceOf">,
  before: readonly ProxyState[] = [],
): readonly ProxyState[] {
  const byUid = new Map(acks.map((ack) => [ack.podUid, ack]));
  // A token that is bound to no pod says nothing but where it came from.
  const byPeer = new Map(
    acks.filter(({ podUid }) => podUid === null).map((ack) => [plainAddress(ack.peer), ack]),
  );
  const reached = new Map(
    before.filter(({ ack }) => ack !== null).map(({ uid, sequence }) => [uid, sequence]),
  );
  return pods.filter(isServing).map((pod): ProxyState => {
    const { name, uid = "" } = pod.metadata;
    const ack = byUid.get(uid) ??
      podAddresses(pod).map((ip) => byPeer.get(ip)).find((found) => found !== undefined) ?? null;
    const sequence = ack === null
      ? 0
      : Math.max(acknowledgements.sequenceOf(ack), reached.get(uid) ?? 0);
    return { name, uid, ack, sequence };
  }).sort((a, b) => a.name < b.name ? -1 : 1);
}

/** @param sequence Of the content; null where it is not streamed yet. */
export function progressOf(sequence: number | null, proxies: readonly ProxyState[]): Progress {
  if (proxies.length === 0) return { kind: "no-proxy" };
  const missing = proxies.filter((proxy) => sequence === null || proxy.sequence < sequence)
    .map(({ name }) => name);
  return missing.length === 0
    ? { kind: "everywhere" }
    : { kind: "partly", total: proxies.length, missing };
}

/** By socket, where it is not open and why. */
export function obstaclesOf(proxies: readonly ProxyState[]): ReadonlyMap<string, string> {
  const found = proxies.flatMap(({ name, ack }) =>
    (ack?.obstacles ?? []).map(({ socket, reason }) => ({ socket, name, reason }))
  );
  return new Map(
    Array.from(Map.groupBy(found, ({ socket }) => socket), ([socket, all]) => {
      const more = all.length > MAX_NAMES ? `, and ${all.length - MAX_NAMES} more proxies` : "";
      const shown = all.slice(0, MAX_NAMES).map(({ name, reason }) => `${name}: ${reason}`);
      return [socket, `the port is not open in ${shown.join(", ")}${more}.`];
    }),
  );
}

/** Those that every proxy has opened; null while that is not known. */
export function openPortsOf(
  ports: readonly GatewayPort[],
  { kind }: Progress,
  obstacles: ReadonlyMap<string, string>,
): readonly GatewayPort[] | null {
  if (kind === "partly" || kind === "no-proxy") return null;
  return ports.filter(({ containerPort }) => !obstacles.has(String(containerPort)));
}

function isServing(pod: KubeObject): boolean {
  return pod.metadata.deletionTimestamp === undefined && isPodReady(pod);
}
