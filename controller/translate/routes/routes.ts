/**
 * The routes of all Ingresses together. In: Ingresses that were read, oldest first, and a resolver
 * for backends. Out: one route for each host and path, what requests get that none takes, and what
 * became of every path.
 *
 * Passes: paths claim their host and path; hosts whose oldest Ingress has a default backend get it
 * for the rest of their paths; then the default action is chosen.
 */
import { formatObject } from "../../../shared/problem.ts";
import type { Action, HostSettings, PathMatch, Route } from "../../../shared/snapshot/types.ts";
import type { BackendResolver } from "../backends/backend.ts";
import { isRoot, reportRootTaken, rootTaker, takerOf } from "./catch_all.ts";
import { Closures, type RefusalOptions } from "./closures.ts";
import { showElder } from "../model/source_order.ts";
import { DEFAULT_BACKEND_FIELD, type RuleModel, type Source } from "../model/source.ts";
import type { Ownership } from "../hosts/ownership.ts";
import type { HostIndex } from "./host_index.ts";
import type { ProblemList } from "../../base/problems.ts";
import { type ServedHosts, serveOtherNames } from "./other_names.ts";
import { claimPath, showHost } from "./path_claims.ts";
import { regexHosts } from "./regex_hosts.ts";
import { type Claim, type HostRest, RouteClaims } from "./route_claims.ts";
import { compareRoutes } from "./route_order.ts";
import type { SortedList } from "../../base/sorted_list.ts";
import type { PathStatus } from "../model/status.ts";
import { type BackendRef, upstreamId } from "../model/backend_ref.ts";
import { WHOLE_HOST } from "../model/route_place.ts";

/** The Service port that the process, not an Ingress, names. */
export interface DefaultBackend {
  readonly namespace: string;
  readonly name: string;
  readonly port: number | string;
}

export interface Routing {
  /** In order of precedence. */
  readonly routes: readonly Route[];
  readonly defaultAction: Action | null;
  /** Sorted by id. */
  readonly aliases: readonly HostSettings[];
  /** Of each Ingress, in the order given. */
  readonly statuses: readonly (readonly PathStatus[])[];
}

/** A routing, with what building a part of it anew takes. */
export interface Layout {
  readonly routing: Routing;
  /** The backends that were resolved for each Ingress, by id, once for each time. */
  readonly requested: Map<Source, readonly string[]>;
  readonly fallback: Fallback;
}

/** What decides on routes beside Ingresses and backends. */
export interface RoutingOptions {
  readonly processBackend: DefaultBackend | null;
  readonly refusals: RefusalOptions;
  readonly ownership: Ownership;
}

/** As `WHOLE_HOST` where paths are regular expressions. */
const WHOLE_REGEX_HOST: PathMatch = { type: "Regex", value: "/" };

/** What requests get that no route takes. */
export interface Fallback {
  readonly action: Action | null;
  /** Of the Ingress whose default backend it is; null where it is the process's, or none. */
  readonly namespace: string | null;
  /** For hosts that another namespace owns. */
  readonly foreign: Action;
}

/**
 * Builds the routes of all Ingresses.
 *
 * @param index Of the Ingresses.
 * @param order Sorts them by `compareRoutes`.
 */
export function buildAll(
  ingresses: readonly Source[],
  index: HostIndex,
  backends: BackendResolver,
  { processBackend, refusals, ownership }: RoutingOptions,
  order: SortedList<Route>,
  problems: ProblemList,
): Layout {
  const closures = new Closures(ingresses, index, refusals, ownership, problems);
  const claims = new RouteClaims(backends, closures, problems);
  const taker = rootTaker(ingresses, ownership);
  const { statuses, served } = claimAllPaths(claims, ingresses, ownership, problems, taker);
  let action: Action | null = null;
  let chosen: Source | null = null;
  for (const [i, ingress] of ingresses.entries()) {
    if (ingress.defaultBackend === null) continue;
    if (ingress.hasRules) {
      const { defaultBackend } = ingress;
      statuses[i].push(
        claimRestOfHosts(claims, ingress, defaultBackend, ownership, problems, taker),
      );
    } else if (chosen !== null) {
      statuses[i].push(refuseDefault(ingress, chosen, problems));
    } else {
      chosen = ingress;
      const resolution = claims.resolve(
        null,
        ingress,
        ingress.defaultBackend,
        ingress.settings,
      );
      action = withSettings(resolution.action, ingress);
      statuses[i].push(defaultStatus([], resolution.isServed ? "served" : "failing"));
    }
  }
  const isForeign = chosen !== null && ownership.owners.size > 0;
  const ofProcess = action === null || isForeign
    ? resolveProcessBackend(processBackend, backends, problems)
    : null;
  const fallback = {
    action: action ?? ofProcess,
    namespace: chosen?.identity.ref.namespace ?? null,
    foreign: ofProcess ?? NOT_OWNED,
  };
  const routes = claims.routes((host) => restOf(host, fallback, ownership));
  const { redirects, aliases, names } = serveOtherNames(served, claims, ownership, problems);
  routes.push(...redirects);
  for (const [host, { place }] of ownership.assigned) {
    if (!claims.hasHost(host) && !names.has(host)) routes.push(place.route(fallback.foreign));
  }
  return {
    routing: { routes: order.of(routes), defaultAction: fallback.action, aliases, statuses },
    requested: claims.requested(),
    fallback,
  };
}

