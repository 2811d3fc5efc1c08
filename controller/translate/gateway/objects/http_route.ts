/**
 * HTTPRoutes. In: an object of unknown shape. Out: the parents and hosts that it names, and its rules; with
 * what is wrong with each by itself.
 *
 * A rule that cannot be served as it is written stays in its place, and its requests get 500: without it,
 * they would fall to a broader one.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#httproute
 */
import type { RouteMatch } from "../../../../shared/snapshot/types.ts";
import { asList, asText, fieldOf, quote, unknownField } from "../../../base/json.ts";
import { type Identified, readIdentity } from "../../../base/identity.ts";
import { type Excess, excessOf } from "../../../kube/excess.ts";
import { HTTP_ROUTES } from "../../../kube/types.ts";
import { type BackendModel, readBackendRef, type ResolvedBackend } from "./backend_ref.ts";
import { type Condition, falseCondition, trueCondition } from "./condition.ts";
import { generationOf } from "./generation.ts";
import { readHostname } from "./hostname.ts";
import { type ParentRef, readParentRef } from "./parent_ref.ts";
import { backendFiltersFault, readRuleFilters, type RuleFilters } from "./route_filters.ts";
import { readTimeouts } from "./route_timeouts.ts";
import { readMatch } from "./route_match.ts";

export interface HttpRouteModel extends Identified {
  readonly generation: number;
  readonly parents: readonly ParentRef[];
  /** Without those that are none; empty for any host, if it names none. */
  readonly hostnames: readonly string[];
  /** Those that are none, as they are written: addresses, which the API server accepts. */
  readonly unusedHostnames: readonly unknown[];
  /** It names hosts, and none of them is one. */
  readonly hasNoHost: boolean;
  /** None with `excess`. */
  readonly rules: readonly RuleModel[];
  /** The bound for which only a stub was kept; null for a whole route. */
  readonly excess: Excess | null;
}

export interface RuleModel {
  /** `spec.rules[0]`. */
  readonly field: string;
  readonly name: string | null;
  /** At least one. */
  readonly matches: readonly RouteMatch[];
  /** Of each match, with conditions that are refused: they count where matches are put in order. */
  readonly written: readonly RouteMatch[];
  readonly filters: RuleFilters;
  /** Of a request, in ms, `MAX_TIMEOUT` for as long as it takes; null where the rule says nothing. */
  readonly time: number | null;
  readonly backends: readonly BackendModel[];
  /** Why all of its requests get 500; null where they do not. A clause that begins with a field. */
  readonly fault: string | null;
}

/** Fields of a rule that are served, or say nothing about its requests. */
const RULE_FIELDS: ReadonlySet<string> = new Set([
  ...["name", "matches", "filters", "backendRefs", "timeouts"],
]);

/** Null for an object without a name. */
export function readHttpRoute(object: object): HttpRouteModel | null {
  const identity = readIdentity(HTTP_ROUTES.kind, object);
  if (identity === null) return null;
  const { namespace } = identity.ref;
  const spec = fieldOf(object, "spec");
  const written = asList(fieldOf(spec, "hostnames")) ?? [];
  const hostnames = [...new Set(written.flatMap((hostname) => readHostname(hostname) ?? []))];
  // Without rules the API server writes one for all paths, which has no backend.
  const excess = excessOf(object);
  const rules = excess !== null ? [] : asList(fieldOf(spec, "rules")) ?? [{}];
  return {
    ...{ identity, object },
    generation: generationOf(object),
    parents: (asList(fieldOf(spec, "parentRefs")) ?? []).flatMap((parent, i) =>
      readParentRef(parent, namespace, i) ?? []
    ),
    hostnames,
    unusedHostnames: written.filter((hostname) => readHostname(hostname) === null),
    hasNoHost: written.length > 0 && hostnames.length === 0,
    rules: rules.map((rule, i) => readRule(rule, `spec.rules[${i}]`, namespace)),
    excess,
  };
}

const NO_FILTERS: RuleFilters = { filters: [], redirect: null };

