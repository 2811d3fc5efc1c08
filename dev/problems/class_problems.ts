/**
 * Ingresses of classes that are not served, or would not be in a cluster. In: the objects of a folder, what was
 * served, and the classes that are. Out: a problem for each, with the class that was most likely meant. Pure.
 */
import { asText, quote } from "../../controller/base/json.ts";
import type { Ingress, IngressClass, Resources } from "../../controller/kube/resources.ts";
import { isDnsName } from "../../controller/base/names.ts";
import { isDefaultClass } from "../../controller/translate/ingress/class.ts";
import { NGINX_PREFIX } from "../../controller/translate/annotations/nginx/table.ts";
import type { IngressStatus, TranslateOptions } from "../../controller/translate/translator.ts";
import { nearestName } from "../../shared/nearest_name.ts";
import { formatObject, type ObjectRef, type Problem } from "../../shared/problem.ts";

/** Always served. */
export const OWN_CLASS = "pingress";

/** Of ingress-nginx's own manifests. */
const NGINX_CLASS = "nginx";

/** By which Ingresses named their class before `spec.ingressClassName`. */
const CLASS_ANNOTATION = "kubernetes.io/ingress.class";

type ClassOptions = Pick<TranslateOptions, "ingressClasses" | "controllerNames">;

export function classProblems(
  { ingresses, ingressClasses }: Pick<Resources, "ingresses" | "ingressClasses">,
  statuses: readonly IngressStatus[],
  options: ClassOptions,
): Problem[] {
  const served = new Set(statuses.map(({ object }) => formatObject(object)));
  const byDefault = defaultClassOfOthers(ingressClasses, options);
  return ingresses.flatMap((ingress) => {
    const object = refOf(ingress);
    if (!served.has(formatObject(object))) {
      return notServed(object, ingress, ingressClasses, options);
    }
    return byDefault === null || classOf(ingress) !== undefined
      ? []
      : [servedHereOnly(object, byDefault)];
  });
}

function classOf({ spec, metadata }: Ingress): unknown {
  const written: unknown = spec?.ingressClassName;
  return written ?? metadata?.annotations?.[CLASS_ANNOTATION];
}

function notServed(
  object: ObjectRef,
  ingress: Ingress,
  ingressClasses: readonly IngressClass[],
  { ingressClasses: served }: ClassOptions,
): Problem[] {
  const name = classOf(ingress);
  if (name === undefined) return [];
  const isClass = typeof name === "string" && isDnsName(name);
  const isWritten = ingressClasses.some(({ metadata }) => metadata?.name === name);
  const meant = isClass && !isWritten ? nearestName(name, served) : null;
  return [{
    object,
    field: ingress.spec?.ingressClassName == null
      ? `metadata.annotations["${CLASS_ANNOTATION}"]`
      : "spec.ingressClassName",
    reason: "ClassNotServed",
    message: `not served: class ${isClass ? name : quote(name)}`,
    remedy: !isClass
      ? `write the name of a class, such as ${OWN_CLASS}`
      : meant !== null
      ? `Write "${meant}"`
      : `add ${isOfNginx(ingress, name) ? "--nginx-class" : "--ingress-class"} ${name}`,
    severity: meant === null ? "warning" : "error",
  }];
}

/** Whether it was most likely written for ingress-nginx. */
function isOfNginx({ metadata }: Ingress, name: string): boolean {
  return name === NGINX_CLASS ||
    Object.keys(metadata?.annotations ?? {}).some((key) => key.startsWith(NGINX_PREFIX));
}

/**
 * The class that the API server writes into Ingresses without one, where it is not served here: of several
 * the newest, else the first by name, as its admission chooses. Null where there is none.
 * https://kubernetes.io/docs/concepts/services-networking/ingress/#default-ingress-class
 */
function defaultClassOfOthers(
  ingressClasses: readonly IngressClass[],
  { ingressClasses: served, controllerNames }: ClassOptions,
): string | null {
  const [first] = ingressClasses
    .filter(isDefaultClass)
    .sort((a, b) => {
      const [x, y] = [a, b].map(({ metadata }) => asText(metadata?.creationTimestamp) ?? "");
      if (x !== y) return x > y ? -1 : 1;
      return (a.metadata?.name ?? "") < (b.metadata?.name ?? "") ? -1 : 1;
    });
  const name = first?.metadata?.name;
  const controller: unknown = first?.spec?.controller;
  const isServed = name !== undefined && served.includes(name) ||
    typeof controller === "string" && controllerNames.includes(controller);
  return name === undefined || isServed ? null : name;
}

function servedHereOnly(object: ObjectRef, name: string): Problem {
  return {
    object,
    field: "spec.ingressClassName",
    reason: "DefaultClassNotServed",
    message:
      `it has no class, and in a cluster the API server gives it the default class ${name}, ` +
      "which is not served here",
    remedy: `Write ingressClassName: ${OWN_CLASS}, or start with --${
      name === NGINX_CLASS ? "nginx" : "ingress"
    }-class ${name}`,
    severity: "warning",
  };
}

export function refOf(ingress: Ingress): ObjectRef {
  const { namespace, name } = ingress.metadata ?? {};
  return { kind: "Ingress", namespace: namespace ?? "default", name: name ?? "" };
}
