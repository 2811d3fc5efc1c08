/**
 * What Gateways and HTTPRoutes of each namespace ask for. In: routes on listeners, those that are refused, and the
 * certificates of listeners. Out: numbers in the measure in which what was published is counted, for the bound of
 * all namespaces together (`bounds/cluster_bound.ts`).
 */
import type { Certificate } from "../../../shared/snapshot/types.ts";
import type { NamespaceBounds } from "../bounds/namespace_bounds.ts";
import { gatewayRouteCharacters, GUARDS, type Parts } from "../bounds/namespace_parts.ts";
import { keyOf } from "../../base/identity.ts";
import { upstreamId } from "../model/backend_ref.ts";
import type { HttpRouteModel } from "./objects/http_route.ts";
import type { ListenerModel } from "./objects/listener.ts";
import type { DemandingRoute, MeasuredDemand, RouteDemands, RouteRefusal } from "./route_bounds.ts";

export interface GatewayDemand {
  readonly routes: readonly DemandingRoute[];
  /** Of these, what was published stays. */
  readonly refused: ReadonlyMap<HttpRouteModel, RouteRefusal>;
  readonly demands: RouteDemands;
  /** Listeners on the address of Ingresses. */
  readonly shared: ReadonlySet<ListenerModel>;
  /** What listeners show, by namespace of their Gateways. */
  readonly certificates: ReadonlyMap<string, readonly Certificate[]>;
  readonly bounds: NamespaceBounds;
}

/** No less than `gatewayParts` has, and at once: what several routes have counts for each of them. By namespace. */
export function mostParts(
  demands: ReadonlyMap<string, MeasuredDemand>,
  certificates: GatewayDemand["certificates"],
): ReadonlyMap<string, Parts> {
  const namespaces = new Set([...demands.keys(), ...certificates.keys()]);
  return new Map(Array.from(namespaces, (namespace): [string, Parts] => {
    const { routes = 0, characters = 0, hosts = 0, backends = 0 } = demands.get(namespace) ?? {};
    return [namespace, {
      routes: routes + GUARDS * hosts,
      ...{ bytes: characters / 2, hosts, upstreams: backends },
      certificates: certificates.get(namespace)?.length ?? 0,
    }];
  }));
}

/** By namespace. */
export function gatewayParts(
  { routes, refused, demands, shared, certificates, bounds }: GatewayDemand,
): ReadonlyMap<string, Parts> {
  const tallies = new Map<string, Tally>();
  const tallyOf = (namespace: string): Tally => {
    let tally = tallies.get(namespace);
    if (tally === undefined) tallies.set(namespace, tally = new Tally());
    return tally;
  };
  for (const each of routes) {
    const { route, hosts } = each;
    const tally = tallyOf(route.identity.ref.namespace);
    const stays = refused.get(route)?.published;
    const { routes, characters } = stays === undefined ? demands.of(each) : {
      routes: stays.length,
      characters: stays.reduce((sum, route) => sum + gatewayRouteCharacters(route), 0),
    };
    tally.routes += routes;
    tally.characters += characters;
    for (const [host, listeners] of hosts) {
      tally.hosts.add(host);
      if (!listeners.isDisjointFrom(shared)) tally.guarded.add(host);
    }
    for (const { reference, port } of route.rules.flatMap(({ backends }) => backends)) {
      if (reference === null || port === null) continue;
      tally.upstreams.add(upstreamId(reference.namespace, reference.name, port));
    }
  }
  for (const [namespace, list] of certificates) {
    const secrets = new Set(list.map(({ origin }) => keyOf(origin)));
    // Those beyond the bound of the namespace are refused.
    tallyOf(namespace).certificates = Math.min(secrets.size, bounds.certificates);
  }
  return new Map(Array.from(tallies, ([namespace, tally]) => [namespace, tally.parts]));
}

class Tally {
  routes = 0;
  characters = 0;
  certificates = 0;
  readonly hosts = new Set<string>();
  readonly guarded = new Set<string>();
  readonly upstreams = new Set<string>();

  get parts(): Parts {
    const { routes, characters, hosts, guarded, upstreams, certificates } = this;
    return {
      routes: routes + GUARDS * guarded.size,
      // As `publishedGatewayParts` has it.
      bytes: characters / 2,
      ...{ hosts: hosts.size, upstreams: upstreams.size, certificates },
    };
  }
}