function readRule(value: unknown, field: string, namespace: string): RuleModel {
  const written = asList(fieldOf(value, "matches")) ?? [];
  const readings = (written.length === 0 ? [{}] : written).map(readMatch);
  const refs = asList(fieldOf(value, "backendRefs")) ?? [];
  const broken = readings.findIndex(({ fault }) => fault !== null);
  const filters = readRuleFilters(fieldOf(value, "filters"), `${field}.filters`);
  const timeouts = readTimeouts(fieldOf(value, "timeouts"), `${field}.timeouts`);
  return {
    field,
    name: asText(fieldOf(value, "name")),
    matches: readings.map(({ match }) => match),
    written: readings.map(({ written }) => written),
    filters: filters.ok ? filters.value : NO_FILTERS,
    time: timeouts.ok ? timeouts.time : null,
    backends: refs.map((ref, i) => readBackendRef(ref, `${field}.backendRefs[${i}]`, namespace)),
    fault: broken >= 0
      ? `${field}.matches[${broken}].${readings[broken].fault}`
      : !filters.ok
      ? filters.reason
      : !timeouts.ok
      ? timeouts.reason
      : refs.map((ref, i) =>
        backendFiltersFault(fieldOf(ref, "filters"), `${field}.backendRefs[${i}].filters`)
      ).find((fault) => fault !== null) ??
        fieldFault(value, field),
  };
}

/** As `retry` and `sessionPersistence`. */
function fieldFault(value: unknown, field: string): string | null {
  const unknown = unknownField(value, RULE_FIELDS);
  return unknown === null ? null : `${field}.${unknown} is not supported`;
}

/** Further ones are counted; a message may have 32,768 characters. */
const MAX_FAULTS = 16;

/**
 * Whether all backends of a route, by rule, lead to something; the message has each that does not. One that
 * does, and is not used, is resolved to the API; then the message says what its requests get.
 */
export function resolvedRefsOf(rules: readonly (readonly ResolvedBackend[])[]): Condition {
  const backends = rules.flat();
  const each = [
    ...backends.flatMap(({ fault }) => fault ?? []),
    ...backends.flatMap(({ refusal }) => refusal === null ? [] : refusedBackend(refusal)),
  ];
  const [first] = each;
  if (each.length < 2) return first ?? trueCondition("ResolvedRefs");
  const { type, status, reason } = first;
  const shown = each.slice(0, MAX_FAULTS);
  const messages = shown.map(({ message }) => message);
  const more = each.length - shown.length;
  if (more > 0) {
    const rest = `${more} more backends are not served.`;
    messages.push(rest);
    // A problem for each of thousands would help nobody, and takes seconds for some hundred routes.
    shown.push({ type, status, reason, message: `spec.rules: ${rest} Correct them, too.` });
  }
  return { type, status, reason, message: messages.join(" "), each: shown };
}

function refusedBackend(refusal: string): Condition {
  const message = `${refusal}. Its requests get 500. Remove the policy.`;
  return trueCondition("ResolvedRefs", "ResolvedRefs", message);
}

const FAULT_REMEDY = "Remove what is not supported, or correct it";

/** Whether its rules are served as they are written, as conditions of a route that has a parent. */
export function rulesConditions(
  { rules, hostnames, unusedHostnames }: HttpRouteModel,
): readonly Condition[] {
  const faults = rules.flatMap(({ fault }) => fault ?? []);
  const sentences: string[] = [];
  if (faults.length > 0) {
    const which = faults.length === 1 ? "this rule" : "these rules";
    sentences.push(`${faults.join("; ")}. Requests for ${which} get 500. ${FAULT_REMEDY}.`);
  }
  // Where none is left, the route attaches to nothing, and Accepted says so.
  if (unusedHostnames.length > 0 && hostnames.length > 0) {
    const names = unusedHostnames.map(quote).join(", ");
    const what = unusedHostnames.length === 1
      ? "is no DNS name, and is ignored"
      : "are no DNS names, and are ignored";
    sentences.push(`spec.hostnames: ${names} ${what}. Write names, or *. and a name.`);
  }
  if (sentences.length === 0) return [trueCondition("Accepted")];
  const message = sentences.join(" ");
  if (faults.length > 0 && faults.length === rules.length) {
    return [falseCondition("Accepted", "UnsupportedValue", message)];
  }
  return [
    trueCondition("Accepted"),
    // The API requires this beginning of the message.
    trueCondition("PartiallyInvalid", "UnsupportedValue", `Dropped Rule: ${message}`),
  ];
}
