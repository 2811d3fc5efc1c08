/**
 * The slow oracle for the compiled router. In: a snapshot and a request. Out: the route that wins, by
 * reading every route and the rules of the snapshot's schema word by word. Shares no code with
 * `proxy/router`.
 */
import { BUILT_IN_LISTENERS, isOfIngresses } from "../../shared/snapshot/listener_id.ts";
import type { Listener, Route, RouteMatch, Snapshot } from "../../shared/snapshot/types.ts";

export interface LinearRequest {
  /** Lower case, without port and last dot. */
  readonly host: string;
  /** Canonical. */
  readonly path: string;
  readonly method: string;
  /** In the order of the lines; names in any case. */
  readonly headers: readonly (readonly [string, string])[];
  /** With its `?`, or "". */
  readonly query: string;
  readonly listener: string;
}

/** The winning route, or null where the default action (or 404) answers. */
export function matchLinearly(snapshot: Snapshot, request: LinearRequest): Route | null {
  const listener = snapshot.listeners?.find(({ id }) => id === request.listener);
  const { hostname } = listener ?? {};
  if (hostname !== undefined && specificity(hostname, request.host, listener) === 0) return null;
  const routes = withAliases(snapshot)
    .filter(({ route: { listeners = ["http", "https"] } }) => listeners.includes(request.listener))
    .map(({ route, host }) => ({ route, rank: specificity(host, request.host, listener) }))
    .filter(({ rank }) => rank > 0);
  const most = Math.max(...routes.map(({ rank }) => rank));
  let best: typeof routes[number] | null = null;
  for (const entry of routes) {
    if (listener?.fallThrough !== true && entry.rank !== most) continue;
    if (best !== null && best.rank >= entry.rank) continue;
    if (takes(entry.route.match, request)) best = entry;
  }
  return best?.route ?? null;
}

/** With a copy of an Ingress's routes of a host for each alias that is the host of no route of an Ingress. */
function withAliases({ routes, hostSettings = [] }: Snapshot): readonly Matched[] {
  const ofIngresses = routes.filter(({ listeners }) => isOfIngresses(listeners));
  const own = new Set(ofIngresses.map(({ host }) => host));
  return [
    ...routes.map((route) => ({ route, host: route.host })),
    ...hostSettings.filter(({ id, aliasOf }) => aliasOf !== undefined && !own.has(id))
      .flatMap(({ id, aliasOf }) =>
        ofIngresses.filter(({ host }) => host === aliasOf).map((route) => ({
          route: {
            ...route,
            listeners: route.listeners?.filter((one) => BUILT_IN_LISTENERS.has(one)),
          },
          host: id,
        }))
      ),
  ];
}

/** A route by a pattern that it takes requests for. */
interface Matched {
  readonly route: Route;
  readonly host: string;
}

/**
 * Whether plain HTTP is redirected to HTTPS, given a certificate that names the host: as the winning
 * route says, else as the most specific pattern with a setting, else it is.
 */
export function redirectsLinearly(
  { hostSettings = [] }: Snapshot,
  { host }: LinearRequest,
  winner: Route | null,
): boolean {
  if (winner?.httpsRedirect !== undefined) return winner.httpsRedirect;
  let best = 0;
  let redirects = true;
  for (const { id, httpsRedirect } of hostSettings) {
    const rank = specificity(id, host);
    if (httpsRedirect === undefined || rank <= best) continue;
    best = rank;
    redirects = httpsRedirect;
  }
  return redirects;
}

/** The more labels the more; 0 for no match, 1 for any host. */
function specificity(pattern: string, host: string, listener?: Listener): number {
  if (pattern === host) return 1000;
  if (pattern === "*") return 1;
  if (!pattern.startsWith("*") || host.startsWith(".") || !host.endsWith(pattern.slice(1))) {
    return 0;
  }
  const wanted = pattern.split(".").length - 1;
  const more = host.split(".").length - wanted;
  return listener?.wildcards === "suffix" || more === 1 ? 1 + wanted : 0;
}

function takes({ path, method, headers = [], query = [] }: RouteMatch, request: LinearRequest) {
  return takesPath(path, request.path) &&
    (method === undefined || method === request.method) &&
    headers.every((condition) => {
      const values = request.headers
        .filter(([name]) => name.toLowerCase() === condition.name).map(([, value]) => value);
      return values.length > 0 && isValue(condition, values.join(","));
    }) &&
    query.every((condition) => {
      const pairs = request.query.replace("?", "").split("&").map((pair) => pair.split("="))
        .map(([name, ...rest]) => [name, rest.join("=")].map(decoded));
      const pair = pairs.find(([name]) => name === condition.name);
      return pair !== undefined && isValue(condition, pair[1]);
    });
}

function takesPath({ type, value }: RouteMatch["path"], path: string): boolean {
  switch (type) {
    case "Exact":
      return value === path;
    case "StringPrefix":
      return path.slice(0, value.length) === value;
    case "Regex":
      return isWhole(value, path);
    case "Prefix": {
      const segments = path.split("/");
      return value === "/" || value.split("/").every((segment, i) => segment === segments[i]);
    }
  }
}

function isValue({ type, value }: { readonly type: string; readonly value: string }, got: string) {
  return type === "Exact" ? value === got : isWhole(value, got);
}

function isWhole(pattern: string, text: string): boolean {
  return new RegExp(`^(?:${pattern})$`).test(text);
}

function decoded(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

/**
 * Routes in the order of the Ingress documentation: of the paths of a host the longest first, and
 * Exact before Prefix.
 */
export function inIngressOrder(routes: readonly Route[]): Route[] {
  return routes.toSorted((a, b) => Number(goesBefore(b, a)) - Number(goesBefore(a, b)));
}

function goesBefore(route: Route, other: Route): boolean {
  const [path, otherPath] = [route.match.path, other.match.path];
  if (path.value.length !== otherPath.value.length) {
    return path.value.length > otherPath.value.length;
  }
  return path.type === "Exact" && otherPath.type !== "Exact";
}
