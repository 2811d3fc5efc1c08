/**
 * Routes of a snapshot as the forwarder uses them. In: actions, filter sets and policies, and the
 * upstreams that there are. Out: compiled routes, the very same for routes that do the same.
 */
import type {
  Action,
  FilterSet,
  ForwardAction,
  PathMatch,
  Policy,
  Route,
} from "../../shared/snapshot/types.ts";
import { slashRedirect } from "../../shared/snapshot/forward_action.ts";
import type { PartDelta } from "../config/part_diff.ts";
import {
  type FilterMakers,
  type FilterServices,
  MAKERS,
  NO_FILTERS,
  RouteFilters,
} from "../filters/registry.ts";
import type { Limits } from "../http/limits.ts";
import { isGuarded } from "../router/guarded_route.ts";
import { compilePolicy, type RoutePolicy, withTime } from "./policy.ts";
import type { CompiledAction, CompiledRoute, HttpUpstream } from "./route.ts";
import { WeightedChoice } from "./weighted_choice.ts";

/** What of a route decides what its requests get, besides the action. */
type Settings = Pick<Route, "filterSet" | "policy" | "httpsRedirect"> & {
  readonly match?: { readonly path: PathMatch };
};

const NO_SETTINGS: Settings = {};

export class RouteCompiler {
  readonly #limits: Limits;
  readonly #upstreams: ReadonlyMap<string, HttpUpstream>;
  readonly #makers: FilterMakers;
  readonly #services: FilterServices;
  readonly #defaultPolicy: RoutePolicy;
  readonly #filterSets = new Map<string, FilterSet>();
  readonly #policies = new Map<string, RoutePolicy>();
  /** By the ids of the route's filter set and the backend's, and what its path is compared with. */
  #filters = new Map<string, RouteFilters>();
  /** Of each upstream the one without filters and policy: a map of its own would cost 200 bytes. */
  readonly #plain = new WeakMap<HttpUpstream, CompiledRoute>();
  /** Of each upstream the others, by filters and policy. */
  #forwards = new WeakMap<HttpUpstream, Map<string, CompiledRoute>>();
  /** Splits of the delta under way: kept for longer, those of weights that change would pile up. */
  #splits = new Map<string, CompiledRoute>();

  constructor(
    upstreams: ReadonlyMap<string, HttpUpstream>,
    limits: Limits,
    makers: FilterMakers = MAKERS,
    services: FilterServices = {},
  ) {
    this.#limits = limits;
    this.#upstreams = upstreams;
    this.#makers = makers;
    this.#services = services;
    this.#defaultPolicy = compilePolicy(null, limits);
  }

  /** Takes new and changed filter sets and policies, before the routes that use them. */
  begin(filterSets: PartDelta<FilterSet>, policies: PartDelta<Policy>): void {
    this.#splits = new Map();
    const { length } = [...filterSets.changed, ...filterSets.removed, ...policies.changed];
    if (length + policies.removed.length === 0) return;
    this.#filters = new Map();
    this.#forwards = new WeakMap();
    for (const set of filterSets.changed) this.#filterSets.set(set.id, set);
    for (const policy of policies.changed) {
      this.#policies.set(policy.id, compilePolicy(policy, this.#limits));
    }
  }

  /** Forgets those that no route uses any more. */
  end(filterSets: PartDelta<FilterSet>, policies: PartDelta<Policy>): void {
    for (const id of filterSets.removed) this.#filterSets.delete(id);
    for (const id of policies.removed) this.#policies.delete(id);
    this.#splits = new Map();
  }

  /** Throws where a part of it is missing, or is one that this proxy cannot make. */
  compile(action: Action, settings: Settings = NO_SETTINGS): CompiledRoute {
    if (action.kind === "reply") {
      const code = action.closed ? "route_closed" : REPLY_CODES[action.status];
      return this.#route({ kind: "reply", code, reason: action.reason }, settings, undefined);
    }
    const { backends } = action;
    if (backends.length === 1) {
      return this.#backend(backends[0], settings);
    }
    const { filterSet, policy, httpsRedirect } = settings;
    const key = JSON.stringify([
      ...[filterSet, policy, httpsRedirect, isDecoded(settings), backends, action.keepsShares],
      hasSlashRedirect(settings) ? settings.match?.path : null,
    ]);
    let route = this.#splits.get(key);
    if (route === undefined) this.#splits.set(key, route = this.#split(action, settings));
    return route;
  }

