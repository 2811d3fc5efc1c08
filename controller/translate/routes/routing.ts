/**
 * Routes from one translation to the next. In: Ingresses, oldest first, and a resolver for backends.
 * Out: the routing that building all of them gives, but with no more work than what changed asks for.
 *
 * An Ingress touches the routes of those alone that share a host with it, or with one that does.
 * Where few came, changed or went, and the same becomes of requests to all other backends, only the
 * routes of these groups are built. A default backend without rules touches all.
 */
import { compareHosts } from "../../../shared/host/host_order.ts";
import { isSamePart } from "../../../shared/snapshot/equality.ts";
import type { HostSettings, Route } from "../../../shared/snapshot/types.ts";
import type { BackendResolver, FoundBackends } from "../backends/backend.ts";
import { isCatchAll } from "./catch_all.ts";
import type { RefusalOptions } from "./closures.ts";
import { carryOver, differenceOf, isSameList, LastResult, placesOf } from "../../base/memo.ts";
import { type ProblemList, type Recorded, recordProblems } from "../../base/problems.ts";
import { compareRoutes } from "./route_order.ts";
import { HostIndex, hostsOf } from "./host_index.ts";
import {
  buildAll,
  buildGroup,
  type DefaultBackend,
  type Layout,
  type Routing,
  type RoutingOptions,
} from "./routes.ts";
import { mergeSorted, SortedList } from "../../base/sorted_list.ts";
import { ANY_HOST, wildcardOver } from "../model/host.ts";
import type { Source } from "../model/source.ts";
import { compareText } from "../../base/text_order.ts";

interface Inputs {
  readonly ingresses: readonly Source[];
  readonly options: RoutingOptions;
  readonly found: FoundBackends;
}

/** Above this share of all Ingresses, building everything is as quick. */
const LARGEST_PART = 1 / 8;

const NONE: ReadonlyMap<string, number> = new Map();

export class RouteBuilder {
  readonly #last = new LastResult<Inputs, Recorded<Layout>>();
  readonly #order = new SortedList<Route>(compareRoutes);
  /** Of the Ingresses of the last build. */
  #index = new HostIndex();

