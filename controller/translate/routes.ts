/**
 * The routes of all Ingresses together. In: Ingresses that were read, oldest first, and a resolver
 * for backends. Out: one route for each host and path, what requests get that none takes, and what
 * became of every path.
 *
 * Passes: paths claim their host and path; hosts whose oldest Ingress has a default backend get it
 * for the rest of their paths; then the default action is chosen.
 */
import { formatObject } from "../../shared/problem.ts";
import type { Action, Route } from "../../shared/snapshot.ts";
import type { BackendResolver } from "./backend.ts";
import { type BackendRef, upstreamId } from "./backend_ref.ts";
import { Closures, type RefusalOptions } from "./closures.ts";
import { ANY_HOST } from "./host.ts";
import { showElder } from "./identity.ts";
import {
  DEFAULT_BACKEND_FIELD,
  type IngressModel,
  type PathModel,
  type RuleModel,
} from "./ingress.ts";
import { WHOLE_HOST } from "./path.ts";
import type { ProblemList } from "./problems.ts";
import { type Claim, type HostOwner, RouteClaims } from "./route_claims.ts";
import { compareRoutes } from "./route_order.ts";
import { SortedList } from "./sorted_list.ts";
import type { PathStatus } from "./status.ts";

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
  /** Of each Ingress, in the order given. */
  readonly statuses: readonly (readonly PathStatus[])[];
}

/** A routing, with what tells whether a change of one Ingress touches others. */
export interface Layout {
  readonly routing: Routing;
  readonly hosts: Map<string, HostOwner>;
}

/** Lays the routes of all Ingresses. */
export function layAll(
  ingresses: readonly IngressModel[],
  backends: BackendResolver,
  processBackend: DefaultBackend | null,
  refusals: RefusalOptions,
  problems: ProblemList,
): Layout {
  const closures = new Closures(ingresses, refusals, problems);
  const claims = new RouteClaims(backends, closures, problems);
  const statuses = ingresses.map((ingress) => claimPaths(claims, ingress, problems));
  let defaultAction: Action | null = null;
  let chosen: IngressModel | null = null;
  for (const [i, ingress] of ingresses.entries()) {
    if (ingress.defaultBackend === null) continue;
    if (ingress.hasRules) {
      statuses[i].push(claimRestOfHosts(claims, ingress, ingress.defaultBackend, problems));
    } else if (chosen !== null) {
      statuses[i].push(refuseDefault(ingress, chosen, problems));
    } else {
      chosen = ingress;
      const resolution = claims.resolve(null, ingress, ingress.defaultBackend);
      defaultAction = resolution.action;
      statuses[i].push(defaultStatus([], resolution.isServed ? "served" : "failing"));
    }
  }
  defaultAction ??= resolveProcessBackend(processBackend, backends, problems);
  const routes = IN_ORDER.of(claims.routes(defaultAction ?? NOT_FOUND));
  return { routing: { routes, defaultAction, statuses }, hosts: claims.hosts() };
}

/** Lays the routes of Ingresses without default backends, whose hosts no other Ingress names. */
export function layAlone(
  ingresses: readonly IngressModel[],
  backends: BackendResolver,
  defaultAction: Action | null,
  refusals: RefusalOptions,
  problems: ProblemList,
): Layout {
  const closures = new Closures(ingresses, refusals, problems);
  const claims = new RouteClaims(backends, closures, problems);
  const statuses = ingresses.map((ingress) => claimPaths(claims, ingress, problems));
  const routes = claims.routes(defaultAction ?? NOT_FOUND).sort(compareRoutes);
  return { routing: { routes, defaultAction, statuses }, hosts: claims.hosts() };
}

const IN_ORDER = new SortedList<Route>(compareRoutes);

/** For a host without a path that can be served, where there is no default action either. */
const NOT_FOUND: Action = {
  kind: "answer",
  status: 404,
  reason: "the host has no path that can be served, and there is no default backend",
};

