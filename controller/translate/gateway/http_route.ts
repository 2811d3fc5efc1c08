/**
 * HTTPRoutes. In: an object of unknown shape, and what its references may lead to. Out: the parents and hosts
 * that it names, and its rules; with what is wrong with each.
 *
 * A rule that cannot be served as it is written stays, and its requests get 500: without it, they would
 * fall to a broader one.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#httproute
 */
import type { RouteMatch } from "../../../shared/snapshot/types.ts";
import { asList, asObject, asText, fieldOf, quote } from "../../base/json.ts";
import { type Identity, readIdentity } from "../../base/identity.ts";
import { GATEWAY_API, HTTP_ROUTES } from "../../kube/types.ts";
import { type BackendModel, readBackendRef, type ServicePorts } from "./backend_ref.ts";
import { type Condition, falseCondition, trueCondition } from "./condition.ts";
import { generationOf } from "./generation.ts";
import { readHostname } from "./hostname.ts";
import { type ParentRef, readParentRef } from "./parent_ref.ts";
import type { ReferenceGrants } from "./reference_grant.ts";
import { ALL_PATHS, readMatch } from "./route_match.ts";

export interface HttpRouteModel {
  readonly identity: Identity;
  readonly generation: number;
  readonly parents: readonly ParentRef[];
  /** Without those that are none; empty for any host, if it names none. */
  readonly hostnames: readonly string[];
  /** It names hosts, and none of them is one. */
  readonly hasNoHost: boolean;
  readonly rules: readonly RuleModel[];
}

export interface RuleModel {
  /** `spec.rules[0]`. */
  readonly field: string;
  readonly name: string | null;
  /** At least one. */
  readonly matches: readonly RouteMatch[];
  readonly backends: readonly BackendModel[];
  /** Why all of its requests get 500; null where they do not. A clause that begins with a field. */
  readonly fault: string | null;
}

/** Filters that are served. */
const FILTERS: ReadonlySet<unknown> = new Set(["RequestHeaderModifier", "RequestRedirect"]);

/** Fields of a rule that are served, or say nothing about its requests. */
const RULE_FIELDS: ReadonlySet<string> = new Set([
  ...["name", "matches", "filters", "backendRefs", "timeouts"],
]);

/** Null for an object without a name. */
export function readHttpRoute(
  object: unknown,
  grants: ReferenceGrants,
  services: ServicePorts,
): HttpRouteModel | null {
  const identity = readIdentity(HTTP_ROUTES.kind, object);
  if (identity === null) return null;
  const { namespace } = identity.ref;
  const spec = fieldOf(object, "spec");
  const written = asList(fieldOf(spec, "hostnames")) ?? [];
  const hostnames = [...new Set(written.flatMap((hostname) => readHostname(hostname) ?? []))];
  // Without rules the API server writes one for all paths, which has no backend.
  const rules = asList(fieldOf(spec, "rules")) ?? [{}];
  return {
    identity,
    generation: generationOf(object),
    parents: (asList(fieldOf(spec, "parentRefs")) ?? []).flatMap((parent) =>
      readParentRef(parent, namespace) ?? []
    ),
    hostnames,
    hasNoHost: written.length > 0 && hostnames.length === 0,
    rules: rules.map((rule, i) => readRule(rule, `spec.rules[${i}]`, namespace, grants, services)),
  };
}

function readRule(
  value: unknown,
  field: string,
  namespace: string,
  grants: ReferenceGrants,
  services: ServicePorts,
): RuleModel {
  const from = { group: GATEWAY_API, kind: HTTP_ROUTES.kind, namespace };
  const written = asList(fieldOf(value, "matches")) ?? [];
  const readings = (written.length === 0 ? [{}] : written).map(readMatch);
  const matches = readings.map((reading) => reading.ok ? reading.match : { path: ALL_PATHS });
  const refs = asList(fieldOf(value, "backendRefs")) ?? [];
  const broken = readings.findIndex(({ ok }) => !ok);
  const reading = readings[broken];
  return {
    field,
    name: asText(fieldOf(value, "name")),
    matches,
    backends: refs.map((ref, i) =>
      readBackendRef(ref, `${field}.backendRefs[${i}]`, from, grants, services)
    ),
    fault: reading !== undefined && !reading.ok
      ? `${field}.matches[${broken}].${reading.reason}`
      : filterFault(fieldOf(value, "filters"), `${field}.filters`) ??
        refs.map((ref, i) =>
          filterFault(fieldOf(ref, "filters"), `${field}.backendRefs[${i}].filters`, NONE)
        ).find((fault) => fault !== null) ??
        unknownField(value, field),
  };
}

const NONE: ReadonlySet<unknown> = new Set();

/** A filter that is not known may protect, so its rule must not be served without it. */
function filterFault(value: unknown, field: string, known = FILTERS): string | null {
  const filters = asList(value) ?? [];
  const at = filters.findIndex((filter) => !known.has(fieldOf(filter, "type")));
  return at === -1
    ? null
    : `${field}[${at}].type ${quote(fieldOf(filters[at], "type"))} is not supported`;
}

/** As `retry` and `sessionPersistence`. */
function unknownField(value: unknown, field: string): string | null {
  const unknown = Object.keys(asObject(value) ?? {}).find((name) => !RULE_FIELDS.has(name));
  return unknown === undefined ? null : `${field}.${unknown} is not supported`;
}

/** Whether all references of a route lead to something: the first that does not says why. */
export function resolvedRefsOf({ rules }: HttpRouteModel): Condition {
  const faults = rules.flatMap(({ backends }) => backends.flatMap(({ fault }) => fault ?? []));
  return faults[0] ?? trueCondition("ResolvedRefs");
}

/** Whether its rules are served as they are written, as conditions of a route that has a parent. */
export function rulesConditions({ rules }: HttpRouteModel): readonly Condition[] {
  const faults = rules.flatMap(({ fault }) => fault ?? []);
  if (faults.length === 0) return [trueCondition("Accepted")];
  const message = `${faults.join("; ")}. Requests for ${
    faults.length === 1 ? "this rule" : "these rules"
  } get 500.`;
  if (faults.length === rules.length) {
    return [falseCondition("Accepted", "UnsupportedValue", message)];
  }
  return [
    trueCondition("Accepted"),
    // The API requires this beginning of the message.
    trueCondition("PartiallyInvalid", "UnsupportedValue", `Dropped Rule: ${message}`),
  ];
}
