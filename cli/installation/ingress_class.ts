/** Classes of Ingresses, as people see them. In: objects of the API server and the controller's flags. Out: which are served. */
import type { IngressClass } from "../../controller/kube/resources.ts";
import { asText, fieldOf } from "../../controller/base/json.ts";
import { CONTROLLER_OPTIONS, type ControllerOptions } from "../../controller/cli/options.ts";
import type { KubeObject } from "../../controller/kube/types.ts";
import { isDefaultClass } from "../../controller/translate/ingress/class.ts";
import { CLASS_ANNOTATION } from "../../controller/translate/ingress/ingress_object.ts";

/** As the API server has it. */
export type ClassObject = KubeObject & Pick<IngressClass, "spec">;

/** By field or annotation; null for none. */
export function namedClass(ingress: KubeObject): string | null {
  return asText(fieldOf(fieldOf(ingress, "spec"), "ingressClassName")) ??
    ingress.metadata.annotations?.[CLASS_ANNOTATION] ?? null;
}

export interface ServedClasses {
  /** IngressClasses that are served, by their name or their controller. */
  readonly objects: readonly ClassObject[];
  /** `spec.controller` of our classes. */
  readonly controllers: readonly string[];
  /** Names of classes, whether or not there is an IngressClass. */
  readonly names: ReadonlySet<string>;
  /** Those of the flags alone. */
  readonly flagged: readonly string[];
  readonly servesWithoutClass: boolean;
}

/** @param options Null where they are not known: then those of no flags. */
export function servedClasses(
  classes: readonly ClassObject[],
  options: ControllerOptions | null,
): ServedClasses {
  const controllers = options?.controllerNames ?? CONTROLLER_OPTIONS.controllerName.default;
  const flagged = options?.ingressClasses ?? [CONTROLLER_OPTIONS.ingressClass.default];
  const objects = classes.filter(({ metadata, spec }) =>
    controllers.includes(spec?.controller ?? "") || flagged.includes(metadata.name)
  );
  return {
    ...{ objects, controllers, flagged },
    names: new Set([...flagged, ...objects.map(({ metadata }) => metadata.name)]),
    servesWithoutClass: options?.watchIngressWithoutClass === true || objects.some(isDefaultClass),
  };
}

export function isServed(ingress: KubeObject, classes: ServedClasses): boolean {
  const name = namedClass(ingress);
  return name === null ? classes.servesWithoutClass : classes.names.has(name);
}
