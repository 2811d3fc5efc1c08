/**
 * Which Ingresses are ours. In: Ingresses, IngressClasses and the classes that are served. Out: the
 * Ingresses of those classes. One of another class is none of our business: no problem, no status.
 *
 * https://kubernetes.io/docs/concepts/services-networking/ingress/#ingress-class
 */
import { creationTime, refOf } from "../../base/identity.ts";
import type { IngressObject } from "./ingress_object.ts";
import { asText, fieldOf, isAbsent } from "../../base/json.ts";
import { isDnsName } from "../../base/names.ts";
import type { ProblemList } from "../../base/problems.ts";
import { compareText } from "../../base/text_order.ts";

const DEFAULT_ANNOTATION = "ingressclass.kubernetes.io/is-default-class";

export interface ClassOptions {
  readonly ingressClasses: readonly string[];
  readonly controllerNames: readonly string[];
  readonly watchIngressWithoutClass: boolean;
}

/** The Ingresses that are served here, in the order given. */
export function ownIngresses(
  ingresses: readonly IngressObject[],
  ingressClasses: readonly unknown[],
  options: ClassOptions,
  problems: ProblemList,
): IngressObject[] {
  const classes = readClasses(ingressClasses, options, problems);
  return ingresses.filter((ingress) => isOwn(ingress, classes, options));
}

interface Classes {
  readonly served: ReadonlySet<string>;
  /** The name of the cluster's default class. */
  readonly fallback: string | null;
}

function readClasses(
  objects: readonly unknown[],
  options: ClassOptions,
  problems: ProblemList,
): Classes {
  const served = new Set(options.ingressClasses);
  const defaults: { readonly name: string; readonly createdAt: number }[] = [];
  for (const object of objects) {
    const { name } = refOf("IngressClass", object);
    if (!isDnsName(name)) continue;
    const controller = asText(fieldOf(fieldOf(object, "spec"), "controller"));
    if (controller !== null && options.controllerNames.includes(controller)) served.add(name);
    if (annotationOf(object, DEFAULT_ANNOTATION) === "true") {
      defaults.push({ name, createdAt: creationTime(object) });
    }
  }
  // As the API server's admission does: of several default classes the newest counts.
  defaults.sort((a, b) =>
    a.createdAt === b.createdAt ? compareText(a.name, b.name) : a.createdAt > b.createdAt ? -1 : 1
  );
  const [chosen, ...others] = defaults;
  for (const { name } of others) {
    if (name === chosen.name || !(served.has(name) || served.has(chosen.name))) continue;
    problems.about({ kind: "IngressClass", namespace: "", name }).warning(
      `metadata.annotations[${JSON.stringify(DEFAULT_ANNOTATION)}]`,
      {
        reason: "DefaultClassRepeated",
        message: `several classes are marked as the default one, and ${chosen.name} counts`,
        remedy: "Take the annotation off all but one of them",
      },
    );
  }
  return { served, fallback: chosen?.name ?? null };
}

function isOwn(
  { className, classAnnotation }: IngressObject,
  classes: Classes,
  options: ClassOptions,
): boolean {
  if (!isAbsent(className)) return typeof className === "string" && classes.served.has(className);
  if (classAnnotation !== null) return classes.served.has(classAnnotation);
  if (classes.fallback !== null && classes.served.has(classes.fallback)) return true;
  return options.watchIngressWithoutClass;
}

function annotationOf(object: unknown, name: string): unknown {
  return fieldOf(fieldOf(fieldOf(object, "metadata"), "annotations"), name);
}
