/**
 * What the filters of a route do with a request. In: a snapshot, the route, and a URL as somebody would
 * request it. Out: a step for each filter, in the order in which requests meet them; and what a filter
 * replies in place of the backend.
 */
import { ProxyError } from "../../proxy/errors.ts";
import { locationOf } from "../../proxy/filters/redirect.ts";
import { redirectedUrl } from "../../proxy/filters/request_redirect.ts";
import { rewriting, type Target } from "../../proxy/filters/rewrite.ts";
import type { CanonicalPath } from "../../shared/path/canonical_path.ts";
import { decodedPath } from "../../shared/path/decoded_path.ts";
import type { RequestedUrl } from "../../shared/path/requested_url.ts";
import { formatDuration } from "../../shared/options.ts";
import { MAX_TIMEOUT } from "../../shared/snapshot/setting_values.ts";
import { type Place, slashRedirect } from "../../shared/snapshot/forward_action.ts";
import type { FilterSpec, Route, Snapshot } from "../../shared/snapshot/types.ts";
import { filtersOf, missingUsers, redirectText, type SpecOf } from "../route_filters.ts";
import type { Answer, FilterStep } from "./url_explanation.ts";

/** What filters look at. */
export interface FilteredRequest {
  readonly url: RequestedUrl;
  readonly path: CanonicalPath;
}

/** The kinds in the order of the proxy (`proxy/filters/registry.ts`); the redirect to HTTPS comes before `access`. */
export const FILTER_ORDER: readonly FilterSpec["kind"][] = [
  "deadline",
  "blocked-clients",
  "www-redirect",
  "redirect",
  "request-redirect",
  "rewrite",
  "access",
  "request-host",
  "nginx-forwarded-headers",
  "request-headers",
  "response-headers",
  "hsts",
];

/** Of the route, or the default action, and after them those of single backends. */
export function filterSteps(
  snapshot: Snapshot,
  route: Place,
  request: FilteredRequest,
): FilterStep[] {
  const ofBackends = route.action.kind === "reply"
    ? []
    : route.action.backends.flatMap((backend) =>
      stepsOf(filtersOf(snapshot, backend), snapshot, request, backend.upstream)
    );
  return [
    ...bodyLimit(snapshot, route),
    ...stepsOf(allFilters(snapshot, route), snapshot, request, null),
    ...ofBackends,
  ];
}

function stepsOf(
  filters: readonly FilterSpec[],
  snapshot: Snapshot,
  request: FilteredRequest,
  upstream: string | null,
): FilterStep[] {
  const rank = ({ kind }: FilterSpec) => FILTER_ORDER.indexOf(kind);
  const redirect = firstRedirect(filters, request);
  return filters.toSorted((a, b) => rank(a) - rank(b)).flatMap((filter): FilterStep[] => {
    const { kind } = filter;
    // Of several redirects the first counts; one of another path does nothing.
    if (isRedirect(filter) && filter !== redirect) return [];
    const requires = kind === "access" ? requiredBy(filter) : [];
    return textsOf(filter, snapshot, request).map((text) => ({ kind, upstream, text, requires }));
  });
}

/** @param time in ms. */
function deadlineText(time: number): string {
  return time === MAX_TIMEOUT
    ? "waits for the response as long as it takes"
    : `allows ${formatDuration(time)} for the whole response; after it 504, or an aborted response`;
}

function textsOf(filter: FilterSpec, snapshot: Snapshot, request: FilteredRequest): string[] {
  switch (filter.kind) {
    case "deadline":
      return [deadlineText(filter.time)];
    case "blocked-clients":
      return ["rejects clients of block-* in the ConfigMap with 403"];
    case "www-redirect":
      return [`redirects with 308 to the host ${filter.to === "www" ? "with" : "without"} www.`];
    case "redirect":
      return [`redirects with ${filter.status} to ${filter.location}`];
    case "request-redirect":
      return [`redirects with ${redirectText(filter)}`];
    case "rewrite":
      return rewriteText(filter, request);
    case "access":
      return accessTexts(snapshot, filter);
    case "request-host":
      return [`sends the host ${hostParts(filter)} to the backend`];
    case "nginx-forwarded-headers":
      return [];
    case "request-headers":
      return headerText("request", filter);
    case "response-headers":
      return headerText("response", filter);
    case "hsts":
      return [`adds Strict-Transport-Security over HTTPS, for ${filter.maxAge} s`];
  }
}

function bodyLimit({ policies = [] }: Snapshot, { policy }: Pick<Route, "policy">): FilterStep[] {
  const limit = policies.find(({ id }) => id === policy)?.bodyLimit ?? 0;
  if (limit === 0) return [];
  const text = `rejects request bodies of more than ${limit} bytes with 413`;
  return [{ kind: "body-limit", upstream: null, text, requires: [] }];
}

/** Values of headers may be secret. */
function headerText(
  where: "request" | "response",
  { set = [], add = [], remove = [] }: SpecOf<"request-headers"> | SpecOf<"response-headers">,
): string[] {
  const changes = [
    ...set.map(({ name }) => `sets ${name}`),
    ...add.map(({ name }) => `adds ${name}`),
    ...remove.map((name) => `removes ${name}`),
  ];
  return changes.length === 0 ? [] : [`headers of the ${where}: ${changes.join(", ")}`];
}

function hostParts({ parts }: SpecOf<"request-host">): string {
  return parts.map((part) => part.kind === "text" ? part.text : `$${part.kind}`).join("");
}

type AnyRedirect = SpecOf<"www-redirect" | "redirect" | "request-redirect">;

