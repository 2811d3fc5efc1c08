/**
 * What the limit of the cluster takes from Gateways themselves. In: Gateways with their listeners and attached
 * routes, the namespaces that may add nothing, and what was published. Out: the Gateways that keep the address that
 * they have, and the listeners that are not served. Pure.
 *
 * What is served stays: a Gateway that moves to the shared address needs guards for the hosts of its routes there, and
 * so goes on with an address of its own while there is no room for them.
 */
import { listenerId, unsharedId } from "../../../shared/snapshot/listener_id.ts";
import type { Listener } from "../../../shared/snapshot/types.ts";
import { keyOf } from "../../base/identity.ts";
import { GATEWAYS } from "../../kube/types.ts";
import type { ClusterFull } from "../bounds/cluster_bound.ts";
import type { ConfiguredGateway } from "./gateway_parameters.ts";
import { type Condition, falseCondition } from "./objects/condition.ts";
import type { RouteParents } from "./route_attachments.ts";
import { publishedGateways } from "./served_listeners.ts";

export interface ClusterLimits {
  /** By key, why Gateways keep the address that they have. */
  readonly moves: ReadonlyMap<string, Condition>;
  /** By key of the Gateway and name, why listeners are not served. */
  readonly listeners: ReadonlyMap<string, ReadonlyMap<string, Condition>>;
}

export interface LimitedGateways {
  readonly gateways: readonly ConfiguredGateway[];
  readonly attached: readonly RouteParents[];
  readonly full: ClusterFull;
}

const NO_MOVES: ReadonlyMap<string, Condition> = new Map();
const NO_LISTENERS: ReadonlyMap<string, ReadonlyMap<string, Condition>> = new Map();

export const NO_LIMITS: ClusterLimits = { moves: NO_MOVES, listeners: NO_LISTENERS };

/** @param published Listeners. */
export function clusterLimits(
  { gateways, attached, full }: LimitedGateways,
  published: readonly Listener[],
): ClusterLimits {
  if (full.namespaces.size === 0) return NO_LIMITS;
  const addresses = publishedGateways(published);
  const served = new Set(published.map(({ id }) => unsharedId(id)));
  const namespaces = routeNamespaces(attached);
  const moves = new Map<string, Condition>();
  const listeners = new Map<string, ReadonlyMap<string, Condition>>();
  for (const { identity: { key, ref }, address, listeners: own } of gateways) {
    const isFull = full.namespaces.has(ref.namespace);
    const isMoved = address === "shared" && addresses.get(key) === "own";
    if (isMoved && (isFull || !full.namespaces.isDisjointFrom(namespaces.get(key) ?? NONE))) {
      moves.set(key, exceeded("on the shared address", full, "keeps an address of its own"));
    }
    const added = isFull ? own.filter(({ name }) => !served.has(listenerId(key, name))) : [];
    if (added.length === 0) continue;
    const condition = exceeded("with this listener", full, "is not served");
    listeners.set(key, new Map(added.map(({ name }) => [name, condition])));
  }
  return moves.size + listeners.size === 0 ? NO_LIMITS : { moves, listeners };
}

const NONE: ReadonlySet<string> = new Set();

function exceeded(how: string, { excess, remedy }: ClusterFull, outcome: string): Condition {
  const message = `${how} ${excess}, so it ${outcome}. ${remedy}.`;
  return falseCondition("Accepted", "ClusterLimitExceeded", message);
}

/** By key of Gateways, the namespaces of routes that attach to them. */
function routeNamespaces(attached: readonly RouteParents[]): Map<string, Set<string>> {
  const namespaces = new Map<string, Set<string>>();
  for (const { route, parents } of attached) {
    for (const { parent, attachment } of parents) {
      if (!attachment.ok || parent.kind !== GATEWAYS.kind) continue;
      const own = namespaces.get(keyOf(parent)) ?? new Set();
      namespaces.set(keyOf(parent), own.add(route.identity.ref.namespace));
    }
  }
  return namespaces;
}

/** Without the listeners that are not served. */
export function withinLimits(
  gateways: readonly ConfiguredGateway[],
  { listeners }: ClusterLimits,
): readonly ConfiguredGateway[] {
  if (listeners.size === 0) return gateways;
  return gateways.map((gateway) => {
    const refused = listeners.get(gateway.identity.key);
    return refused === undefined
      ? gateway
      : { ...gateway, crowdedOut: new Map([...refused, ...gateway.crowdedOut]) };
  });
}
