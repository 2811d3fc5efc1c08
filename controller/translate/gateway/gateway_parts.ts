/**
 * What Gateways and HTTPRoutes of each namespace ask for. In: routes on listeners, those that are refused, and the
 * certificates of listeners. Out: numbers in the measure in which what was published is counted, for the bound of
 * all namespaces together (`bounds/cluster_bound.ts`).
 */
import { sharedSocketOf } from "../../../shared/snapshot/listener_id.ts";
import type { Certificate, Snapshot } from "../../../shared/snapshot/types.ts";
import type { NamespaceBounds } from "../bounds/namespace_bounds.ts";
import { NO_PARTS } from "../bounds/cluster_sizes.ts";
import { GatewayTallies, GatewayTally, publishedGatewayParts } from "../bounds/gateway_tally.ts";
import type { Parts } from "../bounds/namespace_parts.ts";
import { PairTally, secretOf, shownSize } from "../bounds/pair_sizes.ts";
import type { HttpRouteModel } from "./objects/http_route.ts";
import type { RouteRefusal } from "./route_bounds.ts";
import type { BesideRoutes } from "./beside_routes.ts";
import type { DemandingRoute, RouteDemands, TotalDemand } from "./route_demands.ts";

/** A certificate that a listener is to show. */
export interface NamedPair {
  readonly certificate: Certificate;
  /** Host patterns that it names. */
  readonly names: readonly string[];
}

export interface GatewayDemand {
  readonly routes: readonly DemandingRoute[];
  /** Of these, what was published stays. */
  readonly refused: ReadonlyMap<HttpRouteModel, RouteRefusal>;
  readonly published: Snapshot | null;
  readonly demands: RouteDemands;
  /** What listeners are to show, by namespace of their Gateways. */
  readonly certificates: ReadonlyMap<string, readonly NamedPair[]>;
  readonly bounds: NamespaceBounds;
  /** By namespace. */
  readonly besides: ReadonlyMap<string, BesideRoutes>;
}

/**
 * No less than `gatewayParts` has, and at once: what several routes have counts for each of them, and what stays
 * beside what is asked for in its place. By namespace.
 */
export function mostParts(
  asking: ReadonlyMap<string, TotalDemand>,
  { routes, refused, published, certificates, besides, demands: { filterSets } }: GatewayDemand,
): ReadonlyMap<string, Parts> {
  const staying = published === null || refused.size === 0 ? NONE : publishedGatewayParts(
    { ...published, routes: stayingRoutes(refused), listeners: [] },
    filterSets,
  );
  const guarded = guardedHosts(routes, refused);
  const namespaces = new Set(
    [asking, staying, certificates, besides].flatMap((each) => [...each.keys()]),
  );
  return new Map(Array.from(namespaces, (namespace): [string, Parts] => {
    const asked = asking.get(namespace)?.parts ?? NO_PARTS;
    const stays = staying.get(namespace) ?? NO_PARTS;
    const { listenerObjects = 0, guards = [] } = besides.get(namespace) ?? {};
    const added = new GatewayTally();
    for (const guard of guards) if (!guarded.has(guard.host)) added.addGuard(guard);
    const ofGuards = added.parts;
    return [namespace, {
      routes: asked.routes + stays.routes + ofGuards.routes,
      hosts: asked.hosts + stays.hosts + ofGuards.hosts,
      bytes: asked.bytes + stays.bytes + ofGuards.bytes,
      text: asked.text + stays.text + listenerObjects + ofGuards.text,
      random: asked.random + stays.random + listenerObjects + ofGuards.random,
      alike: asked.alike + stays.alike,
      compiled: asked.compiled + stays.compiled,
      upstreams: asked.upstreams + stays.upstreams,
      ...pairParts(certificates.get(namespace) ?? []),
    }];
  }));
}

/** Hosts on a shared address that are counted with a guard, as they have routes. */
function guardedHosts(
  routes: readonly DemandingRoute[],
  refused: GatewayDemand["refused"],
): ReadonlySet<string> {
  const hosts = new Set<string>();
  for (const { route, hosts: own } of routes) {
    if (refused.has(route)) continue;
    for (const [host, places] of own) {
      if (places.some(({ id }) => sharedSocketOf(id) !== null)) hosts.add(host);
    }
  }
  return hosts;
}

const NONE: ReadonlyMap<string, Parts> = new Map();

function pairParts(list: readonly NamedPair[]): Pick<Parts, "certificates" | "chains" | "keys"> {
  const pairs = new PairTally();
  for (const each of list) addPair(pairs, each);
  const { count: certificates, chains, keys } = pairs;
  return { certificates, chains, keys };
}

function addPair(pairs: PairTally, { certificate, names }: NamedPair): void {
  pairs.add(secretOf(certificate), shownSize(certificate, names));
}

function stayingRoutes(refused: GatewayDemand["refused"]) {
  return [...refused.values()].flatMap(({ published }) => published);
}

/** By namespace. */
export function gatewayParts(
  { routes, refused, published, demands, certificates, bounds, besides }: GatewayDemand,
): ReadonlyMap<string, Parts> {
  const tallies = new GatewayTallies();
  const sets = demands.filterSets.of(published);
  for (const each of routes) {
    const { route } = each;
    const tally = tallies.of(route.identity.ref.namespace);
    const stays = refused.get(route)?.published;
    if (stays === undefined) {
      demands.addTo(tally, each);
      continue;
    }
    for (const route of stays) tally.addPublished(route, sets.get(route.filterSet ?? ""));
  }
  for (const [namespace, list] of certificates) {
    const { pairs } = tallies.of(namespace);
    // Those beyond the bound of the namespace are refused.
    for (const each of list) if (pairs.count < bounds.certificates) addPair(pairs, each);
  }
  for (const [namespace, { listenerObjects, guards }] of besides) {
    const tally = tallies.of(namespace);
    tally.listenerObjects = listenerObjects;
    for (const guard of guards) tally.addGuard(guard);
  }
  return tallies.parts;
}
