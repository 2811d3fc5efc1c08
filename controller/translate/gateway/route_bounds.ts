/**
 * What the HTTPRoutes of one namespace may have served, beside its Ingresses. In: attached routes, oldest first,
 * what was published of them, and the bounds of namespaces. Out: the routes that go over a bound, each with
 * what was published of it: that stays, and nothing is added. Pure.
 *
 * As of Ingresses (`bounds/namespace_bounds.ts`): what was published stays, even where it is more than the
 * bounds; of what is new, the oldest route has the first choice, and each is served whole or not at all. A
 * route of which only a stub was kept has nothing new.
 */
import { matchCharacters } from "../../../shared/snapshot/memory.ts";
import type { FilterSpec, Route, Snapshot } from "../../../shared/snapshot/types.ts";
import { describeExcess, type Excess } from "../../kube/excess.ts";
import { HTTP_ROUTES } from "../../kube/types.ts";
import { keyOf } from "../../base/identity.ts";
import { ObjectCache } from "../../base/memo.ts";
import { type ClusterFull, NOTHING_MORE } from "../bounds/cluster_bound.ts";
import type { NamespaceBounds } from "../bounds/namespace_bounds.ts";
import { BACKEND_CHARACTERS } from "../bounds/namespace_parts.ts";
import { type Condition, falseCondition } from "./objects/condition.ts";
import type { HttpRouteModel, RuleModel } from "./objects/http_route.ts";
import type { ListenerModel } from "./objects/listener.ts";
import { placeOf, variantsOf } from "./served_routes.ts";

/** What is asked for, or was published. */
export interface RouteDemand {
  readonly routes: number;
  /** Of hosts, matches and backends, each route with its own, and of filters, each once. */
  readonly bytes: number;
}

/** With what proxies need for it. */
export interface MeasuredDemand extends RouteDemand {
  /** In the measure of `gatewayRouteCharacters`, and twice those of filters. */
  readonly characters: number;
  /** Of several routes, each as often as one has it. */
  readonly hosts: number;
  /** The same. */
  readonly backends: number;
}

export interface DemandingRoute {
  readonly route: HttpRouteModel;
  /** By host pattern. */
  readonly hosts: ReadonlyMap<string, ReadonlySet<ListenerModel>>;
}

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

/** Bytes that a backend of a route counts for: an id, a weight, and their names. */
const BACKEND_BYTES = 80;

const NOTHING: RouteDemand = { routes: 0, bytes: 0 };

/** What rules ask for: each is looked at once as long as it lives. */
export class RouteDemands {
  readonly #rules = new ObjectCache(ruleSize);

  of({ route, hosts }: DemandingRoute): MeasuredDemand {
    let routes = 0;
    let bytes = 0;
    let characters = 0;
    const settings = new Map<string, number>();
    for (const rule of route.rules) {
      const size = this.#rules.of(rule);
      settings.set(size.settings, size.settings.length);
      for (const [host, listeners] of hosts) {
        const count = variantsOf(rule, [...listeners]).length;
        routes += count * rule.matches.length;
        const ofHost = rule.matches.length * host.length;
        bytes += count * (size.bytes + ofHost);
        characters += count * (size.characters + 2 * ofHost);
      }
    }
    const ofSettings = sum(settings.values());
    return {
      ...{ routes, bytes: bytes + ofSettings, characters: characters + 2 * ofSettings },
      hosts: hosts.size,
      backends: sum(route.rules.map((rule) => rule.backends.length)),
    };
  }

  /** By namespace. */
  totals(routes: readonly DemandingRoute[]): ReadonlyMap<string, MeasuredDemand> {
    const totals = new Map<string, MeasuredDemand>();
    for (const each of routes) {
      const { namespace } = each.route.identity.ref;
      const demand = this.of(each);
      const before = totals.get(namespace);
      totals.set(
        namespace,
        before === undefined ? demand : {
          ...plus(before, demand),
          characters: before.characters + demand.characters,
          hosts: before.hosts + demand.hosts,
          backends: before.backends + demand.backends,
        },
      );
    }
    return totals;
  }
}

