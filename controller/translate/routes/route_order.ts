/**
 * The one order of routes, which is their precedence. In: two routes. Out: which comes first: the
 * more specific host, in it the longer path, Exact before Regex, Prefix and StringPrefix; then by
 * name, so that no two routes with different matches are equal and the order never depends on that of
 * the objects.
 */
import { compareHosts } from "../../../shared/host/host_order.ts";
import type { Route } from "../../../shared/snapshot/types.ts";
import { inBytes } from "../annotations/nginx/pcre_pattern.ts";
import { compareText } from "../../base/text_order.ts";

/** Of one length; as nginx, which has `/foo/` for the Prefix `/foo`. */
const RANKS = { Exact: 0, Regex: 1, Prefix: 2, StringPrefix: 3 } as const;

type Ordered = Pick<Route, "host" | "match">;

export function compareRoutes(a: Ordered, b: Ordered): number {
  return compareHosts(a.host, b.host) || comparePathLength(a, b) || comparePathType(a, b) ||
    compareRegexes(a, b) || compareText(a.match.path.value, b.match.path.value);
}

/**
 * Several may take a request: as ingress-nginx, which sorts them downwards. Two are written in one way
 * where one has what is below the other (`RegexPath.isBelow`), and comes first.
 */
function compareRegexes(a: Ordered, b: Ordered): number {
  if (a.match.path.type !== "Regex") return 0;
  return compareText(textOf(b), textOf(a)) || compareText(b.match.path.value, a.match.path.value);
}

/** As it was written, in bytes: what a regular expression was made into says nothing. */
function textOf({ match: { path: { type, value, written = value } } }: Ordered): string {
  return type === "Regex" ? inBytes(written) ?? written : written;
}

function comparePathLength(a: Ordered, b: Ordered): number {
  return textOf(b).length - textOf(a).length;
}

function comparePathType(a: Ordered, b: Ordered): number {
  return RANKS[a.match.path.type] - RANKS[b.match.path.type];
}

/**
 * Routes of the built-in listeners and of others, each list in its order, by host. Those of one host are on
 * different listeners, so their order among each other says nothing.
 */
export function mergeRoutes(builtIn: readonly Route[], others: readonly Route[]): readonly Route[] {
  return [...builtIn, ...others].sort((a, b) =>
    compareHosts(a.host, b.host) ||
    Number(a.listeners !== undefined) - Number(b.listeners !== undefined)
  );
}
