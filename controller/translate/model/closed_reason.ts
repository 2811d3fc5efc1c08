/**
 * Why a route is closed. In: the annotation with what is wrong, and the Ingress that has it. Out: the reason in the
 * route, of a bounded length: each of a thousand routes repeats it, and the problem of the Ingress has all of it.
 */

import { shortened } from "../../base/json.ts";

/** Characters of the reason of a closed route. */
export const MAX_CLOSED_REASON = 256;

/** Without the Ingress where its name is long. */
export function closedReason(annotation: string, fault: string, ingress: string): string {
  const whole = `${annotation} of ${ingress} ${fault}`;
  if (whole.length <= MAX_CLOSED_REASON) return whole;
  return shortened(`${annotation} ${fault}`, MAX_CLOSED_REASON);
}
