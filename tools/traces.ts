/**
 * What a controller leaves on objects of users. In: Ingresses with their managed fields, and
 * GatewayClasses. Out: what is on them of ours, and the patches that take it off; what others have put
 * there stays. Pure.
 */
import type { KubeObject } from "../controller/kube/types.ts";
import { asList, fieldOf } from "../controller/base/json.ts";
import { CLASS_FINALIZER } from "../controller/outputs/gateway_status/class_finalizer.ts";
import { GATEWAY_CONTROLLER } from "../controller/translate/gateway/objects/gateway_class.ts";

/** Of server-side apply, and that of the Pingress Controller in Rust. */
const MANAGERS = ["pingress-controller", "kinorca.com/pingress-controller"];

/** Which the Pingress Controller in Rust puts on Ingresses. */
const FINALIZER = "kinorca.com/pingress-controller";

export interface Trace {
  /** As kubectl takes it. */
  readonly kind: string;
  /** For people: `Ingress`. */
  readonly title: string;
  /** Null for a kind that has none. */
  readonly namespace: string | null;
  readonly name: string;
  /** `addresses in the status`. */
  readonly what: string;
  /** Merge patches. */
  readonly patches: readonly {
    readonly subresource: "status" | null;
    readonly patch: object;
  }[];
}

export function ingressTraces(ingresses: readonly KubeObject[]): Trace[] {
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
    const kind = { kind: "ingress.networking.k8s.io", title: "Ingress" };
    return [{ ...kind, namespace, name, what, patches: found }];
  });
}

/** Without its finalizer a class of ours can be deleted when no controller runs any more. */
export function classTraces(classes: readonly KubeObject[]): Trace[] {
  return classes.flatMap((object) => {
    const { name, finalizers = [] } = object.metadata;
    const isOurs = fieldOf(fieldOf(object, "spec"), "controllerName") === GATEWAY_CONTROLLER;
    if (!isOurs || !finalizers.includes(CLASS_FINALIZER)) return [];
    const patch = { metadata: { finalizers: finalizers.filter((one) => one !== CLASS_FINALIZER) } };
    return [{
      ...{ kind: "gatewayclass.gateway.networking.k8s.io", title: "GatewayClass" },
      ...{ namespace: null, name, what: `the finalizer ${CLASS_FINALIZER}` },
      patches: [{ subresource: null, patch }],
    }];
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
