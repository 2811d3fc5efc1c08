/**
 * What is wrong with the objects of Gateway API in a folder. In: the objects and their translation. Out: a problem
 * for each condition that says something is not served as it is written, and for what the API server would
 * give no condition: Gateways of other classes, and routes without a Gateway that is served. Pure.
 */
import { readIdentity } from "../../controller/base/identity.ts";
import { asList, fieldOf, quote } from "../../controller/base/json.ts";
import type { GatewayObject, Resources } from "../../controller/kube/resources.ts";
import { GATEWAY_API, GATEWAYS, HTTP_ROUTES } from "../../controller/kube/types.ts";
import {
  type ConditionProblem,
  translationProblems,
} from "../../controller/problems/gateway/condition_problems.ts";
import { GATEWAY_CONTROLLER } from "../../controller/translate/gateway/objects/gateway_class.ts";
import {
  readReference,
  showReference,
} from "../../controller/translate/gateway/objects/reference.ts";
import type { GatewayOptions, GatewayTranslation } from "../../controller/translate/translator.ts";
import { nearestName } from "../../shared/nearest_name.ts";
import { formatObject, type ObjectRef } from "../../shared/problem.ts";
import { GATEWAY_CLASS } from "./assumed_objects.ts";

type GatewayResources = Pick<Resources, "gatewayClasses" | "gateways" | "httpRoutes">;

/** @param address Of Gateways for which no parameter says otherwise. */
export function gatewayProblems(
  resources: GatewayResources,
  translation: GatewayTranslation,
  { address }: Pick<GatewayOptions, "address">,
): ConditionProblem[] {
  return [
    ...translationProblems(translation).map((problem) =>
      address === "shared" ? withFlag(problem) : problem
    ),
    ...unservedGateways(resources, translation),
    ...unservedParents(resources, translation),
  ];
}

/** The controller may give each Gateway one, which no file says. */
function withFlag(problem: ConditionProblem): ConditionProblem {
  const remedy = `${problem.remedy}, or start with --backend=LoadBalancer if the controller does`;
  return problem.ofSharedAddress ? { ...problem, remedy } : problem;
}

function unservedGateways(
  { gatewayClasses, gateways }: GatewayResources,
  translation: GatewayTranslation,
): ConditionProblem[] {
  const served = new Set(translation.gateways.map(({ identity }) => identity.label));
  return (gateways ?? []).flatMap((gateway) => {
    const identity = readIdentity(GATEWAYS.kind, gateway);
    if (identity === null || served.has(identity.label)) return [];
    const name: unknown = fieldOf(gateway.spec, "gatewayClassName");
    const object = (gatewayClasses ?? []).find(({ metadata }) => metadata?.name === name);
    const { message, remedy } = whyNotServed(name, object);
    const names = (gatewayClasses ?? []).flatMap(({ metadata }) => metadata?.name ?? []);
    const meant = object === undefined && typeof name === "string"
      ? nearestName(name, [GATEWAY_CLASS, ...names])
      : null;
    const problem = warning(identity.ref, "spec.gatewayClassName", "ClassNotServed", message, {
      remedy: meant === null ? remedy : `Write "${meant}"`,
    });
    return [meant === null ? problem : { ...problem, severity: "error" as const }];
  });
}

function whyNotServed(
  name: unknown,
  object: GatewayObject | undefined,
): Pick<ConditionProblem, "message" | "remedy"> {
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
    message: `not served: GatewayClass ${name} has the controllerName ${quote(controller ?? "")}`,
    remedy: `Write the name of a class with controllerName ${GATEWAY_CONTROLLER}, or ${another}`,
  };
}

/** Of routes: of each parent that is not served. */
function unservedParents(
  { gateways, httpRoutes }: GatewayResources,
  translation: GatewayTranslation,
): ConditionProblem[] {
  const written = new Set(
    (gateways ?? []).flatMap((each) => readIdentity(GATEWAYS.kind, each)?.label ?? []),
  );
  const served = new Map(
    translation.routes.map(({ identity, parents }) => [
      identity.label,
      new Set(parents.map(({ index }) => index)),
    ]),
  );
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
    return parents.flatMap((parent, i) =>
      served.get(label)?.has(i) ? [] : unknownParent(parent, `spec.parentRefs[${i}]`, ref, written)
    );
  });
}

/** A parent that is none of the Gateways that are served. */
function unknownParent(
  parent: unknown,
  field: string,
  route: ObjectRef,
  written: ReadonlySet<string>,
): ConditionProblem[] {
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
  { remedy }: Pick<ConditionProblem, "remedy">,
): ConditionProblem {
  return {
    object,
    field,
    reason,
    message,
    remedy,
    severity: "warning",
    absent: null,
    ofSharedAddress: false,
  };
}