  /** Whether it protects its path; see `guarded_route.ts`. */
  isGuarded(route: Route): boolean {
    return isGuarded(route, (id) => this.#filterSets.get(id)?.filters ?? []);
  }

  /** A reply that nothing of the route takes part in, for one that cannot be compiled. */
  broken(reason: string): CompiledRoute {
    return this.#route({ kind: "reply", code: "route_broken", reason }, NO_SETTINGS, undefined);
  }

  #split(
    { backends, keepsShares }: ForwardAction,
    settings: Settings,
  ): CompiledRoute {
    const options = backends.map((backend) => {
      const upstream = this.#upstreams.get(backend.upstream);
      return {
        option: this.#backend(backend, settings),
        weight: backend.weight ?? 1,
        isUsable: () => keepsShares === true || upstream === undefined || !upstream.isEmpty,
      };
    });
    if (options.every(({ weight }) => weight === 0)) {
      const reason = "all backends have weight 0";
      return this.#route({ kind: "reply", code: "route_broken", reason }, settings, undefined);
    }
    return this.#route(
      { kind: "split", backends: new WeightedChoice(options) },
      settings,
      undefined,
    );
  }

  #backend(
    { upstream, fault, filterSet, policy }: ForwardAction["backends"][number],
    settings: Settings,
  ): CompiledRoute {
    const own = withPolicy(settings, policy);
    return fault === undefined
      ? this.#forward(upstream, own, filterSet)
      : this.#route({ kind: "reply", code: "route_broken", reason: fault }, own, undefined);
  }

  #forward(id: string, settings: Settings, filterSet: string | undefined): CompiledRoute {
    const upstream = this.#upstreams.get(id);
    if (upstream === undefined) {
      const reason = `no upstream ${id}`;
      return this.#route({ kind: "reply", code: "route_broken", reason }, settings, filterSet);
    }
    const { policy, httpsRedirect } = settings;
    const decoded = settings.match?.path.decoded;
    if (hasSlashRedirect(settings)) {
      return this.#route({ kind: "forward", upstream }, settings, filterSet);
    }
    if ((settings.filterSet ?? filterSet ?? policy ?? httpsRedirect ?? decoded) === undefined) {
      let plain = this.#plain.get(upstream);
      if (plain === undefined) {
        plain = this.#route({ kind: "forward", upstream }, NO_SETTINGS, undefined);
        this.#plain.set(upstream, plain);
      }
      return plain;
    }
    let known = this.#forwards.get(upstream);
    if (known === undefined) this.#forwards.set(upstream, known = new Map());
    const key = [settings.filterSet, filterSet, policy, httpsRedirect, decoded].join("\n");
    let route = known.get(key);
    if (route === undefined) {
      route = this.#route({ kind: "forward", upstream }, settings, filterSet);
      known.set(key, route);
    }
    return route;
  }

  #route(
    action: CompiledAction,
    settings: Settings,
    backendFilters: string | undefined,
  ): CompiledRoute {
    const filters = this.#filtersOf(settings, backendFilters);
    const own = this.#policyOf(settings.policy);
    const policy = filters.time === null ? own : withTime(own, filters.time);
    const { httpsRedirect = null } = settings;
    return Object.freeze({ action, policy, filters, httpsRedirect });
  }

  #policyOf(id: string | undefined): RoutePolicy {
    if (id === undefined) return this.#defaultPolicy;
    const policy = this.#policies.get(id);
    if (policy === undefined) throw new Error(`no policy ${id}`);
    return policy;
  }

  /** Those of a path's own redirect are not kept: there may be thousands, which come and go. */
  #filtersOf(settings: Settings, ofBackend: string | undefined): RouteFilters {
    const filters = this.#sharedFilters(settings, ofBackend);
    const redirect = settings.match === undefined ? null : slashRedirect(settings.match.path);
    return redirect === null ? filters : filters.withFirst(redirect, this.#makers, this.#services);
  }

  #sharedFilters(settings: Settings, ofBackend: string | undefined): RouteFilters {
    const { filterSet: ofRoute } = settings;
    const decoded = isDecoded(settings);
    if (ofRoute === undefined && ofBackend === undefined && !decoded) return NO_FILTERS;
    const key = JSON.stringify([ofRoute, ofBackend, decoded]);
    let filters = this.#filters.get(key);
    if (filters === undefined) {
      const specs = [...this.#specsOf(ofRoute), ...this.#specsOf(ofBackend)];
      filters = RouteFilters.of(specs, this.#makers, this.#services, decoded);
      this.#filters.set(key, filters);
    }
    return filters;
  }

  #specsOf(id: string | undefined): FilterSet["filters"] {
    if (id === undefined) return [];
    const set = this.#filterSets.get(id);
    if (set === undefined) throw new Error(`no filter set ${id}`);
    return set.filters;
  }
}

function isDecoded({ match }: Settings): boolean {
  return match?.path.decoded === true;
}

function hasSlashRedirect({ match }: Settings): boolean {
  return match?.path.slash !== undefined;
}

/** @param policy of a backend, if it has one. */
function withPolicy(settings: Settings, policy: string | undefined): Settings {
  return policy === undefined ? settings : { ...settings, policy };
}

const REPLY_CODES = { 404: "no_route", 500: "route_broken", 503: "no_endpoint" } as const;
