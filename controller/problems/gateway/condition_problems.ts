/**
 * What is wrong with objects of Gateway API. In: their translation, and what is programmed. Out: a problem for
 * each condition that says something is not served as it is written; the reason is the condition's. Pure.
 */
import { formatObject, type ObjectRef, type Problem } from "../../../shared/problem.ts";
import { GATEWAY_CLASSES } from "../../kube/types.ts";
import type {
  GatewayStatus,
  GatewayTranslation,
  RouteStatus,
} from "../../translate/gateway/gateway_translation.ts";
import type { Condition } from "../../translate/gateway/objects/condition.ts";

export interface ConditionProblem extends Problem {
  readonly object: ObjectRef;
  /** The object that is named and does not exist; null where something else is wrong. */
  readonly absent: ObjectRef | null;
  /** Whether an address of its own, for a Gateway that shares one, would do as well. */
  readonly ofSharedAddress: boolean;
}

/** Conditions that say whether clients are served, of a Gateway and by name of its listeners. */
export interface ProgrammedConditions {
  readonly gateway: Condition | null;
  readonly listeners: ReadonlyMap<string, Condition | null>;
}

/** Each once, in the order of classes, Gateways, routes and ListenerSets. */
export function translationProblems(
  translation: Omit<GatewayTranslation, "parts">,
): ConditionProblem[] {
  const { classes, gateways, routes, listenerSets } = translation;
  return eachOnce([
    ...classes.flatMap(({ name, conditions }) =>
      conditionProblems({ kind: GATEWAY_CLASSES.kind, namespace: "", name }, "", conditions)
    ),
    ...gateways.flatMap(gatewayProblems),
    ...routes.flatMap(routeProblems),
    ...listenerSets.flatMap(({ identity, conditions }) =>
      conditionProblems(identity.ref, "", conditions)
    ),
  ]);
}

/** Why a Gateway or its listeners are not programmed, as far as no other condition says so. */
export function programmedProblems(
  { identity: { ref }, conditions, listeners }: GatewayStatus,
  programmed: ProgrammedConditions,
): ConditionProblem[] {
  const own = programmed.gateway;
  return [
    ...programmedProblem(ref, "", own, conditions),
    ...listeners.flatMap(({ name, conditions }, i) => {
      const condition = programmed.listeners.get(name) ?? null;
      const isSaidAbove = own?.status === "False" && own.message === condition?.message;
      return isSaidAbove
        ? []
        : programmedProblem(ref, `spec.listeners[${i}]`, condition, conditions);
    }),
  ];
}

function programmedProblem(
  object: ObjectRef,
  field: string,
  condition: Condition | null,
  others: readonly Condition[],
): ConditionProblem[] {
  if (condition === null || condition.status !== "False" || isAboutListeners(condition)) return [];
  const isSaid = others.some(({ message }) => message === condition.message);
  return isSaid ? [] : [problemOf(object, field, condition)];
}

function gatewayProblems(
  { identity: { ref }, conditions, listeners }: GatewayStatus,
): ConditionProblem[] {
  return [
    ...conditionProblems(ref, "", conditions.filter((one) => !isAboutListeners(one))),
    ...listeners.flatMap(({ conditions }, i) =>
      conditionProblems(ref, `spec.listeners[${i}]`, conditions)
    ),
  ];
}

/** The listeners say which, and why. */
function isAboutListeners({ reason }: Condition): boolean {
  return reason === "ListenersNotValid";
}

/** What is the same for several parents, as that of backends, is one object: its problems are made once. */
function routeProblems({ identity: { ref }, parents }: RouteStatus): ConditionProblem[] {
  const seen = new Set<Condition>();
  return parents.flatMap(({ index, conditions }) => {
    const others = conditions.filter((condition) => !seen.has(condition));
    for (const condition of others) seen.add(condition);
    return conditionProblems(ref, `spec.parentRefs[${index}]`, others);
  });
}

/** @param field Where it stands if the message does not say. */
function conditionProblems(
  object: ObjectRef,
  field: string,
  conditions: readonly Condition[],
): ConditionProblem[] {
  return conditions.filter(isWrong).flatMap((condition) =>
    (condition.each ?? [condition]).map((one) => problemOf(object, field, one))
  );
}

