/**
 * Annotations that nothing reads where they are written. In: the objects of a folder. Out: a problem for each
 * annotation of ours that its kind does not have, and for each of ingress-nginx that is not on an Ingress.
 * Those of Ingresses are reported by the translation. Pure.
 */
import { asObject } from "../../controller/base/json.ts";
import type { Resources } from "../../controller/kube/resources.ts";
import { NGINX_PREFIX } from "../../controller/translate/annotations/nginx/table.ts";
import type { ObjectRef, Problem } from "../../shared/problem.ts";
import { OWN_ANNOTATIONS, ownRemedy } from "./annotation_suggestion.ts";

const OWN = /^(?:dev\.)?pingress\.io\//;

interface Annotated {
  readonly metadata?: {
    readonly namespace?: string;
    readonly name?: string;
    readonly annotations?: unknown;
    readonly labels?: unknown;
  };
}

export function misplacedAnnotations(
  { services, ingressClasses, namespaces, ingresses }: Resources,
): Problem[] {
  return [
    ...services.flatMap((service) => ofObject("Service", service)),
    ...ingressClasses.flatMap((one) => ofObject("IngressClass", one)),
    ...(namespaces ?? []).flatMap((namespace) => ofObject("Namespace", namespace)),
    ...ingresses.flatMap((ingress) =>
      namesOf(ingress)
        .filter((name) => name.startsWith("dev.pingress.io/"))
        .map((name) => unknown(refOf("Ingress", ingress), name))
    ),
    ...ingresses.flatMap((ingress) => labelsOf("Ingress", ingress)),
    ...services.flatMap((service) => labelsOf("Service", service)),
  ];
}

/** Annotations that are written as labels, as where the line `annotations:` is missing. */
function labelsOf(kind: "Ingress" | "Service", object: Annotated): Problem[] {
  const ref = refOf(kind, object);
  return Object.keys(asObject(object.metadata?.labels) ?? {}).sort()
    .filter((name) => name.startsWith(NGINX_PREFIX) || OWN.test(name))
    .map((name): Problem => ({
      object: ref,
      field: `metadata.labels[${JSON.stringify(name)}]`,
      reason: "AnnotationUnknown",
      message: `"${name}" is a label here, and has an effect as an annotation only`,
      remedy: "Move it to metadata.annotations",
      // What it is to protect is open.
      severity: kind === "Ingress" ? "error" : "warning",
    }));
}

function ofObject(kind: string, object: Annotated): Problem[] {
  const ref = refOf(kind, object);
  return namesOf(object).flatMap((name) => {
    if (name.startsWith(NGINX_PREFIX)) {
      return kind !== "Service" ? [] : [problem(ref, name, {
        message: `annotation "${name}" has no effect on a ${kind}`,
        remedy: "Write it on the Ingress that names the Service",
      })];
    }
    if (!OWN.test(name) || OWN_ANNOTATIONS[kind].includes(name)) return [];
    return [unknown(ref, name)];
  });
}

function unknown(ref: ObjectRef, name: string): Problem {
  const isKnown = Object.values(OWN_ANNOTATIONS).some((names) => names.includes(name));
  return problem(ref, name, {
    message: isKnown
      ? `annotation "${name}" has no effect on this kind of object`
      : `there is no annotation "${name}", so it has no effect`,
    remedy: ownRemedy(ref.kind, name),
  });
}

function problem(
  object: ObjectRef,
  name: string,
  text: Pick<Problem, "message" | "remedy">,
): Problem {
  return {
    object,
    field: `metadata.annotations[${JSON.stringify(name)}]`,
    reason: "AnnotationUnknown",
    ...text,
    severity: "warning",
  };
}

function namesOf({ metadata }: Annotated): string[] {
  return Object.keys(asObject(metadata?.annotations) ?? {}).sort();
}

function refOf(kind: string, { metadata }: Annotated): ObjectRef {
  const namespace = kind === "Service" || kind === "Ingress" ? metadata?.namespace ?? "" : "";
  return { kind, namespace, name: metadata?.name ?? "" };
}
