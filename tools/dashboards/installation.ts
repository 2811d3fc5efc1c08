/**
 * The choice of an installation, where a data source has several. In: a series that each of its programs has.
 * Out: the variable, and how targets match it.
 */
import { type Matcher, matches } from "../promql.ts";
import type { Variable } from "./dashboard.ts";

/**
 * By the namespace of the target. It is not named `namespace`: links between dashboards carry values of
 * variables, and there that is the namespace of routes.
 */
const NAME = "installation";

export const OF_INSTALLATION: { readonly namespace: Matcher } = { namespace: matches(`$${NAME}`) };

export function installation(series: string): Variable {
  return { name: NAME, label: "Installation", of: "namespace", series };
}
