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
import { type Claim, RouteClaims } from "./route_claims.ts";
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
  readonly statuses: ReadonlyMap<IngressModel, readonly PathStatus[]>;
}

export function layRoutes(
  ingresses: readonly IngressModel[],
  backends: BackendResolver,
  processBackend: DefaultBackend | null,
  problems: ProblemList,
): Routing {
  const claims = new RouteClaims(backends);
  const statuses = new Map<IngressModel, PathStatus[]>();
  for (const ingress of ingresses) {
    statuses.set(
      ingress,
      ingress.rules.flatMap((rule) => {
        const { host } = rule;
        if (host === null) return dropped(rule);
        claims.claimHost(host, ingress, rule.field);
        return rule.paths.map((path) => claimPath(claims, ingress, host, path));
      }),
    );
  }
  let defaultAction: Action | null = null;
  let chosen: IngressModel | null = null;
  for (const ingress of ingresses) {
    if (ingress.defaultBackend === null) continue;
    if (ingress.hasRules) {
      statuses.get(ingress)?.push(claimRestOfHosts(claims, ingress));
    } else if (chosen !== null) {
      statuses.get(ingress)?.push(refuseDefault(ingress, chosen));
    } else {
      chosen = ingress;
      const { namespace } = ingress.identity.ref;
      const resolution = backends.resolve(ingress.defaultBackend, namespace, ingress.report);
      defaultAction = resolution.action;
      statuses.get(ingress)?.push(defaultStatus([], resolution.isServed ? "served" : "failing"));
    }
  }
  defaultAction ??= resolveProcessBackend(processBackend, backends, problems);
  return { routes: claims.routes(defaultAction ?? NOT_FOUND), defaultAction, statuses };
}

/** For a host without a path that can be served, where there is no default action either. */
const NOT_FOUND: Action = {
  kind: "answer",
  status: 404,
  reason: "the host has no path that can be served, and there is no default backend",
};

/** A rule whose host cannot be read, as far as it can be told. */
function dropped({ field, paths }: RuleModel): PathStatus[] {
  const fields = paths.length > 0 ? paths.map((path) => path.field) : [field];
  return fields.map((field) => ({ field, routes: [], outcome: "dropped" }));
}

function claimPath(
  claims: RouteClaims,
  ingress: IngressModel,
  host: string,
  { field, match, backend }: PathModel,
): PathStatus {
  if (match === null) return { field, routes: [], outcome: "dropped" };
  const other = claims.find(host, match);
  if (other !== null) {
    reportTaken(ingress, `${field}.path`, other);
    return { field, routes: [], outcome: "taken" };
  }
  const { route, isServed } = claims.claim(host, match, ingress, field, backend);
  return { field, routes: [route.id], outcome: isServed ? "served" : "failing" };
}

function reportTaken(ingress: IngressModel, field: string, other: Claim): void {
  const { route, owner } = other;
  const match = `${route.path.type} ${route.path.value} of ${showHost(route.host)}`;
  if (owner === ingress) {
    ingress.report.error(field, {
      reason: "PathRepeated",
      message: `${match} is in this Ingress already, at ${route.origin.field}, which counts`,
      remedy: "Take one of the two out",
    });
    return;
  }
  ingress.report.error(field, {
    reason: "PathTaken",
    message: `${match} belongs to ${showElder(owner.identity, ingress.identity)}`,
    remedy: "Use another host or path, or take it out of one of the two",
  });
}

/** Gives what is left of an Ingress's hosts to its default backend, where it is their oldest. */
function claimRestOfHosts(claims: RouteClaims, ingress: IngressModel): PathStatus {
  const { defaultBackend } = ingress;
  const hosts = new Set(ingress.rules.flatMap(({ host }) => host ?? []));
  const own: Claim[] = [];
  const obstacles: string[] = [];
  for (const host of hosts) {
    const slash = claims.find(host, WHOLE_HOST);
    const decider = slash?.owner ?? claims.hostOwner(host);
    if (decider !== null && decider !== ingress) {
      const whose = formatObject(decider.identity.ref);
      obstacles.push(`the rest of ${showHost(host)} is up to ${whose}`);
    } else if (slash === null && defaultBackend !== null) {
      own.push(claims.claim(host, WHOLE_HOST, ingress, DEFAULT_BACKEND_FIELD, defaultBackend));
    }
  }
  if (own.length > 0) {
    const isServed = own.every((claim) => claim.isServed);
    return defaultStatus(own.map(({ route }) => route.id), isServed ? "served" : "failing");
  }
  if (obstacles.length === 0) return defaultStatus([], "unused");
  ingress.report.warning(DEFAULT_BACKEND_FIELD, {
    reason: "DefaultBackendTaken",
    message: `${obstacles[0]}, so this default backend is not used`,
    remedy: "Use another host, or add paths to the rules of this Ingress",
  });
  return defaultStatus([], "taken");
}

function refuseDefault(ingress: IngressModel, chosen: IngressModel): PathStatus {
  ingress.report.error(DEFAULT_BACKEND_FIELD, {
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
  const ref = { kind: "service", name, port, nameField: "", portField: "spec.ports" } as const;
  return backends.resolve(ref, namespace, problems.about({ kind: "Service", namespace, name }))
    .action;
}

function showHost(host: string): string {
  return host === ANY_HOST ? "any host" : host;
}
