/**
 * Which endpoints a zone's proxy asks. In: endpoints with their hints, and the zone. Out: those that
 * are meant for it, or all of them where the hints cannot be relied on. Knows no protocol.
 *
 * As kube-proxy does, so that a Service behaves alike from inside the cluster and through us:
 * https://kubernetes.io/docs/concepts/services-networking/topology-aware-routing/#safeguards
 */
import type { Endpoint } from "../../shared/snapshot/types.ts";

/** Whether each is meant for `zone`, in order; null where all of them are to be asked. */
export function meantFor(
  zone: string | null,
  endpoints: readonly Pick<Endpoint, "hints">[],
): readonly boolean[] | null {
  if (zone === null) return null;
  let some = false;
  let all = true;
  const meant: boolean[] = [];
  for (const { hints } of endpoints) {
    // One without hints says that they are being changed right now.
    if (hints === undefined || hints.length === 0) return null;
    const isMeant = hints.includes(zone);
    meant.push(isMeant);
    some ||= isMeant;
    all &&= isMeant;
  }
  return some && !all ? meant : null;
}
