/**
 * The one order of routes, which is their precedence. In: two routes. Out: which comes first: the
 * more specific host, in it the longer path, Exact before Prefix; then by name, so that no two
 * routes with different matches are equal and the order never depends on that of the objects.
 */
import type { Route } from "../../shared/snapshot.ts";
import { ANY_HOST } from "./host.ts";
import { compareText } from "./text_order.ts";

type Ordered = Pick<Route, "host" | "path">;

export function compareRoutes(a: Ordered, b: Ordered): number {
  return compareHosts(a.host, b.host) || comparePathLength(a, b) || comparePathType(a, b) ||
    compareText(a.path.value, b.path.value);
}

/** Routes of one host stand together. */
export function compareHosts(a: string, b: string): number {
  return hostRank(a) - hostRank(b) || compareText(a, b);
}

function comparePathLength(a: Ordered, b: Ordered): number {
  return b.path.value.length - a.path.value.length;
}

function comparePathType(a: Ordered, b: Ordered): number {
  return Number(a.path.type === "Prefix") - Number(b.path.type === "Prefix");
}

/** Exact hosts, then wildcards, then any host. */
function hostRank(host: string): number {
  if (host === ANY_HOST) return 2;
  return host.startsWith("*.") ? 1 : 0;
}