/**
 * Builds the routes of Ingresses that name `hosts`, no others, and of which no other Ingress names
 * any. None may be without rules: its default backend concerns all, and so do hosts of all names beside one.
 *
 * @param index Of all Ingresses.
 */
export function buildGroup(
  ingresses: readonly Source[],
  index: HostIndex,
  hosts: ReadonlySet<string>,
  backends: BackendResolver,
  fallback: Fallback,
  { refusals, ownership }: RoutingOptions,
  problems: ProblemList,
): Layout {
  const closures = new Closures(ingresses, index, refusals, ownership, problems);
  const claims = new RouteClaims(backends, closures, problems);
  const { statuses, served } = claimAllPaths(claims, ingresses, ownership, problems);
  for (const [i, ingress] of ingresses.entries()) {
    const { defaultBackend } = ingress;
    if (defaultBackend === null) continue;
    statuses[i].push(claimRestOfHosts(claims, ingress, defaultBackend, ownership, problems));
  }
  const routes = claims.routes((host) => restOf(host, fallback, ownership));
  const { redirects, aliases, names } = serveOtherNames(served, claims, ownership, problems);
  routes.push(...redirects);
  for (const host of hosts) {
    const assigned = ownership.assigned.get(host);
    if (assigned !== undefined && !claims.hasHost(host) && !names.has(host)) {
      routes.push(assigned.place.route(fallback.foreign));
    }
  }
  const { action: defaultAction } = fallback;
  return {
    routing: { routes: routes.sort(compareRoutes), defaultAction, aliases, statuses },
    requested: claims.requested(),
    fallback,
  };
}

/** Nothing falls from an owned host to a default backend of another namespace. */
function restOf(host: string, fallback: Fallback, ownership: Ownership): HostRest {
  const { action, namespace, foreign } = fallback;
  return namespace === null || ownership.isOwn(host, namespace)
    ? { action: action ?? NOT_FOUND, isOwn: false }
    : { action: foreign, isOwn: true };
}

/** For a host without a path that can be served, where there is no default action either. */
const NOT_FOUND: Action = {
  kind: "reply",
  status: 404,
  reason: "the host has no path that can be served, and there is no default backend",
};

/** For the rest of a host that is owned, in place of a default backend of another namespace. */
const NOT_OWNED: Action = {
  kind: "reply",
  status: 404,
  reason: "the namespace that owns the host has no such path, and no default backend",
};

/** Rules of guests come after all others: the owner's have the first choice of paths. */
function claimAllPaths(
  claims: RouteClaims,
  ingresses: readonly Source[],
  ownership: Ownership,
  problems: ProblemList,
  taker: Source | null = null,
): { readonly statuses: PathStatus[][]; readonly served: ServedHosts } {
  const deferred: (() => void)[] = [];
  const served = new Map<Source, Map<string, boolean>>();
  const regexes = regexHosts(ingresses, ownership);
  const statuses = ingresses.map((ingress) => {
    const own: PathStatus[] = [];
    for (const rule of ingress.rules) {
      if (rule.host === null) {
        own.push(...dropped(rule));
        continue;
      }
      const standing = ownership.standing(rule.host, ingress.identity.ref.namespace);
      if (standing === "refused") {
        own.push(...refused(rule));
        continue;
      }
      const start = own.length;
      const claimRule = () => {
        claims.claimHost(rule.host!, ingress, rule.field);
        const ofRoot = takerOf(taker, ingress, rule.host!);
        for (const [i, path] of rule.paths.entries()) {
          if (ofRoot !== null && isRoot(path)) {
            reportRootTaken(ofRoot, ingress, path, problems);
            own[start + i] = { field: path.field, routes: [], outcome: "unused" };
          } else own[start + i] = claimPath(claims, ingress, rule.host!, path, regexes, problems);
        }
        if (ingress.otherNames.length === 0) return;
        const hosts = served.get(ingress) ?? new Map<string, boolean>();
        served.set(ingress, hosts);
        // A path that no request reaches counts in ingress-nginx, too.
        const hasRoutes = rule.paths.some((_, i) => {
          const { routes, outcome } = own[start + i];
          return routes.length > 0 || outcome === "unused";
        });
        hosts.set(rule.host!, hasRoutes || hosts.get(rule.host!) === true);
      };
      if (standing === "guest") {
        deferred.push(claimRule);
        for (const path of rule.paths) own.push(path.dropped);
      } else claimRule();
    }
    return own;
  });
  for (const claimRule of deferred) claimRule();
  return { statuses, served };
}

