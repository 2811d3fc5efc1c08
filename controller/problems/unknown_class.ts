/**
 * Ingresses of a class that does not exist. In: Ingresses and IngressClasses as they are, and the
 * classes that are served by their name alone. Out: a problem for each whose `spec.ingressClassName`
 * names none: most often it is misspelt, and nobody else can say why nothing is served.
 *
 * The old annotation is not looked at: it never had to name an IngressClass.
 * https://kubernetes.io/docs/concepts/services-networking/ingress/#ingress-class
 */
import type { Problem } from "../../shared/problem.ts";
import type { Ingress, IngressClass } from "../kube/resources.ts";
import { quote } from "../base/json.ts";
import { compareText } from "../base/text_order.ts";

/** Sorted by namespace and name. Those of classes that exist, whosesoever, have none. */
export function unknownClasses(
  ingresses: readonly Ingress[],
  ingressClasses: readonly IngressClass[],
  served: readonly string[],
): Problem[] {
  const known = new Set([...served, ...ingressClasses.map(({ metadata }) => metadata?.name)]);
  const problems: (Problem & { readonly object: NonNullable<Problem["object"]> })[] = [];
  for (const { metadata, spec } of ingresses) {
    const name: unknown = spec?.ingressClassName;
    if (typeof name !== "string" || name === "" || known.has(name)) continue;
    problems.push({
      object: {
        kind: "Ingress",
        namespace: metadata?.namespace ?? "default",
        name: metadata?.name ?? "",
      },
      field: "spec.ingressClassName",
      reason: "ClassNotFound",
      message: `IngressClass ${quote(name)} does not exist, so the Ingress is not served`,
      remedy: `Write ${served.join(" or ")} to have it served here, or create the IngressClass`,
      severity: "warning",
    });
  }
  return problems.sort(({ object: a }, { object: b }) =>
    compareText(a.namespace, b.namespace) || compareText(a.name, b.name)
  );
}
