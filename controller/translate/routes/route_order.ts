/**
 * The one order of routes, which is their precedence. In: two routes. Out: which comes first: the
 * more specific host, in it the longer path, Exact before Prefix; then by name, so that no two
 * routes with different matches are equal and the order never depends on that of the objects.
 */
import { compareHosts } from "../../../shared/host/host_order.ts";
import type { Route } from "../../../shared/snapshot/types.ts";
import { compareText } from "../../base/text_order.ts";

type Ordered = Pick<Route, "host" | "match">;

export function compareRoutes(a: Ordered, b: Ordered): number {
  return compareHosts(a.host, b.host) || comparePathLength(a, b) || comparePathType(a, b) ||
    compareText(a.match.path.value, b.match.path.value);
}

function comparePathLength(a: Ordered, b: Ordered): number {
  return b.match.path.value.length - a.match.path.value.length;
}

function comparePathType(a: Ordered, b: Ordered): number {
  return Number(a.match.path.type === "Prefix") - Number(b.match.path.type === "Prefix");
}