/** A rule for a host of another namespace. */
function refused({ field, paths }: RuleModel): PathStatus[] {
  const status = (field: string): PathStatus => ({ field, routes: [], outcome: "refused" });
  return paths.length > 0 ? paths.map((path) => status(path.field)) : [status(field)];
}

/** A rule whose host cannot be read, as far as it can be told. */
function dropped({ field, paths }: RuleModel): PathStatus[] {
  return paths.length > 0
    ? paths.map((path) => path.dropped)
    : [{ field, routes: [], outcome: "dropped" }];
}

/** Gives what is left of an Ingress's hosts to its default backend, where it is their oldest. */
function claimRestOfHosts(
  claims: RouteClaims,
  ingress: Source,
  defaultBackend: BackendRef,
  ownership: Ownership,
  problems: ProblemList,
  taker: Source | null = null,
): PathStatus {
  const { namespace } = ingress.identity.ref;
  const hosts = new Set(
    ingress.rules.flatMap(({ host }) =>
      host !== null && ownership.isOwn(host, namespace) ? host : []
    ),
  );
  const own: Claim[] = [];
  const obstacles: string[] = [];
  for (const host of hosts) {
    const slash = claims.find(host, WHOLE_HOST) ?? claims.find(host, WHOLE_REGEX_HOST);
    const decider = takerOf(taker, ingress, host) ?? slash?.owner ?? claims.hostOwner(host);
    if (decider !== null && decider !== ingress) {
      const whose = formatObject(decider.identity.ref);
      obstacles.push(`the rest of ${showHost(host)} is up to ${whose}`);
    } else if (slash === null) {
      const place = ingress.hostPlaces.of(host, ingress.identity, DEFAULT_BACKEND_FIELD);
      const settings = ingress.rewrittenDefault ?? ingress.settings;
      own.push(claims.claim(place, ingress, defaultBackend, settings));
    }
  }
  if (own.length > 0) {
    const isServed = own.every((claim) => claim.isServed);
    return defaultStatus(own.map(({ route }) => route.id), isServed ? "served" : "failing");
  }
  if (obstacles.length === 0) return defaultStatus([], "unused");
  problems.about(ingress.identity.ref).warning(DEFAULT_BACKEND_FIELD, {
    reason: "DefaultBackendConflict",
    message: `${obstacles[0]}, so this default backend is not used`,
    remedy: "Use another host, or add paths to the rules of this Ingress",
  });
  return defaultStatus([], "taken");
}

function refuseDefault(
  ingress: Source,
  chosen: Source,
  problems: ProblemList,
): PathStatus {
  problems.about(ingress.identity.ref).error(DEFAULT_BACKEND_FIELD, {
    reason: "DefaultBackendConflict",
    message: `requests that match no rule belong to ${showElder(chosen, ingress)}`,
    remedy: "Remove one of the two, or add rules to this one",
  });
  return defaultStatus([], "taken");
}

/** A default action is no route, so the settings of its Ingress stand at its backends. */
function withSettings(action: Action, { settings: { filterSet, policy } }: Source): Action {
  if (action.kind !== "forward" || (filterSet === null && policy === null)) return action;
  return {
    ...action,
    backends: action.backends.map((backend) => ({
      ...backend,
      ...(filterSet === null ? {} : { filterSet: filterSet.id }),
      ...(policy === null ? {} : { policy: policy.id }),
    })),
  };
}

function defaultStatus(routes: readonly string[], outcome: PathStatus["outcome"]): PathStatus {
  return { field: DEFAULT_BACKEND_FIELD, routes, outcome };
}

function resolveProcessBackend(
  backend: DefaultBackend | null,
  backends: BackendResolver,
  problems: ProblemList,
): Action | null {
  if (backend === null) return null;
  const { namespace, name, port } = backend;
  const ref = {
    kind: "service",
    id: upstreamId(namespace, name, port),
    ...{ namespace, name, port, wish: null },
    nameField: "",
    portField: "spec.ports",
  } as const;
  return backends.resolve(ref, () => problems.about({ kind: "Service", namespace, name })).action;
}
