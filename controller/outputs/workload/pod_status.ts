/**
 * What the status of a pod says. In: a pod of unknown shape. Out: whether it is ready, and its addresses.
 *
 * https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-conditions
 */
import { asList, asText, fieldOf } from "../../base/json.ts";

/** The condition `Ready`; undefined while it has none. */
export function readyCondition(pod: unknown): unknown {
  return (asList(fieldOf(fieldOf(pod, "status"), "conditions")) ?? [])
    .find((condition) => fieldOf(condition, "type") === "Ready");
}

/** A pod that is being deleted may still be ready. */
export function isPodReady(pod: unknown): boolean {
  return fieldOf(readyCondition(pod), "status") === "True";
}

/** At most one of each family; empty while it has none. */
export function podAddresses(pod: unknown): readonly string[] {
  const status = fieldOf(pod, "status");
  const listed = (asList(fieldOf(status, "podIPs")) ?? [])
    .flatMap((entry) => asText(fieldOf(entry, "ip")) ?? []);
  return listed.length > 0 ? listed : [asText(fieldOf(status, "podIP")) ?? []].flat();
}
