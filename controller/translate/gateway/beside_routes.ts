/**
 * What Gateways take beside routes. In: listeners at their places with the certificates that they show, the owners
 * of hosts, and what was published. Out: by namespace the sizes of listeners, and the guards that its hosts and
 * hostnames may need on a shared address; and whether there is room for a guard. The same measure as that of what
 * was published (`bounds/gateway_tally.ts`). Pure.
 */
import { sharedSocketOf } from "../../../shared/snapshot/listener_id.ts";
import { listenerCharacters } from "../../../shared/snapshot/memory.ts";
import type { Listener, Snapshot } from "../../../shared/snapshot/types.ts";
import type { ClusterFull } from "../bounds/cluster_bound.ts";
import { type GuardSize, listenerGuards, ownerGuard } from "../bounds/gateway_tally.ts";
import type { ListenerCertificates } from "./certificate_refs.ts";
import type { ListenerModel } from "./objects/listener.ts";
import { listenerOf, type PlacedListeners } from "./served_listeners.ts";
import { guardedOwners, type GuardInputs } from "./sharing/host_guards.ts";

/** What a listener may show. */
export interface FoundCertificates {
  /** Of the Gateway. */
  readonly namespace: string;
  readonly listener: ListenerModel;
  readonly found: ListenerCertificates;
}

/** Of one namespace. */
export interface BesideRoutes {
  /** Characters. */
  listenerObjects: number;
  readonly guards: GuardSize[];
}

/** By namespace. */
export function besideRoutes(
  { places }: PlacedListeners,
  found: readonly FoundCertificates[],
  sharing: Pick<GuardInputs, "claimants" | "ownership" | "ingresses">,
): ReadonlyMap<string, BesideRoutes> {
  const byNamespace = new Map<string, BesideRoutes>();
  const of = (namespace: string): BesideRoutes => {
    let own = byNamespace.get(namespace);
    if (own === undefined) byNamespace.set(namespace, own = { listenerObjects: 0, guards: [] });
    return own;
  };
  const shown = new Map(found.map(({ listener, found }) => [listener, found.certificates]));
  let hasShared = false;
  for (const placed of places) {
    const listener: Listener = listenerOf(placed, shown.get(placed.listener) ?? []);
    hasShared ||= sharedSocketOf(listener.id) !== null;
    const own = of(placed.gateway.identity.ref.namespace);
    own.listenerObjects += listenerCharacters(listener);
    own.guards.push(...listenerGuards(listener));
  }
  for (const [host, owner] of guardedOwners(hasShared, sharing)) {
    of(owner).guards.push(ownerGuard(host));
  }
  return byNamespace;
}

/**
 * Whether the guard of a host without routes may be there: a namespace that adds nothing has those that were
 * published. Without it, requests go to the same routes as before the namespace named the host.
 */
export function guardRoom(
  { namespaces }: ClusterFull,
  published: Snapshot | null,
): GuardInputs["hasRoom"] {
  let hosts: ReadonlySet<string> | null = null;
  const onShared = () =>
    new Set(
      (published?.routes ?? []).filter(({ listeners = [] }) =>
        listeners.some((id) => sharedSocketOf(id) !== null)
      ).map(({ host }) => host),
    );
  return (host, owner) => !namespaces.has(owner) || (hosts ??= onShared()).has(host);
}
