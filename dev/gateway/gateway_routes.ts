/**
 * Which routes are on addresses of Gateways. In: routes of a snapshot. Out: those of listeners with an address of
 * their own, or the others.
 */
import { BUILT_IN_LISTENERS, sharedSocketOf } from "../../shared/snapshot/listener_id.ts";
import type { Route } from "../../shared/snapshot/types.ts";

/** Whether it is on no port that Ingresses have. */
export function isOfGateway({ listeners }: Pick<Route, "listeners">): boolean {
  return listeners !== undefined &&
    !listeners.some((id) => BUILT_IN_LISTENERS.has(id) || sharedSocketOf(id) !== null);
}
