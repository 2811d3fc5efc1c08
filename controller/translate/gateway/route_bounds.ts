/**
 * What the HTTPRoutes of one namespace may have served, beside its Ingresses. In: attached routes, oldest first,
 * what was published of them, and the bounds of namespaces. Out: the routes that go over a bound, each with
 * what was published of it: that stays, and nothing is added. Pure.
 *
 * As of Ingresses (`bounds/namespace_bounds.ts`): what was published stays, even where it is more than the
 * bounds; of what is new, the oldest route has the first choice, and each is served whole or not at all. A
 * route of which only a stub was kept has nothing new.
 */
import type { Route, Snapshot } from "../../../shared/snapshot/types.ts";
import { describeExcess, type Excess } from "../../kube/excess.ts";
import { HTTP_ROUTES } from "../../kube/types.ts";
import { keyOf } from "../../base/identity.ts";
import type { ClusterFull } from "../bounds/cluster_bound.ts";
import type { NamespaceBounds } from "../bounds/namespace_bounds.ts";
import { type Condition, falseCondition } from "./objects/condition.ts";
import type { HttpRouteModel } from "./objects/http_route.ts";
import {
  type DemandingRoute,
  type MeasuredDemand,
  plus,
  publishedDemand,
  type RouteDemand,
  type RouteDemands,
} from "./route_demands.ts";

export interface RouteBoundsContext {
  readonly bounds: NamespaceBounds;
  /** What the Ingresses of each namespace have. */
  readonly taken: ReadonlyMap<string, RouteDemand>;
  readonly published: Snapshot | null;
}

export interface RouteRefusal {
  /** Accepted False. */
  readonly condition: Condition;
  /** What was published of it, in the order of the snapshot. */
  readonly published: readonly Route[];
}

const NOTHING: RouteDemand = { routes: 0, bytes: 0 };

/** Namespaces with a route of which only a part was kept: of its object, or of what it attaches to. */
export function cutNamespaces(routes: readonly DemandingRoute[]): ReadonlySet<string> {
  return new Set(
    routes.filter(({ route, unplacedBytes }) => route.excess !== null || unplacedBytes > 0)
      .map(({ route }) => route.identity.ref.namespace),
  );
}

/** Namespaces that ask for more than the bounds. */
export function crowdedNamespaces(
  totals: ReadonlyMap<string, RouteDemand>,
  { bounds, taken }: Omit<RouteBoundsContext, "published">,
): ReadonlySet<string> {
  const crowded = [...totals].filter(([namespace, demand]) =>
    boundOver(plus(demand, taken.get(namespace) ?? NOTHING), bounds) !== null
  );
  return new Set(crowded.map(([namespace]) => namespace));
}

/** Routes that add something, of namespaces that may add nothing as the bound of the cluster is reached. */
export function routesOverCluster(
  routes: readonly DemandingRoute[],
  { namespaces, excess, remedy }: ClusterFull,
  published: Snapshot | null,
  demands: RouteDemands,
): ReadonlyMap<HttpRouteModel, RouteRefusal> {
  const refused = new Map<HttpRouteModel, RouteRefusal>();
  for (const each of publishedRoutes(routes, namespaces, published, demands)) {
    const { route, published, had } = each;
    if (route.excess !== null) {
      refused.set(route, { condition: tooLarge(route.excess, published), published });
    } else if (addsTo(had, demands.of(each))) {
      const message = `with this route ${excess}, so ${outcome(published)}. ${remedy}.`;
      const condition = falseCondition("Accepted", "ClusterLimitExceeded", message);
      refused.set(route, { condition, published });
    }
  }
  return refused;
}

/**
 * Whether there is more of anything: less of one thing makes no room for another, which may be scarce. Guards are
 * no part of a route, which has them or not as its Gateways move.
 */
function addsTo(had: MeasuredDemand, wanted: MeasuredDemand): boolean {
  return wanted.routes > had.routes || wanted.bytes > had.bytes ||
    NOT_OF_GUARDS.some((part) => wanted.parts[part] > had.parts[part]) ||
    OF_ROUTES.some((part) => ofRoute(wanted, part) > ofRoute(had, part));
}

const NOT_OF_GUARDS = ["hosts", "compiled", "upstreams"] as const;
const OF_ROUTES = ["routes", "bytes", "text", "random"] as const;

