/**
 * What is wrong with objects of Gateway API. In: the objects of a folder and their translation. Out: a problem
 * for each condition that says something is not served as it is written, and for what the API server would
 * give no condition: Gateways of other classes, and routes without a Gateway that is served. The reason
 * is the condition's. Pure.
 */
import { readIdentity } from "../../controller/base/identity.ts";
import { asList, fieldOf } from "../../controller/base/json.ts";
import type { GatewayObject, Resources } from "../../controller/kube/resources.ts";
import {
  GATEWAY_API,
  GATEWAY_CLASSES,
  GATEWAYS,
  HTTP_ROUTES,
} from "../../controller/kube/types.ts";
import type { Condition } from "../../controller/translate/gateway/objects/condition.ts";
import { GATEWAY_CONTROLLER } from "../../controller/translate/gateway/objects/gateway_class.ts";
import {
  readReference,
  showReference,
} from "../../controller/translate/gateway/objects/reference.ts";
import type { GatewayTranslation } from "../../controller/translate/translator.ts";
import { formatObject, type ObjectRef, type Problem } from "../../shared/problem.ts";
import { GATEWAY_CLASS } from "./assumed_objects.ts";

type GatewayResources = Pick<Resources, "gatewayClasses" | "gateways" | "httpRoutes">;

/** Each once, in the order of classes, Gateways, routes and ListenerSets. */
export function gatewayProblems(
  resources: GatewayResources,
  translation: GatewayTranslation,
): Problem[] {
  const problems = [
    ...translation.classes.flatMap(({ name, conditions }) =>
      conditionProblems({ kind: GATEWAY_CLASSES.kind, namespace: "", name }, "", conditions)
    ),
    ...unservedGateways(resources, translation),
    ...translation.gateways.flatMap(gatewayStatusProblems),
    ...routeProblems(resources, translation),
    ...translation.listenerSets.flatMap(({ identity, conditions }) =>
      conditionProblems(identity.ref, "", conditions)
    ),
  ];
  const byText = new Map(problems.map((problem) => [JSON.stringify(problem), problem]));
  return [...byText.values()];
}

function gatewayStatusProblems(
  { identity: { ref }, conditions, listeners }: GatewayTranslation["gateways"][number],
): Problem[] {
  return [
    // The listeners say which, and why.
    ...conditionProblems(
      ref,
      "",
      conditions.filter(({ reason }) => reason !== "ListenersNotValid"),
    ),
    ...listeners.flatMap(({ conditions }, i) =>
      conditionProblems(ref, `spec.listeners[${i}]`, conditions)
    ),
  ];
}

/** @param field Where it stands if the message does not say. */
function conditionProblems(
  object: ObjectRef,
  field: string,
  conditions: readonly Condition[],
): Problem[] {
  return conditions.filter(isWrong).map(({ type, reason: written, message }) => {
    // One that is True says in its message alone what is not served.
    const reason = written === type ? "UnsupportedValue" : written;
    const { text, remedy } = splitMessage(message);
    return {
      object,
      field: fieldIn(text) ?? field,
      reason,
      message: / is \S+ \S+$/.test(text) ? text + (FAULTS[reason] ?? "") : text,
      remedy: remedy ?? REMEDIES[reason] ?? "Correct this field",
      severity: "error",
    };
  });
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
  BackendNotFound: "Create the Service, or write the name of another one",
  InvalidCertificateRef: "Create the Secret, or correct it",
  InvalidKind: "Write a Service",
  UnsupportedValue: "Remove what is not supported, or correct it",
};

/** How the API has a message begin of a route that is served in part. */
const DROPPED = /^Dropped Rule: /;

/** How the sentence of a message begins that says what to do. */
const IMPERATIVE = /^(?:Add|Change|Create|Remove|Rename|Start|Use|Write) /;

