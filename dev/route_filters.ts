/**
 * What the filters of a route do with a request. In: a snapshot, the route, and a URL as somebody would
 * request it. Out: a line for each redirect, check of access and rewrite, and whether a filter replies
 * in place of the backend.
 */
import { ProxyError } from "../proxy/errors.ts";
import { rewriting } from "../proxy/filters/rewrite.ts";
import type { CanonicalPath } from "../shared/path/canonical_path.ts";
import type { RequestedUrl } from "../shared/path/requested_url.ts";
import type { FilterSpec, Route, Snapshot } from "../shared/snapshot/types.ts";

type RequestRedirect = Extract<FilterSpec, { readonly kind: "request-redirect" }>;
type Access = Extract<FilterSpec, { readonly kind: "access" }>;

/** In the order in which requests meet the filters. */
export function filterLines(
  snapshot: Snapshot,
  route: Route,
  url: RequestedUrl,
  path: CanonicalPath,
): string[] {
  const blocks = filtersOf(snapshot, route).some(({ kind }) => kind === "blocked-clients");
  return [
    ...(blocks ? ["rejects clients of block-* in the ConfigMap with 403"] : []),
    ...redirectLines(snapshot, route, path),
    ...filtersOf(snapshot, route).flatMap((filter) =>
      filter.kind === "access" ? accessLines(snapshot, filter) : []
    ),
    ...rewriteLines(snapshot, route, url, path),
    ...filtersOf(snapshot, route).flatMap(changeLines),
  ];
}

/** Values of headers may be secret. */
function changeLines(filter: FilterSpec): string[] {
  if (filter.kind === "deadline") return [`returns 504 after ${filter.time} ms without a response`];
  if (filter.kind !== "request-headers" && filter.kind !== "response-headers") return [];
  const where = filter.kind === "request-headers" ? "request" : "response";
  const { set = [], add = [], remove = [] } = filter;
  const changes = [
    ...set.map(({ name }) => `sets ${name}`),
    ...add.map(({ name }) => `adds ${name}`),
    ...remove.map((name) => `removes ${name}`),
  ];
  return changes.length === 0 ? [] : [`headers of the ${where}: ${changes.join(", ")}`];
}

/** Redirects of the request, which come before all else. */
export function redirectLines(snapshot: Snapshot, route: Route, path: CanonicalPath): string[] {
  if (!path.ok) return [];
  for (const each of filtersOf(snapshot, route)) {
    if (each.kind === "www-redirect") {
      return [`redirects with 308 to the host ${each.to === "www" ? "with" : "without"} www.`];
    }
    if (each.kind === "request-redirect") return [`redirects with ${redirectText(each)}`];
    if (each.kind === "redirect" && (each.path ?? path.path) === path.path) {
      return [`redirects with ${each.status} to ${each.location}`];
    }
  }
  return [];
}

function redirectText({ status, scheme, host, port, path }: RequestRedirect): string {
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

/** Whether no backend gets the request, whoever sends it. */
export function isAnsweredByFilters(
  snapshot: Snapshot,
  route: Route,
  path: CanonicalPath,
): boolean {
  return redirectLines(snapshot, route, path).length > 0 ||
    filtersOf(snapshot, route).some((filter) =>
      (filter.kind === "rewrite" && filter.redirects === true) ||
      (filter.kind === "access" && lacksUsers(snapshot, filter))
    );
}

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
function lacksUsers({ credentials = [] }: Snapshot, { basic }: Access): boolean {
  if (basic === undefined) return false;
  const users = credentials.find(({ id }) => id === basic.credentials)?.users;
  return users === undefined || users.kind === "missing";
}

function accessLines(snapshot: Snapshot, filter: Access): string[] {
  const { deny, allow, basic, external, satisfy } = filter;
  const lines = [
    ...(deny === undefined ? [] : [`rejects clients of ${deny.join(", ")} with 403`]),
    ...(allow === undefined ? [] : [`admits clients of ${allow.join(", ")}; others get 403`]),
    ...(basic === undefined ? [] : [
      lacksUsers(snapshot, filter)
        ? `returns 503: the users of ${basic.credentials} cannot be read`
        : `requires a user and password of ${basic.credentials}`,
    ]),
    ...(external === undefined ? [] : [externalLine(external)]),
  ];
  return satisfy === "any" && lines.length > 1
    ? [...lines, "one of these is enough (satisfy: any)"]
    : lines;
}

/** The subrequest that decides on the request. */
function externalLine(
  { scheme, authority, target, method = "GET", upstream, ownHostsFirst }: NonNullable<
    Access["external"]
  >,
): string {
  const text = [...authority, ...target].map((part) =>
    part.kind === "text" ? part.text : `$${part.name}`
  );
  const own = "the route of the host, inside the proxy";
  const by = upstream === undefined
    ? own
    : ownHostsFirst === true
    ? `${own}, or ${upstream}`
    : upstream;
  return `authenticates by ${method} ${scheme}://${text.join("")} (${by})`;
}

/** What the backend gets in place of the request's path. */
function rewriteLines(
  snapshot: Snapshot,
  route: Route,
  url: RequestedUrl,
  path: CanonicalPath,
): string[] {
  const filter = filtersOf(snapshot, route).find((each) => each.kind === "rewrite");
  if (filter === undefined || !path.ok) return [];
  try {
    const requested = filter.decoded ? url.rawPath : path.path;
    const target = rewriting(filter)(requested, url.query);
    const verb = filter.redirects === true ? "redirects with 302 to" : "with the path";
    return [`${verb} ${target.path}${target.query}`];
  } catch (error) {
    const status = error instanceof ProxyError ? error.status : 500;
    return [`returns ${status}: ${error instanceof Error ? error.message : String(error)}`];
  }
}

function filtersOf({ filterSets = [] }: Snapshot, { filterSet }: Pick<Route, "filterSet">) {
  return filterSets.find(({ id }) => id === filterSet)?.filters ?? [];
}
