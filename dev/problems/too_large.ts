/**
 * Ingresses that a controller keeps out of its memory. In: an Ingress. Out: the bound of one object that it
 * exceeds, as a problem. Folders have no bounds, so what is served here would not be in a cluster. Pure.
 */
import { describeExcess } from "../../controller/kube/excess.ts";
import { excessOfIngress } from "../../controller/kube/object_bounds.ts";
import { reduceIngress } from "../../controller/kube/reduce.ts";
import type { Ingress, Resources } from "../../controller/kube/resources.ts";
import type { KubeObject } from "../../controller/kube/types.ts";
import type { IngressStatus } from "../../controller/translate/translator.ts";
import { formatObject, type Problem } from "../../shared/problem.ts";
import { refOf } from "./class_problems.ts";

/** What is wrong with its size, as a clause, and the remedy; null for nothing. */
export function sizeFault(
  ingress: Ingress,
): { readonly what: string; readonly remedy: string } | null {
  const { spec, metadata } = ingress;
  if (metadata === undefined) return null;
  // Of unknown shape in a file; what else the controller keeps is small.
  const { name, namespace, annotations } = metadata;
  const read = { spec, metadata: { name, namespace, annotations } } as unknown as KubeObject;
  const excess = excessOfIngress(reduceIngress(read));
  if (excess === null) return null;
  const [what, remedy] = describeExcess(excess);
  return { what, remedy };
}

/** Of those that are served. */
export function sizeProblems(
  { ingresses }: Pick<Resources, "ingresses">,
  statuses: readonly IngressStatus[],
): Problem[] {
  const served = new Set(statuses.map(({ object }) => formatObject(object)));
  return ingresses.flatMap((ingress): Problem[] => {
    const object = refOf(ingress);
    const fault = served.has(formatObject(object)) ? sizeFault(ingress) : null;
    return fault === null ? [] : [{
      object,
      field: "",
      reason: "ObjectTooLarge",
      message: `${fault.what}, so that a controller with the default bounds would serve none of it`,
      remedy: fault.remedy,
      severity: "warning",
    }];
  });
}
