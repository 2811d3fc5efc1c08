/**
 * The slow oracle for the compiled router. In: a snapshot, a host, a canonical path. Out: the
 * route that wins, by reading every route and the rules of the Ingress documentation word by word.
 * Shares no code with `proxy/router`.
 */
import type { Route, Snapshot } from "../../shared/snapshot/types.ts";

/** The winning route, or null where the default action (or 404) answers. */
export function matchLinearly(snapshot: Snapshot, host: string, path: string): Route | null {
  const mostSpecific = Math.max(...snapshot.routes.map((route) => specificity(route.host, host)));
  if (mostSpecific <= 0) return null;
  const segments = path.split("/");
  let best: Route | null = null;
  for (const route of snapshot.routes) {
    if (specificity(route.host, host) !== mostSpecific) continue;
    if (!takes(route, path, segments)) continue;
    if (best === null || goesBefore(route, best)) best = route;
  }
  return best;
}

/** 3 for the host itself, 2 for a wildcard in place of one label, 1 for any host, 0 for no match. */
function specificity(pattern: string, host: string): number {
  if (pattern === host) return 3;
  if (pattern === "*") return 1;
  if (!pattern.startsWith("*")) return 0;
  const [, ...wanted] = pattern.split(".");
  const [first, ...rest] = host.split(".");
  return first !== "" && wanted.join(".") === rest.join(".") ? 2 : 0;
}

function takes(route: Route, path: string, segments: readonly string[]): boolean {
  if (route.match.path.type === "Exact") return route.match.path.value === path;
  if (route.match.path.value === "/") return true;
  return route.match.path.value.split("/").every((segment, i) => segment === segments[i]);
}

function goesBefore(route: Route, other: Route): boolean {
  if (route.match.path.type !== other.match.path.type) return route.match.path.type === "Exact";
  return route.match.path.value.split("/").length > other.match.path.value.split("/").length ||
    (other.match.path.value === "/" && route.match.path.value !== "/");
}