function problemOf(
  object: ObjectRef,
  field: string,
  { type, reason: written, message, absent, ofClass, ofSharedAddress }: Condition,
): ConditionProblem {
  // One that is True says in its message alone what is not served.
  const reason = written === type ? "UnsupportedValue" : written;
  const { text, remedy } = ofClass === undefined ? splitMessage(message) : {
    text: `GatewayClass ${ofClass} is not accepted`,
    remedy: `Correct GatewayClass ${ofClass}, whose problem says why`,
  };
  const at = ofClass === undefined ? fieldIn(text) ?? field : "spec.gatewayClassName";
  // It stands beside the message already.
  const fault = text.startsWith(`${at}: `) ? text.slice(at.length + 2) : text;
  return {
    object,
    field: at,
    reason,
    message: / is \S+ \S+$/.test(fault) ? fault + (FAULTS[reason] ?? "") : fault,
    remedy: remedy ?? REMEDIES[reason] ?? "Correct this field",
    severity: "error",
    absent: absent ?? null,
    ofSharedAddress: ofSharedAddress === true,
  };
}

/** Conflicted repeats what Accepted says; of what is True, a message tells what is not served. */
function isWrong({ type, status, message }: Condition): boolean {
  if (type === "Conflicted" || (type === "Programmed" && status !== "True")) return false;
  if (status === "False") return true;
  return type === "PartiallyInvalid" || (type === "ResolvedRefs" && message !== "");
}

/** What is wrong with an object where the message names it alone, as its remedy says the rest. */
const FAULTS: Readonly<Record<string, string>> = {
  InvalidKind: ", which is not supported",
  RefNotPermitted: ", which no ReferenceGrant permits",
};

/** Where the message has none. */
const REMEDIES: Readonly<Record<string, string>> = {
  AddressNotAssigned: "See the status of the Gateway's Service, or change spec.addresses",
  AddressNotUsable: "Change spec.addresses",
  BackendNotFound: "Create the Service, or write the name of another one",
  InvalidCertificateRef: "Create the Secret, or correct it",
  InvalidKind: "Write a Service",
  Pending: "See the logs of the proxies if it stays so",
  PortUnavailable: "See the logs of the proxies that are named",
  UnsupportedValue: "Remove what is not supported, or correct it",
};

/** How the API has a message begin of a route that is served in part. */
const DROPPED = /^Dropped Rule: /;

/** How the sentence of a message begins that says what to do. */
export const IMPERATIVE =
  /^(?:Add|Change|Correct|Create|Delete|Give|Remove|Rename|Split|Start|Use|Write) /;

/** Between sentences, of which some begin with a field. */
export const SENTENCES = /(?<=\.) (?=[A-Z]|spec\.)/;

/** A condition's message as what is wrong and what to do, both without a full stop. */
function splitMessage(
  message: string,
): { readonly text: string; readonly remedy: string | null } {
  const sentences = message.replace(DROPPED, "").split(SENTENCES);
  const at = sentences.findIndex((sentence) => IMPERATIVE.test(sentence));
  const text = at === -1 ? sentences : sentences.toSpliced(at, 1);
  return {
    text: withoutStop(text.join(" ")),
    remedy: at === -1 ? null : withoutStop(sentences[at]),
  };
}

function withoutStop(text: string): string {
  return text.replace(/\.$/, "");
}

/** The first field of the object that a message names; null for none. */
function fieldIn(message: string): string | null {
  return /\bspec\.\w+(?:\[\d+\])?(?:\.\w+(?:\[\d+\])?)*/.exec(message)?.[0] ?? null;
}

/** Parents of a route repeat what is wrong with its backends. */
function eachOnce(problems: readonly ConditionProblem[]): ConditionProblem[] {
  const byText = new Map(problems.map((problem) => [
    JSON.stringify([formatObject(problem.object), problem.field, problem.reason, problem.message]),
    problem,
  ]));
  return [...byText.values()];
}
