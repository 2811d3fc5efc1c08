/**
 * Filters that decide whether a backend gets a request at all. In: a snapshot and a route. Out: what all its
 * requests get in place of the backend's response, and whether clients need something to be admitted.
 */
import { requiredUsersOf } from "../shared/credentials/credentials.ts";
import type { FilterSpec, Route, Snapshot } from "../shared/snapshot/types.ts";

export type SpecOf<K extends FilterSpec["kind"]> = Extract<FilterSpec, { readonly kind: K }>;

/** What all requests of the route get in place of a response of its backend; null for those. */
export function replyText(snapshot: Snapshot, route: Pick<Route, "filterSet">): string | null {
  for (const each of filtersOf(snapshot, route)) {
    if (each.kind === "www-redirect") {
      return `308 to the host ${each.to === "www" ? "with" : "without"} www.`;
    }
    if (each.kind === "request-redirect") return redirectText(each);
    if (each.kind === "redirect" && each.path === undefined) {
      return `${each.status} to ${each.location}`;
    }
    const missing = missingUsers(snapshot, each);
    if (missing !== null) return `503: ${missing}`;
  }
  return null;
}

/** Whether a client needs something to be admitted: an address, a login, a cookie. */
export function isProtected(snapshot: Snapshot, route: Pick<Route, "filterSet">): boolean {
  return filtersOf(snapshot, route).some((filter) =>
    filter.kind === "access" &&
    (filter.deny ?? filter.allow ?? filter.basic ?? filter.external) !== undefined
  );
}

/** Which users cannot be read, so that the filter closes its routes; null where it does not. */
export function missingUsers({ credentials = [] }: Snapshot, filter: FilterSpec): string | null {
  const required = requiredUsersOf(filter);
  if (required === null) return null;
  const users = credentials.find(({ id }) => id === required)?.users;
  const isThere = users !== undefined && users.kind !== "missing";
  return isThere ? null : `the users of ${required} cannot be read`;
}

export function redirectText(
  { status, scheme, host, port, path }: SpecOf<"request-redirect">,
): string {
  const parts = [
    `scheme ${scheme}`,
    ...(host === undefined ? [] : [`host ${host}`]),
    ...(port === undefined ? [] : [`port ${port}`]),
    ...(path === undefined
      ? []
      : [path.prefix === undefined ? `path ${path.value}` : `${path.value} for ${path.prefix}`]),
  ];
  return `${status} to ${parts.join(", ")}`;
}

export function filtersOf(
  { filterSets = [] }: Snapshot,
  { filterSet }: Pick<Route, "filterSet">,
): readonly FilterSpec[] {
  return filterSets.find(({ id }) => id === filterSet)?.filters ?? [];
}
