/** Reasons of problems in expressions. In: names that the controller knows. Out: a matcher of the label. */
import { PROBLEM_REASONS } from "../../controller/problems/reasons.ts";
import { type Matcher, matches } from "../promql.ts";

/** Any of these; throws for one that the controller does not have. */
export function reasons(...names: readonly string[]): Matcher {
  const known = new Set(PROBLEM_REASONS.map(({ reason }) => reason));
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length > 0) throw new Error(`no reasons of problems: ${unknown.join(", ")}`);
  return matches(names.join("|"));
}
