/**
 * BackendTLSPolicies. In: objects of unknown shape. Out: which Services they target. Such a Service expects TLS
 * with a verified certificate, which is not supported, and must never be spoken to without.
 *
 * https://gateway-api.sigs.k8s.io/api-types/backendtlspolicy/
 */
import { refOf } from "../../../base/identity.ts";
import { asList, fieldOf } from "../../../base/json.ts";
import { compareText } from "../../../base/text_order.ts";
import { BACKEND_TLS_POLICIES, SERVICES } from "../../../kube/types.ts";
import { readReference } from "./reference.ts";

export class BackendTlsPolicies {
  /** By `namespace/name` of the Service, the policy that is first by name. */
  readonly #policies = new Map<string, string>();

  constructor(objects: readonly unknown[]) {
    for (const object of objects) {
      const { namespace, name } = refOf(BACKEND_TLS_POLICIES.kind, object);
      const spec = fieldOf(object, "spec");
      // Of v1alpha2 it has one target.
      const targets = asList(fieldOf(spec, "targetRefs")) ?? [fieldOf(spec, "targetRef")];
      for (const target of targets) {
        const reference = readReference(target, { group: "", kind: "", namespace });
        if (reference?.group !== "" || reference.kind !== SERVICES.kind) continue;
        // A policy has targets in its own namespace alone.
        const key = `${namespace}/${reference.name}`;
        const known = this.#policies.get(key);
        if (known === undefined || compareText(name, known) < 0) this.#policies.set(key, name);
      }
    }
  }

  /**
   * The name of a policy that targets a Service; null for none. One that names a port by `sectionName`
   * counts for all ports: a misspelt one must not open the port that was meant.
   */
  policyOf({ namespace, name }: { readonly namespace: string; readonly name: string }):
    | string
    | null {
    return this.#policies.get(`${namespace}/${name}`) ?? null;
  }
}