function isRedirect(filter: FilterSpec): filter is AnyRedirect {
  return filter.kind === "www-redirect" || filter.kind === "redirect" ||
    filter.kind === "request-redirect";
}

/** The redirect that replies to the request; null where none does. */
function firstRedirect(
  filters: readonly FilterSpec[],
  { url, path }: FilteredRequest,
): AnyRedirect | null {
  if (!path.ok) return null;
  const rank = ({ kind }: FilterSpec) => FILTER_ORDER.indexOf(kind);
  return filters.filter(isRedirect).sort((a, b) => rank(a) - rank(b)).find((filter) => {
    if (filter.kind !== "redirect" || filter.path === undefined) return true;
    const compared = filter.decoded === true ? decodedPath(url.rawPath) : path.path;
    return filter.path === compared;
  }) ?? null;
}

type FilteredRoute = Pick<Place, "filterSet" | "match">;

/** With the one that a route has by its path. */
function allFilters(snapshot: Snapshot, route: FilteredRoute): readonly FilterSpec[] {
  const slash = route.match === undefined ? null : slashRedirect(route.match.path);
  return [...(slash === null ? [] : [slash]), ...filtersOf(snapshot, route)];
}

/** What filters reply, whoever sends the request; null where it goes on. */
export function filterAnswer(
  snapshot: Snapshot,
  route: FilteredRoute,
  request: FilteredRequest,
): Answer | null {
  const filters = allFilters(snapshot, route);
  const redirect = firstRedirect(filters, request);
  if (redirect !== null) return redirectAnswer(redirect, request, route);
  const rewrite = filters.find((filter) => filter.kind === "rewrite");
  if (rewrite !== undefined) {
    const target = targetOf(rewrite, request);
    if (target !== null && "status" in target) return { kind: "error", ...target };
    if (target !== null && rewrite.redirects === true) {
      return { kind: "redirect", status: 302, location: target.path + target.query };
    }
  }
  const [reason] = filters.flatMap((filter) => missingUsers(snapshot, filter) ?? []);
  return reason === undefined ? null : { kind: "error", status: 503, reason };
}

/** Whether a redirect of the route comes before the one to HTTPS. */
export function redirectsFirst(
  snapshot: Snapshot,
  route: FilteredRoute,
  request: FilteredRequest,
): boolean {
  return firstRedirect(allFilters(snapshot, route), request) !== null;
}

function redirectAnswer(
  filter: AnyRedirect,
  { url, path }: FilteredRequest,
  { match }: FilteredRoute,
): Answer {
  const written = url.port === null ? "" : `:${url.port}`;
  const origin = (host: string) => `${url.scheme}://${host}${written}`;
  // Filters of routes that are compared with decoded paths see the path as the client has sent it.
  const requested = path.ok && match?.path.decoded !== true ? path.path : url.rawPath;
  switch (filter.kind) {
    case "redirect": {
      const location = locationOf(filter, origin(url.host), url.query);
      return { kind: "redirect", status: filter.status, location };
    }
    case "www-redirect": {
      const host = filter.to === "www" ? `www.${url.host}` : url.host.replace(/^www\./, "");
      const target = (requested + url.query).replace(/\/$/, "");
      return { kind: "redirect", status: 308, location: origin(host) + target };
    }
    case "request-redirect": {
      const location = redirectedUrl(filter, { host: url.host, path: requested, query: url.query });
      return { kind: "redirect", status: filter.status, location };
    }
  }
}

function requiredBy({ deny, allow, basic, external }: SpecOf<"access">): string[] {
  return [
    ...(deny === undefined ? [] : ["deny-list"]),
    ...(allow === undefined ? [] : ["allow-list"]),
    ...(basic === undefined ? [] : ["basic-auth"]),
    ...(external === undefined ? [] : ["external-auth"]),
  ];
}

function accessTexts(snapshot: Snapshot, filter: SpecOf<"access">): string[] {
  const { deny, allow, basic, external, satisfy } = filter;
  const missing = missingUsers(snapshot, filter);
  const lines = [
    ...(deny === undefined ? [] : [`rejects clients of ${deny.join(", ")} with 403`]),
    ...(allow === undefined ? [] : [`admits clients of ${allow.join(", ")}; others get 403`]),
    ...(missing === null ? [] : [`returns 503: ${missing}`]),
    ...(basic === undefined || missing !== null
      ? []
      : [`requires a user and password of ${basic.credentials}`]),
    ...(external === undefined ? [] : [externalText(external)]),
  ];
  return satisfy === "any" && missing === null && lines.length > 1
    ? [...lines, "one of these is enough (satisfy: any)"]
    : lines;
}

/** The subrequest that decides on the request. */
function externalText(
  { scheme, authority, target, method = "GET", upstream, ownHostsFirst }: NonNullable<
    SpecOf<"access">["external"]
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
function rewriteText(filter: SpecOf<"rewrite">, request: FilteredRequest): string[] {
  const target = targetOf(filter, request);
  if (target === null) return [];
  if ("status" in target) return [`returns ${target.status}: ${target.reason}`];
  const verb = filter.redirects === true ? "redirects with 302 to" : "with the path";
  return [`${verb} ${target.path}${target.query}`];
}

/** Null for a path that is refused. */
function targetOf(
  filter: SpecOf<"rewrite">,
  { url, path }: FilteredRequest,
): Target | { readonly status: number; readonly reason: string } | null {
  if (!path.ok) return null;
  try {
    return rewriting(filter)(filter.decoded ? url.rawPath : path.path, url.query);
  } catch (error) {
    const status = error instanceof ProxyError ? error.status : 500;
    return { status, reason: error instanceof Error ? error.message : String(error) };
  }
}