/** A condition's message as what is wrong and what to do, both without a full stop. */
function splitMessage(
  message: string,
): { readonly text: string; readonly remedy: string | null } {
  const sentences = message.replace(DROPPED, "").split(/(?<=\.) (?=[A-Z])/);
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

function unservedGateways(
  { gatewayClasses, gateways }: GatewayResources,
  translation: GatewayTranslation,
): Problem[] {
  const served = new Set(translation.gateways.map(({ identity }) => identity.label));
  return (gateways ?? []).flatMap((gateway) => {
    const identity = readIdentity(GATEWAYS.kind, gateway);
    if (identity === null || served.has(identity.label)) return [];
    const name: unknown = fieldOf(gateway.spec, "gatewayClassName");
    const object = (gatewayClasses ?? []).find(({ metadata }) => metadata?.name === name);
    return [{
      object: identity.ref,
      field: "spec.gatewayClassName",
      reason: "ClassNotServed",
      ...whyNotServed(name, object),
      severity: "warning",
    }];
  });
}

function whyNotServed(
  name: unknown,
  object: GatewayObject | undefined,
): Pick<Problem, "message" | "remedy"> {
  const another = `write ${GATEWAY_CLASS}, which needs no GatewayClass here`;
  if (typeof name !== "string" || name === "") {
    return { message: "not served: the Gateway has no class", remedy: `Write ${GATEWAY_CLASS}` };
  }
  if (object === undefined) {
    return {
      message: `not served: there is no GatewayClass ${name} in these files`,
      remedy: `Add it with controllerName ${GATEWAY_CONTROLLER}, or ${another}`,
    };
  }
  const controller = fieldOf(object.spec, "controllerName");
  if (controller === GATEWAY_CONTROLLER) {
    return {
      message: `not served: GatewayClass ${name} is not accepted`,
      remedy: `Correct GatewayClass ${name}, whose problem says why`,
    };
  }
  return {
    message: `not served: GatewayClass ${name} has the controllerName ${
      JSON.stringify(controller ?? "")
    }`,
    remedy: `Write the name of a class with controllerName ${GATEWAY_CONTROLLER}, or ${another}`,
  };
}

/** Of routes: of each of their parents. */
function routeProblems(
  { gateways, httpRoutes }: GatewayResources,
  translation: GatewayTranslation,
): Problem[] {
  const written = new Set(
    (gateways ?? []).flatMap((each) => readIdentity(GATEWAYS.kind, each)?.label ?? []),
  );
  const statuses = new Map(translation.routes.map((route) => [route.identity.label, route]));
  return (httpRoutes ?? []).flatMap((route) => {
    const identity = readIdentity(HTTP_ROUTES.kind, route);
    if (identity === null) return [];
    const { ref, label } = identity;
    const parents = asList(fieldOf(route.spec, "parentRefs")) ?? [];
    if (parents.length === 0) {
      return [
        warning(ref, "spec", "NoParent", "the route names no Gateway, so it gets no traffic", {
          remedy: "Write the name of a Gateway into spec.parentRefs",
        }),
      ];
    }
    return parents.flatMap((parent, i): Problem[] => {
      const field = `spec.parentRefs[${i}]`;
      const status = statuses.get(label)?.parents.find(({ parentRef }) => parentRef === parent);
      if (status !== undefined) return conditionProblems(ref, field, status.conditions);
      return unknownParent(parent, field, ref, written);
    });
  });
}

/** A parent that is none of the Gateways that are served. */
function unknownParent(
  parent: unknown,
  field: string,
  route: ObjectRef,
  written: ReadonlySet<string>,
): Problem[] {
  const reference = readReference(parent, {
    ...{ group: GATEWAY_API, kind: GATEWAYS.kind, namespace: route.namespace },
  });
  if (reference === null) {
    return [warning(route, field, "ParentNotServed", "it names no Gateway", {
      remedy: "Write the name of one",
    })];
  }
  const { group, kind, namespace, name } = reference;
  if (group !== GATEWAY_API || kind !== GATEWAYS.kind) {
    return [warning(
      route,
      field,
      "ParentNotServed",
      `${showReference(reference)} is no Gateway, so the route gets no traffic from it`,
      { remedy: "Write the name of a Gateway if you want some" },
    )];
  }
  const label = formatObject({ kind, namespace, name });
  // Its class is not served, which is said of the Gateway.
  if (written.has(label)) return [];
  return [warning(
    route,
    field,
    "ParentNotServed",
    `${label} is not in these files, so the route gets no traffic from it`,
    { remedy: "Add the folder that has it, or write the name of another one" },
  )];
}

function warning(
  object: ObjectRef,
  field: string,
  reason: string,
  message: string,
  { remedy }: Pick<Problem, "remedy">,
): Problem {
  return { object, field, reason, message, remedy, severity: "warning" };
}