function ofRoute({ parts, guards }: MeasuredDemand, part: typeof OF_ROUTES[number]): number {
  return parts[part] - guards[part];
}

/** @param crowded Of these, routes may be refused. */
export function refusedRoutes(
  routes: readonly DemandingRoute[],
  crowded: ReadonlySet<string>,
  { bounds, taken, published }: RouteBoundsContext,
  demands: RouteDemands,
): ReadonlyMap<HttpRouteModel, RouteRefusal> {
  const refused = new Map<HttpRouteModel, RouteRefusal>();
  const own = publishedRoutes(routes, crowded, published, demands);
  const totals = new Map(taken);
  for (const { route: { identity: { ref } }, had } of own) {
    totals.set(ref.namespace, plus(totals.get(ref.namespace) ?? NOTHING, had));
  }
  for (const each of own) {
    const { route, published, had } = each;
    const { namespace } = route.identity.ref;
    if (route.excess !== null) {
      refused.set(route, { condition: tooLarge(route.excess, published), published });
      continue;
    }
    const total = totals.get(namespace)!;
    const more = plus(demands.of(each), had, -1);
    const bound = each.unplacedBytes > 0 ? "hostBytes" : boundOver(plus(total, more), bounds, more);
    if (bound === null) {
      totals.set(namespace, plus(total, more));
      continue;
    }
    refused.set(route, {
      condition: limitExceeded(bounds, namespace, bound, published),
      published,
    });
  }
  return refused;
}

interface PublishedRoute extends DemandingRoute {
  readonly published: readonly Route[];
  readonly had: MeasuredDemand;
}

/** Those of some namespaces, with what was published of them. */
function publishedRoutes(
  routes: readonly DemandingRoute[],
  namespaces: ReadonlySet<string>,
  published: Snapshot | null,
  { filterSets }: RouteDemands,
): readonly PublishedRoute[] {
  if (namespaces.size === 0) return [];
  const before = publishedByRoute(published, namespaces);
  const sets = filterSets.of(published);
  return routes.filter(({ route }) => namespaces.has(route.identity.ref.namespace))
    .map((each) => {
      const { route } = each;
      const published = before.get(route.identity.key) ?? [];
      return { ...each, published, had: publishedDemand(route, published, sets) };
    });
}

type Bound = "routes" | "hostBytes";

/** @param more What is added: less of something is never too much. */
function boundOver(
  { routes, bytes }: RouteDemand,
  bounds: NamespaceBounds,
  more: RouteDemand = { routes: 1, bytes: 1 },
): Bound | null {
  if (more.routes > 0 && routes > bounds.routes) return "routes";
  return more.bytes > 0 && bytes > bounds.hostBytes ? "hostBytes" : null;
}

const FLAGS: Readonly<Record<Bound, readonly [what: string, flag: string]>> = {
  routes: ["routes", "--max-namespace-routes"],
  hostBytes: ["bytes of hosts, matches, listeners and settings", "--max-namespace-host-bytes"],
};

/** Without the number that there would be: each change of it would be another status. */
function limitExceeded(
  bounds: NamespaceBounds,
  namespace: string,
  bound: Bound,
  published: readonly Route[],
): Condition {
  const [what, flag] = FLAGS[bound];
  return falseCondition(
    "Accepted",
    "NamespaceLimitExceeded",
    `with this route namespace ${namespace} would have more than ${bounds[bound]} ${what}, so ` +
      `${
        outcome(published)
      }. Remove hostnames, rules, matches or parentRefs from the namespace, or ` +
      `raise ${flag} of the controller.`,
  );
}

function tooLarge(excess: Excess, published: readonly Route[]): Condition {
  const [what, remedy] = describeExcess(excess);
  return falseCondition(
    "Accepted",
    "ObjectTooLarge",
    `${what}, so ${outcome(published)}. ${remedy}.`,
  );
}

function outcome(published: readonly Route[]): string {
  return published.length > 0 ? "its published rules stay active" : "it is not served";
}

/** By `namespace/name`. */
function publishedByRoute(
  published: Snapshot | null,
  namespaces: ReadonlySet<string>,
): ReadonlyMap<string, readonly Route[]> {
  const own = (published?.routes ?? []).filter(({ origin }) =>
    origin.kind === HTTP_ROUTES.kind && namespaces.has(origin.namespace)
  );
  return Map.groupBy(own, ({ origin }) => keyOf(origin));
}
