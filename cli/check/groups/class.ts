/**
 * Classes of Ingresses. In: IngressClasses, Ingresses and the controller's flags. Out: whether there is a class
 * of ours, what clashes with it, and which Ingresses nobody serves.
 */
import { isDefaultClass } from "../../../controller/translate/ingress/class.ts";
import { asText, fieldOf } from "../../../controller/base/json.ts";
import type { KubeObject } from "../../../controller/kube/types.ts";
import { nearestName } from "../../../shared/nearest_name.ts";
import {
  type ClassObject,
  namedClass,
  type ServedClasses,
  servedClasses,
} from "../../installation/ingress_class.ts";
import type { CheckFacts } from "../facts.ts";
import { type CheckResult, failed, ok, skipped, unchecked, warning } from "../result.ts";

/** Objects that a message names. */
const MAX_NAMES = 3;

export function checkClasses(
  { classes, ingresses, installation: { options } }: CheckFacts,
): readonly CheckResult[] {
  if (!classes.ok) return [unchecked("class", classes.unread)];
  const served = servedClasses(classes.value, options);
  return [
    classFound(served),
    ...foreign(served),
    ...defaults(classes.value, served.objects),
    ...(ingresses.ok
      ? unserved(ingresses.value, classes.value, served)
      : [unchecked("ingress-classes", ingresses.unread)]),
  ];
}

function classFound({ objects, flagged }: ServedClasses): CheckResult {
  if (objects.length > 0) return ok("class", `IngressClass ${namesOf(objects)}`);
  return failed(
    "class",
    `there is no IngressClass of Pingress; only Ingresses of class ${
      flagged.join(" and ")
    } are served`,
    "Apply manifests/ingress-class.yaml",
  );
}

/** A class that we serve by its name, and another controller by its field. */
function foreign({ objects, controllers }: ServedClasses): readonly CheckResult[] {
  return objects.filter(({ spec }) => !controllers.includes(spec?.controller ?? "")).map((one) =>
    warning(
      "class-controller",
      `IngressClass ${one.metadata.name} is of the controller ${
        one.spec?.controller ?? '""'
      }, and ` +
        "Pingress serves it as well: both write addresses while both run",
      'Annotate the class with pingress.io/status: "off" until the other controller is gone, or ' +
        "remove the class from --ingress-class and --nginx-class",
    )
  );
}

function defaults(
  all: readonly ClassObject[],
  ours: readonly ClassObject[],
): readonly CheckResult[] {
  const marked = all.filter(isDefaultClass);
  if (marked.length > 1) {
    return [failed(
      "default-class",
      `several IngressClasses are marked as default (${
        namesOf(marked)
      }), so the API server takes ` +
        "one of them",
      "Remove the annotation ingressclass.kubernetes.io/is-default-class from all but one",
    )];
  }
  const [only] = marked;
  return [
    only === undefined ? ok("default-class", "no default class: each Ingress names its own") : ok(
      "default-class",
      `the default class is ${only.metadata.name}${
        ours.includes(only) ? "" : ", which is not of Pingress"
      }`,
    ),
  ];
}

function unserved(
  ingresses: readonly KubeObject[],
  classes: readonly ClassObject[],
  { names, flagged, servesWithoutClass }: ServedClasses,
): readonly CheckResult[] {
  const known = new Set([...classes.map(({ metadata }) => metadata.name), ...names]);
  const classless = ingresses.filter((ingress) => namedClass(ingress) === null);
  const unknown = ingresses.filter((ingress) => {
    // The annotation is also of controllers that have no IngressClass.
    const name = asText(fieldOf(fieldOf(ingress, "spec"), "ingressClassName"));
    return name !== null && !known.has(name);
  });
  const ours = ingresses.filter((ingress) => names.has(namedClass(ingress) ?? ""));
  const results: CheckResult[] = [
    ours.length === 0
      ? skipped("ingress-classes", "there is no Ingress of a class of Pingress yet")
      : ok("ingress-classes", `Ingresses of a class of Pingress: ${ours.length}`),
  ];
  if (classless.length > 0 && !servesWithoutClass) {
    results.push(warning(
      "ingress-classes",
      `Ingresses without a class are not served: ${namesOf(classless)}`,
      `Set spec.ingressClassName: ${flagged[0]}`,
    ));
  }
  if (unknown.length > 0) {
    const written = asText(fieldOf(fieldOf(unknown[0], "spec"), "ingressClassName")) ?? "";
    const near = nearestName(written, known);
    results.push(warning(
      "ingress-classes",
      `Ingresses of classes that do not exist are not served: ${namesOf(unknown)}`,
      near === null
        ? "Create the IngressClass, or name one that exists"
        : `Write ${near} in place of ${written}`,
    ));
  }
  return results;
}

/** `a, b, c and 4 more`. */
function namesOf(objects: readonly KubeObject[]): string {
  const names = objects.map(({ metadata: { namespace, name } }) =>
    namespace === undefined ? name : `${namespace}/${name}`
  ).sort();
  const more = names.length - MAX_NAMES;
  return names.slice(0, MAX_NAMES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
