/**
 * The status of ListenerSets. In: the status that stands, and the translation of a ListenerSet. Out: the fields
 * to write, or null. Entries of their listeners are left out: none of them is served.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#listenersetstatus
 */
import { fieldOf } from "../../base/json.ts";
import type { ListenerSetStatus } from "../../translate/gateway/objects/listener_set.ts";
import { mergeConditions } from "./conditions.ts";
import { type StatusChange, statusChange } from "./status_change.ts";

export function listenerSetChange(
  standing: unknown,
  { conditions: wanted, generation }: Pick<ListenerSetStatus, "conditions" | "generation">,
  now: number,
): StatusChange | null {
  const conditions = mergeConditions(fieldOf(standing, "conditions"), { wanted, generation, now });
  return statusChange(standing, { conditions });
}
