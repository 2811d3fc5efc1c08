/** Which routes are of Gateways. In: routes of a snapshot. Out: those of listeners of Gateways, or the others. */
import { BUILT_IN_LISTENERS } from "../../shared/snapshot/listener_id.ts";
import type { Route } from "../../shared/snapshot/types.ts";

/** Whether it is on no listener that Ingresses have. */
export function isOfGateway({ listeners }: Pick<Route, "listeners">): boolean {
  return listeners !== undefined && !listeners.some((id) => BUILT_IN_LISTENERS.has(id));
}
