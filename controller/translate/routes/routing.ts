/**
 * Routes from one translation to the next. In: Ingresses, oldest first, and a resolver for backends.
 * Out: the routing that building all of them gives, but with no more work than what changed asks for.
 *
 * An Ingress that names hosts which no other one names, and has no default backend, touches no
 * other's routes. Where only such ones came, changed or went, and the same becomes of requests to all
 * other backends, only their routes are built. In any other case all are.
 */
import { compareHosts } from "../../../shared/host/host_order.ts";
import { isSamePart } from "../../../shared/snapshot/equality.ts";
import type { Route } from "../../../shared/snapshot/types.ts";
import type { BackendResolver, FoundBackends } from "../backends/backend.ts";
import type { RefusalOptions } from "./closures.ts";
import { carryOver, differenceOf, isSameList, LastResult } from "../../base/memo.ts";
import type { Ownership } from "../hosts/ownership.ts";
import { type ProblemList, type Recorded, recordProblems } from "../../base/problems.ts";
import type { NamedHost } from "./route_claims.ts";
import { compareRoutes } from "./route_order.ts";
import {
  buildAll,
  buildAlone,
  type DefaultBackend,
  type Layout,
  type Routing,
  type RoutingOptions,
} from "./routes.ts";
import { mergeSorted, SortedList } from "../../base/sorted_list.ts";
import type { Source } from "../model/source.ts";

interface Inputs {
  readonly ingresses: readonly Source[];
  readonly options: RoutingOptions;
  readonly found: FoundBackends;
}

export class RouteBuilder {
  readonly #last = new LastResult<Inputs, Recorded<Layout>>();
  readonly #order = new SortedList<Route>(compareRoutes);

  /** The very same as before where Ingresses, their hosts' owners and their backends' actions are. */
  build(
    ingresses: readonly Source[],
    backends: BackendResolver,
    options: RoutingOptions,
    problems: ProblemList,
  ): Routing {
    const before = this.#last.last;
    let layout = before !== null && isSameOptions(before.inputs.options, options)
      ? buildChanges(before.inputs, before.result, ingresses, backends, options)
      : null;
    if (layout === null) {
      backends.forget();
      layout = recordProblems((list) => buildAll(ingresses, backends, options, this.#order, list));
    }
    this.#last.keep({ ingresses, options, found: backends.found() }, layout);
    problems.addAll(layout.problems);
    return layout.value.routing;
  }
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

const NONE: ReadonlyMap<string, number> = new Map();

/**
 * Null where more than some Ingresses by themselves changed. Changes the hosts of `before`, which is
 * useless once this has thrown.
 */
function buildChanges(
  inputs: Inputs,
  before: Recorded<Layout>,
  ingresses: readonly Source[],
  backends: BackendResolver,
  options: RoutingOptions,
): Recorded<Layout> | null {
  const { ownership } = options;
  const last = inputs.options.ownership;
  if (inputs.ingresses === ingresses && last === ownership) {
    return backends.findsAgain(inputs.found, NONE) ? before : null;
  }
  const { removed, added } = differenceOf(inputs.ingresses, ingresses);
  const { routing, hosts, fallback } = before.value;
  // Closed paths never asked for their backends, so these cannot be counted back.
  if (removed.some(({ refusals }) => refusals.length > 0)) return null;
  if (removed.length + added.length > ingresses.length / 8) return null;
  const touched = hostsOf([...removed, ...added]);
  if (!ownership.differsOnlyIn(touched, last)) return null;
  if (isContested(touched, last) || isContested(touched, ownership)) return null;
  if (!changeHosts(hosts, removed, added)) return null;
  if (!backends.findsAgain(inputs.found, countBackends(removed))) return null;
  const alone = recordProblems((list) => buildAlone(added, backends, fallback, options, list));
  for (const [host, owner] of alone.value.hosts) hosts.set(host, owner);
  const gone = new Set(removed.map(({ identity }) => identity.ref));
  const found = new Map(added.map((ingress, i) => [ingress, alone.value.routing.statuses[i]]));
  return {
    value: {
      hosts,
      fallback,
      routing: {
        defaultAction: routing.defaultAction,
        routes: replaceRoutes(routing.routes, hostsOf(removed), alone.value.routing.routes),
        statuses: carryOver(inputs.ingresses, routing.statuses, ingresses, found),
      },
    },
    problems: [...before.problems.filter(({ object }) => !gone.has(object)), ...alone.problems],
  };
}

/** Whether what becomes of one of the hosts depends on Ingresses of several namespaces. */
function isContested(hosts: ReadonlySet<string>, { contested }: Ownership): boolean {
  if (contested.size === 0) return false;
  for (const host of hosts) if (contested.has(host)) return true;
  return false;
}

/** False where a host that comes or goes is another Ingress's as well; `hosts` is useless then. */
function changeHosts(
  hosts: Map<string, NamedHost>,
  removed: readonly Source[],
  added: readonly Source[],
): boolean {
  if ([...removed, ...added].some(({ defaultBackend }) => defaultBackend !== null)) return false;
  for (const host of hostsOf(removed)) {
    if (hosts.get(host)?.isShared !== false) return false;
    hosts.delete(host);
  }
  const taken = new Set<string>();
  for (const ingress of added) {
    for (const host of hostsOf([ingress])) {
      if (hosts.has(host) || taken.has(host)) return false;
      taken.add(host);
    }
  }
  return true;
}

function hostsOf(ingresses: readonly Source[]): ReadonlySet<string> {
  return new Set(ingresses.flatMap(({ rules }) => rules.flatMap(({ host }) => host ?? [])));
}

/** How often Ingresses that share no host asked for each backend, by id. */
function countBackends(ingresses: readonly Source[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { rules } of ingresses) {
    const claimed = new Set<string>();
    for (const { place, backend } of rules.flatMap(({ paths }) => paths)) {
      if (place === null || claimed.has(place.id)) continue;
      claimed.add(place.id);
      if (backend.kind === "service") counts.set(backend.id, (counts.get(backend.id) ?? 0) + 1);
    }
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
