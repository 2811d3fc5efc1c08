/**
 * What a controller leaves on Ingresses. In: Ingresses with their managed fields. Out: what is on
 * them of ours, and the patches that take it off; what others have put there stays. Pure.
 */
import type { KubeObject } from "../controller/kube/types.ts";
import { asList, fieldOf } from "../controller/base/json.ts";

/** Of server-side apply, and that of the Pingress Controller in Rust. */
const MANAGERS = ["pingress-controller", "kinorca.com/pingress-controller"];

/** Which the Pingress Controller in Rust puts on Ingresses. */
const FINALIZER = "kinorca.com/pingress-controller";

export interface IngressTrace {
  readonly namespace: string;
  readonly name: string;
  /** `addresses in the status`. */
  readonly what: string;
  /** Merge patches. */
  readonly patches: readonly {
    readonly subresource: "status" | null;
    readonly patch: object;
  }[];
}

export function ingressTraces(ingresses: readonly KubeObject[]): IngressTrace[] {
  return ingresses.flatMap((ingress) => {
    const { name, namespace = "default", finalizers = [] } = ingress.metadata;
    const found = [
      ...(hasOurAddresses(ingress)
        ? [{
          what: "addresses in the status",
          subresource: "status" as const,
          patch: { status: { loadBalancer: null } },
        }]
        : []),
      ...(finalizers.includes(FINALIZER)
        ? [{
          what: `the finalizer ${FINALIZER}`,
          subresource: null,
          patch: { metadata: { finalizers: finalizers.filter((one) => one !== FINALIZER) } },
        }]
        : []),
    ];
    if (found.length === 0) return [];
    const what = found.map((one) => one.what).join(" and ");
    return [{ namespace, name, what, patches: found }];
  });
}

function hasOurAddresses(ingress: KubeObject): boolean {
  const addresses = asList(
    fieldOf(fieldOf(fieldOf(ingress, "status"), "loadBalancer"), "ingress"),
  ) ?? [];
  return addresses.length > 0 &&
    (ingress.metadata.managedFields ?? []).some((entry) =>
      MANAGERS.includes(String(fieldOf(entry, "manager"))) &&
      fieldOf(fieldOf(fieldOf(entry, "fieldsV1"), "f:status"), "f:loadBalancer") !== undefined
    );
}