function claimPaths(
  claims: RouteClaims,
  ingress: IngressModel,
  problems: ProblemList,
): PathStatus[] {
  const statuses: PathStatus[] = [];
  for (const rule of ingress.rules) {
    if (rule.host === null) {
      statuses.push(...dropped(rule));
      continue;
    }
    claims.claimHost(rule.host, ingress, rule.field);
    for (const path of rule.paths) statuses.push(claimPath(claims, ingress, path, problems));
  }
  return statuses;
}

/** A rule whose host cannot be read, as far as it can be told. */
function dropped({ field, paths }: RuleModel): PathStatus[] {
  return paths.length > 0
    ? paths.map((path) => path.dropped)
    : [{ field, routes: [], outcome: "dropped" }];
}

function claimPath(
  claims: RouteClaims,
  ingress: IngressModel,
  { field, place, backend, dropped }: PathModel,
  problems: ProblemList,
): PathStatus {
  if (place === null) return dropped;
  const other = claims.findId(place.id);
  if (other !== null) {
    reportTaken(ingress, `${field}.path`, other, problems);
    return { field, routes: [], outcome: "taken" };
  }
  return place.status(claims.claim(place, ingress, backend).isServed);
}

function reportTaken(
  ingress: IngressModel,
  field: string,
  { route, owner }: Claim,
  problems: ProblemList,
): void {
  const report = problems.about(ingress.identity.ref);
  const match = `${route.path.type} ${route.path.value} of ${showHost(route.host)}`;
  if (owner === ingress) {
    report.error(field, {
      reason: "PathRepeated",
      message: `${match} is in this Ingress already, at ${route.origin.field}, which counts`,
      remedy: "Take one of the two out",
    });
    return;
  }
  report.error(field, {
    reason: "PathTaken",
    message: `${match} belongs to ${showElder(owner.identity, ingress.identity)}`,
    remedy: "Use another host or path, or take it out of one of the two",
  });
}

/** Gives what is left of an Ingress's hosts to its default backend, where it is their oldest. */
function claimRestOfHosts(
  claims: RouteClaims,
  ingress: IngressModel,
  defaultBackend: BackendRef,
  problems: ProblemList,
): PathStatus {
  const hosts = new Set(ingress.rules.flatMap(({ host }) => host ?? []));
  const own: Claim[] = [];
  const obstacles: string[] = [];
  for (const host of hosts) {
    const slash = claims.find(host, WHOLE_HOST);
    const decider = slash?.owner ?? claims.hostOwner(host);
    if (decider !== null && decider !== ingress) {
      const whose = formatObject(decider.identity.ref);
      obstacles.push(`the rest of ${showHost(host)} is up to ${whose}`);
    } else if (slash === null) {
      const place = ingress.hostPlaces.of(host, ingress.identity, DEFAULT_BACKEND_FIELD);
      own.push(claims.claim(place, ingress, defaultBackend));
    }
  }
  if (own.length > 0) {
    const isServed = own.every((claim) => claim.isServed);
    return defaultStatus(own.map(({ route }) => route.id), isServed ? "served" : "failing");
  }
  if (obstacles.length === 0) return defaultStatus([], "unused");
  problems.about(ingress.identity.ref).warning(DEFAULT_BACKEND_FIELD, {
    reason: "DefaultBackendTaken",
    message: `${obstacles[0]}, so this default backend is not used`,
    remedy: "Use another host, or add paths to the rules of this Ingress",
  });
  return defaultStatus([], "taken");
}

function refuseDefault(
  ingress: IngressModel,
  chosen: IngressModel,
  problems: ProblemList,
): PathStatus {
  problems.about(ingress.identity.ref).error(DEFAULT_BACKEND_FIELD, {
    reason: "DefaultBackendTaken",
    message: `what no rule takes belongs to ${showElder(chosen.identity, ingress.identity)}`,
    remedy: "Take one of the two out, or add rules to this one",
  });
  return defaultStatus([], "taken");
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
    ...{ namespace, name, port },
    nameField: "",
    portField: "spec.ports",
  } as const;
  return backends.resolve(ref, () => problems.about({ kind: "Service", namespace, name })).action;
}

function showHost(host: string): string {
  return host === ANY_HOST ? "any host" : host;
}
