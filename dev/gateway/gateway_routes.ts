/**
 * Which routes are on addresses of Gateways. In: routes of a snapshot. Out: those of listeners with an address of
 * their own, those of Ingresses, or the others.
 */
import { HTTP_ROUTES, INGRESSES } from "../../controller/kube/types.ts";
import { BUILT_IN_LISTENERS, sharedSocketOf } from "../../shared/snapshot/listener_id.ts";
import type { Route } from "../../shared/snapshot/types.ts";

/** Whether it is on no port that Ingresses have. */
export function isOfGateway({ listeners }: Pick<Route, "listeners">): boolean {
  return listeners !== undefined &&
    !listeners.some((id) => BUILT_IN_LISTENERS.has(id) || sharedSocketOf(id) !== null);
}

/** Whether an Ingress has it: Gateways have others on the same ports where they share the address. */
export function isOfIngress({ origin }: Pick<Route, "origin">): boolean {
  return origin.kind === INGRESSES.kind;
}

/** Whether an HTTPRoute has it: others only keep requests from broader hosts. */
export function isOfRoute({ origin }: Pick<Route, "origin">): boolean {
  return origin.kind === HTTP_ROUTES.kind;
}