  /** The very same as before where Ingresses, their hosts' owners and their backends' actions are. */
  build(
    ingresses: readonly Source[],
    backends: BackendResolver,
    options: RoutingOptions,
    problems: ProblemList,
  ): Routing {
    const before = this.#last.last;
    let layout = before !== null && isSameOptions(before.inputs.options, options)
      ? this.#buildChanges(before.inputs, before.result, ingresses, backends, options)
      : null;
    if (layout === null) {
      backends.forget();
      const index = new HostIndex(ingresses);
      layout = recordProblems((list) =>
        buildAll(ingresses, index, backends, options, this.#order, list)
      );
      this.#index = index;
    }
    this.#last.keep({ ingresses, options, found: backends.found() }, layout);
    problems.addAll(layout.problems);
    return layout.value.routing;
  }

  /** Null where too much changed, or what concerns all. Changes the index, and `before.requested`. */
  #buildChanges(
    inputs: Inputs,
    before: Recorded<Layout>,
    ingresses: readonly Source[],
    backends: BackendResolver,
    options: RoutingOptions,
  ): Recorded<Layout> | null {
    const last = inputs.options.ownership;
    if (inputs.ingresses === ingresses && last === options.ownership) {
      return backends.findsAgain(inputs.found, NONE) ? before : null;
    }
    const { removed, added } = differenceOf(inputs.ingresses, ingresses);
    const limit = Math.floor(ingresses.length * LARGEST_PART);
    if (removed.length + added.length > limit) return null;
    if ([...removed, ...added].some(isCatchAll)) return null;
    // Ingresses without a host in common with it are concerned, too.
    if (removed.some(closesNamespace) || ingresses.some(closesNamespace)) return null;
    const reowned = options.ownership.changedSince(last);
    if (reowned === null) return null;
    const renamed = this.#replace(removed, added);
    if (asksAny(ingresses, [...reowned, ...renamed])) return null;
    const group = this.#index.group([...removed.flatMap(hostsOf), ...reowned], added, limit);
    if (group === null) return null;
    // Its default backend may take paths of these rules.
    if (group.hosts.has(ANY_HOST) && ingresses.some(isCatchAll)) return null;
    const { routing, requested, fallback } = before.value;
    const replaced = new Set([...removed, ...group.sources]);
    if (!backends.findsAgain(inputs.found, countBackends(replaced, requested))) return null;
    const sources = placesOf(group.sources, ingresses).map(([, source]) => source);
    const built = recordProblems((list) =>
      buildGroup(sources, this.#index, group.hosts, backends, fallback, options, list)
    );
    const { routes, aliases, statuses } = built.value.routing;
    for (const source of replaced) requested.delete(source);
    for (const [source, ids] of built.value.requested) requested.set(source, ids);
    const gone = new Set([...replaced].map(({ identity }) => identity.ref));
    const found = new Map(sources.map((source, i) => [source, statuses[i]]));
    return {
      value: {
        requested,
        fallback,
        routing: {
          defaultAction: routing.defaultAction,
          routes: replaceRoutes(routing.routes, group.hosts, routes),
          aliases: replaceAliases(routing.aliases, group.hosts, aliases),
          statuses: carryOver(inputs.ingresses, routing.statuses, ingresses, found),
        },
      },
      problems: [...before.problems.filter(({ object }) => !gone.has(object)), ...built.problems],
    };
  }

  /** Replaces Ingresses of the index. Returns the hosts that came to have routes, or lost the last ones. */
  #replace(removed: readonly Source[], added: readonly Source[]): readonly string[] {
    const hosts = new Set([...removed, ...added].flatMap(hostsOf));
    const before = [...hosts].filter((host) => this.#index.isNamed(host));
    for (const source of removed) this.#index.remove(source);
    for (const source of added) this.#index.add(source);
    const now = [...hosts].filter((host) => this.#index.isNamed(host));
    return [...new Set(before).symmetricDifference(new Set(now))];
  }
}

/** Whether some Ingress has its requests authenticated by one of these hosts. */
function asksAny(ingresses: readonly Source[], hosts: readonly string[]): boolean {
  if (hosts.length === 0) return false;
  const some = new Set(hosts);
  return ingresses.some(({ authenticator }) => {
    const host = authenticator?.host ?? null;
    return host !== null && (some.has(host) || some.has(wildcardOver(host)));
  });
}

function closesNamespace(source: Source): boolean {
  return source.closesNamespace;
}

/** But for ownership. */
function isSameOptions(a: RoutingOptions, b: RoutingOptions): boolean {
  return isSameBackend(a.processBackend, b.processBackend) &&
    isSameAccepted(a.refusals, b.refusals);
}

function isSameBackend(a: DefaultBackend | null, b: DefaultBackend | null): boolean {
  return a?.namespace === b?.namespace && a?.name === b?.name && a?.port === b?.port;
}

function isSameAccepted(a: RefusalOptions, b: RefusalOptions): boolean {
  return a.allowAcceptUnsupportedAnnotation === b.allowAcceptUnsupportedAnnotation &&
    isSameList(a.acceptUnsupported, b.acceptUnsupported);
}

/** How often each backend was resolved for some Ingresses, by id. */
function countBackends(
  ingresses: Iterable<Source>,
  requested: ReadonlyMap<Source, readonly string[]>,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const ingress of ingresses) {
    for (const id of requested.get(ingress) ?? []) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return counts;
}

/** `routes` without those of some hosts, and with others; all in order. */
function replaceRoutes(
  routes: readonly Route[],
  hosts: Iterable<string>,
  added: readonly Route[],
): readonly Route[] {
  const kept: Route[] = [];
  const gone = new Map<string, Route>();
  let copied = 0;
  for (const host of [...hosts].sort(compareHosts)) {
    const start = firstFrom(routes, (route) => compareHosts(route.host, host) >= 0);
    for (; copied < start; copied++) kept.push(routes[copied]);
    for (; copied < routes.length && routes[copied].host === host; copied++) {
      gone.set(routes[copied].id, routes[copied]);
    }
  }
  for (; copied < routes.length; copied++) kept.push(routes[copied]);
  const same = added.map((route) => {
    const before = gone.get(route.id);
    return before !== undefined && isSamePart(before, route) ? before : route;
  });
  return mergeSorted(kept, same, compareRoutes);
}

/** As the function above; the very same list where nothing changes. */
function replaceAliases(
  aliases: readonly HostSettings[],
  hosts: ReadonlySet<string>,
  added: readonly HostSettings[],
): readonly HostSettings[] {
  if (aliases.length + added.length === 0) return aliases;
  const before = new Map(aliases.map((alias) => [alias.id, alias]));
  const same = added.map((alias) => {
    const last = before.get(alias.id);
    return last?.aliasOf === alias.aliasOf ? last! : alias;
  });
  const next = [...aliases.filter(({ id }) => !hosts.has(id)), ...same]
    .sort((a, b) => compareText(a.id, b.id));
  return isSameList(aliases, next) ? aliases : next;
}

/** The first index from which on `isPast` holds. */
function firstFrom(routes: readonly Route[], isPast: (route: Route) => boolean): number {
  let low = 0;
  let high = routes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isPast(routes[middle])) high = middle;
    else low = middle + 1;
  }
  return low;
}
