/**
 * What a snapshot answers to probes. In: the snapshot, compiled once, and probes. Out: for each the route that
 * takes it, and whether a backend gets it, at which terms. Whether endpoints are ready makes no difference. Pure.
 */
import { brokenMatch } from "../../proxy/router/conditions.ts";
import { compilePattern } from "../../proxy/router/patterns/pattern.ts";
import { compileTable, type RouteTable } from "../../proxy/router/table.ts";
import { upstreamsOf } from "../../shared/snapshot/forward_action.ts";
import { routeKey } from "../../shared/snapshot/route_key.ts";
import type { Action, FilterSpec, Route, Snapshot } from "../../shared/snapshot/types.ts";
import { type Demands, demandsOf } from "./demands.ts";
import { type Probe, probesOf } from "./probe.ts";

export type ProbedAnswer =
  | {
    readonly kind: "forward";
    /** Null for the default backend. */
    readonly route: Route | null;
    /** Ids, sorted. */
    readonly upstreams: readonly string[];
    readonly demands: Demands;
  }
  | { readonly kind: "redirect"; readonly route: Route | null }
  /** `isClosed`: on purpose, since protection cannot be honoured. */
  | {
    readonly kind: "error";
    readonly route: Route | null;
    readonly status: number;
    readonly reason: string;
    readonly isClosed: boolean;
  };

interface Target {
  readonly action: Action;
  readonly route: Route | null;
}

export class ProbedSnapshot {
  readonly snapshot: Snapshot;
  readonly #table: RouteTable<Target>;
  readonly #byKey: ReadonlyMap<string, Route>;
  readonly #filters: ReadonlyMap<string, readonly FilterSpec[]>;

  constructor(snapshot: Snapshot) {
    this.snapshot = snapshot;
    this.#table = compileTable<Target>(snapshot, (action, route) => ({ action, route }));
    this.#byKey = new Map(snapshot.routes.map((route) => [routeKey(route), route]));
    this.#filters = new Map((snapshot.filterSets ?? []).map(({ id, filters }) => [id, filters]));
  }

  /** The route with the same host, match and listeners. */
  same(route: Route): Route | null {
    return this.#byKey.get(routeKey(route)) ?? null;
  }

  /** What requests get that are a route's of this snapshot; null where others take them all. */
  probesOf(route: Route): readonly Probe[] {
    return probesOf(route).filter((probe) => this.#find(probe)?.route === route);
  }

  answer(probe: Probe): ProbedAnswer {
    const target = this.#find(probe);
    return target === null ? NO_ROUTE : this.#answerOf(target);
  }

  /** As if a request for this route had come. */
  answerOf(route: Route | null): ProbedAnswer {
    return route === null ? NO_ROUTE : this.#answerOf({ action: route.action, route });
  }

  /** As if a request had come that no route takes. */
  answerOfDefault(): ProbedAnswer {
    const { defaultAction: action } = this.snapshot;
    return action === null ? NO_ROUTE : this.#answerOf({ action, route: null });
  }

  #find({ listener, host, path, method, query, headers }: Probe): Target | null {
    const request = {
      method,
      query,
      received: path,
      header: (name: string) => headers.find(([one]) => one === name)?.[1] ?? null,
    };
    const place = this.#table.find(host, path, request, listener);
    return place < 0 ? null : this.#table.target(place);
  }

  #answerOf({ action, route }: Target): ProbedAnswer {
    // A default action is no route: the filters of its Ingress are those of its backends.
    const filterSet = route !== null
      ? route.filterSet
      : action.kind === "forward"
      ? action.backends[0]?.filterSet
      : undefined;
    const filters = this.#filters.get(filterSet ?? "") ?? [];
    const problem = route === null ? null : brokenMatch(route.match, compilePattern);
    if (problem !== null) {
      return { kind: "error", route, status: 500, reason: problem, isClosed: false };
    }
    if (filters.some(isRedirect)) return { kind: "redirect", route };
    if (action.kind === "reply") {
      const { status, reason, closed = false } = action;
      return { kind: "error", route, status, reason, isClosed: closed };
    }
    const upstreams = [...new Set(upstreamsOf(action))].sort();
    if (upstreams.length === 0) {
      const [fault = "no backend gets requests"] = action.backends.flatMap(({ fault }) =>
        fault ?? []
      );
      return { kind: "error", route, status: 500, reason: fault, isClosed: false };
    }
    return { kind: "forward", route, upstreams, demands: demandsOf(filters) };
  }
}

const NO_ROUTE: ProbedAnswer = {
  kind: "error",
  route: null,
  status: 404,
  reason: "no route matches, and there is no default backend",
  isClosed: false,
};

/** Of all paths of a route. */
function isRedirect(filter: FilterSpec): boolean {
  return filter.kind === "www-redirect" || filter.kind === "request-redirect" ||
    (filter.kind === "redirect" && filter.path === undefined) ||
    (filter.kind === "rewrite" && filter.redirects === true);
}