/** Namespaces with a route of which only a stub was kept. */
export function cutNamespaces(routes: readonly DemandingRoute[]): ReadonlySet<string> {
  return new Set(
    routes.filter(({ route }) => route.excess !== null)
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
  const context = { bounds: NOTHING_MORE, taken: new Map<string, RouteDemand>(), published };
  return refusedRoutes(
    routes,
    namespaces,
    context,
    demands,
    (_namespace, _bound, published) =>
      falseCondition(
        "Accepted",
        "ClusterLimitExceeded",
        `with this route ${excess}, so ${outcome(published)}. ${remedy}.`,
      ),
  );
}

/** @param crowded Of these, routes may be refused. @param describe Why one is that goes over a bound. */
export function refusedRoutes(
  routes: readonly DemandingRoute[],
  crowded: ReadonlySet<string>,
  { bounds, taken, published }: RouteBoundsContext,
  demands: RouteDemands,
  describe: Describe = (...args) => limitExceeded(bounds, ...args),
): ReadonlyMap<HttpRouteModel, RouteRefusal> {
  const refused = new Map<HttpRouteModel, RouteRefusal>();
  if (crowded.size === 0) return refused;
  const before = publishedByRoute(published, crowded);
  const sets = filterSizes(published);
  const own = routes.filter(({ route }) => crowded.has(route.identity.ref.namespace))
    .map((each) => {
      const published = before.get(each.route.identity.key) ?? [];
      return { ...each, published, had: publishedDemand(each.route, published, sets) };
    });
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
    const bound = boundOver(plus(total, more), bounds, more);
    if (bound === null) {
      totals.set(namespace, plus(total, more));
      continue;
    }
    refused.set(route, { condition: describe(namespace, bound, published), published });
  }
  return refused;
}

type Bound = "routes" | "hostBytes";

type Describe = (namespace: string, bound: Bound, published: readonly Route[]) => Condition;

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
  hostBytes: ["bytes of hosts, matches and settings", "--max-namespace-host-bytes"],
};

/** Without the number that there would be: each change of it would be another status. */
function limitExceeded(
  bounds: NamespaceBounds,
  ...[namespace, bound, published]: Parameters<Describe>
): Condition {
  const [what, flag] = FLAGS[bound];
  return falseCondition(
    "Accepted",
    "NamespaceLimitExceeded",
    `with this route namespace ${namespace} would have more than ${bounds[bound]} ${what}, so ` +
      `${outcome(published)}. Remove hostnames, rules or matches from the namespace, or raise ` +
      `${flag} of the controller.`,
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

/** By id of the filter set. */
function filterSizes(published: Snapshot | null): ReadonlyMap<string, number> {
  return new Map(
    (published?.filterSets ?? []).map(({ id, filters }) => [id, settingsText(filters).length]),
  );
}

/** In the same measure as what its rules ask for, so that what has not changed adds nothing. */
function publishedDemand(
  route: HttpRouteModel,
  published: readonly Route[],
  sets: ReadonlyMap<string, number>,
): RouteDemand {
  let bytes = 0;
  const settings = new Map<string, number>();
  for (const { id, host, match, action, filterSet } of published) {
    const rule = route.rules[placeOf(id)?.ruleIndex ?? -1];
    // What is broken for a while has no backends, and gets them back.
    const backends = action.kind === "forward" ? action.backends.length : weightedOf(rule);
    bytes += host.length + JSON.stringify(match).length + backends * BACKEND_BYTES;
    if (filterSet !== undefined) settings.set(filterSet, sets.get(filterSet) ?? 0);
  }
  return { routes: published.length, bytes: bytes + sum(settings.values()) };
}

interface RuleSize {
  /** Of all its matches and their backends, for one host. */
  readonly bytes: number;
  readonly characters: number;
  /** JSON of its filters; "" for none. */
  readonly settings: string;
}

function ruleSize(rule: RuleModel): RuleSize {
  const { matches, filters: { filters }, time } = rule;
  const texts = matches.map((match) => JSON.stringify(match).length);
  const backends = matches.length * weightedOf(rule);
  return {
    bytes: sum(texts) + backends * BACKEND_BYTES,
    characters: sum(matches.map(matchCharacters)) + backends * BACKEND_CHARACTERS,
    settings: settingsText([
      ...(time === null ? [] : [{ kind: "deadline", time } as const]),
      ...filters,
    ]),
  };
}

function weightedOf(rule: RuleModel | undefined): number {
  return rule?.backends.filter(({ weight }) => weight > 0).length ?? 0;
}

/** A redirect is small, and another one for each listener. */
function settingsText(filters: readonly FilterSpec[]): string {
  const counted = filters.filter(({ kind }) => kind !== "request-redirect");
  return counted.length === 0 ? "" : JSON.stringify(counted);
}

function plus(a: RouteDemand, b: RouteDemand, sign: 1 | -1 = 1): RouteDemand {
  return { routes: a.routes + sign * b.routes, bytes: a.bytes + sign * b.bytes };
}

function sum(sizes: Iterable<number>): number {
  let sum = 0;
  for (const size of sizes) sum += size;
  return sum;
}
