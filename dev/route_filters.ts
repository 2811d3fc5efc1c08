/**
 * Filters that decide whether a backend gets a request at all. In: a snapshot and a route. Out: what all its
 * requests get in place of the backend's response, and whether clients need something to be admitted.
 */
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
    if (each.kind === "access" && lacksUsers(snapshot, each)) {
      return `503: the users of ${each.basic?.credentials} cannot be read`;
    }
  }
  return null;
}

/** Whether a client needs something to be admitted: an address, a login, a cookie. */
export function isProtected(snapshot: Snapshot, route: Pick<Route, "filterSet">): boolean {
  return filtersOf(snapshot, route).some(({ kind }) => kind === "access");
}

/** Whether clients need users that cannot be read. */
export function lacksUsers({ credentials = [] }: Snapshot, { basic }: SpecOf<"access">): boolean {
  if (basic === undefined) return false;
  const users = credentials.find(({ id }) => id === basic.credentials)?.users;
  return users === undefined || users.kind === "missing";
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
