/**
 * How requests are spread over a Service's endpoints. In: a Service and its annotation. Out: the way
 * that it asks for, or none, for which the proxy has a default.
 */
import type { Balance } from "../../../shared/snapshot/types.ts";
import { BALANCES } from "../../../shared/snapshot/setting_values.ts";
import type { Identified } from "../../base/identity.ts";
import { fieldOf, isAbsent, quote } from "../../base/json.ts";
import type { ProblemList } from "../../base/problems.ts";
import { BALANCE_ANNOTATION } from "../annotations/own_annotation_names.ts";

/** Undefined where nothing is asked for, or nothing that there is; that is a problem then. */
export function readBalance(
  { identity, object }: Identified,
  problems: ProblemList,
): Balance | undefined {
  const annotations = fieldOf(fieldOf(object, "metadata"), "annotations");
  const written = fieldOf(annotations, BALANCE_ANNOTATION);
  const found = BALANCES.find((choice) => choice === written);
  if (found === undefined && !isAbsent(written)) {
    problems.about(identity.ref).warning(
      `metadata.annotations[${JSON.stringify(BALANCE_ANNOTATION)}]`,
      {
        reason: "BalanceUnknown",
        message: `${quote(written)} is not a load balancing policy, so the proxy's default is used`,
        remedy: `Write ${BALANCES.join(" or ")}`,
      },
    );
  }
  return found;
}
