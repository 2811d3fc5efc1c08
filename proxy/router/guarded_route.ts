/**
 * Routes that protect their paths. In: a route, and the filters of its set. Out: whether a request must
 * lead to the same route by its decoded path.
 *
 * Many backends merge slashes and decode `%2F`: of an open `/` and a protected `/admin`, `//admin` and
 * `/x%2f..%2fadmin` take the route of `/` and get the backend's `/admin` (CWE-41).
 */
import type { FilterSpec, Route } from "../../shared/snapshot/types.ts";

/** @param filtersOf The filters of a set by its id. */
export function isGuarded(
  { action, filterSet, match }: Route,
  filtersOf: (id: string) => readonly FilterSpec[],
): boolean {
  // It is compared with decoded paths alone: hosts that differ in filters only go on sharing a tree.
  if (match.path.decoded === true) return false;
  // What should protect the path is not supported: it is closed.
  if (action.kind === "reply" && action.closed === true) return true;
  return filterSet !== undefined && filtersOf(filterSet).some(({ kind }) => kind === "access");
}
