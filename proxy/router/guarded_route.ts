/**
 * Routes that protect their paths. In: a route that is compared with paths as they are, and the filters of
 * its set. Out: whether a request must lead to the same route by its decoded path.
 *
 * Many backends merge slashes and decode `%2F`: of an open `/` and a protected `/admin`, `//admin` and
 * `/x%2f..%2fadmin` take the route of `/` and get the backend's `/admin` (CWE-41).
 */
import type { FilterSpec, Route } from "../../shared/snapshot/types.ts";

/**
 * @param filtersOf The filters of a set by its id.
 */
export function isGuarded(
  { action, filterSet }: Route,
  filtersOf: (id: string) => readonly FilterSpec[],
): boolean {
  // What should protect the path is not supported: it is closed.
  if (action.kind === "reply" && action.closed === true) return true;
  return filterSet !== undefined && filtersOf(filterSet).some(({ kind }) => kind === "access");
}
