/**
 * Which of several matches takes a request. In: matches of rules of any routes of one host. Out: their order,
 * the first that a request has takes it.
 *
 * The API leaves the place of regular expressions to implementations: it is between exact paths and
 * prefixes, as whoever writes one means it more than the prefix around it; a longer one comes first.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#httprouterule
 */
import type { PathMatch, RouteMatch } from "../../../../shared/snapshot/types.ts";
import type { Identity } from "../../../base/identity.ts";
import { compareText } from "../../../base/text_order.ts";

/** A match, and where in which route it stands. */
export interface PlacedMatch {
  readonly match: RouteMatch;
  /** Of the route. */
  readonly identity: Identity;
  readonly ruleIndex: number;
  readonly matchIndex: number;
}

/** For `sort`: the match that takes a request comes first. No two of one route are equal. */
export function comparePrecedence(a: PlacedMatch, b: PlacedMatch): number {
  return comparePaths(a.match.path, b.match.path) ||
    Number(b.match.method !== undefined) - Number(a.match.method !== undefined) ||
    countOf(b.match.headers) - countOf(a.match.headers) ||
    countOf(b.match.query) - countOf(a.match.query) ||
    compareRoutes(a.identity, b.identity) ||
    a.ruleIndex - b.ruleIndex ||
    a.matchIndex - b.matchIndex;
}

const TYPES: readonly PathMatch["type"][] = ["Exact", "Regex", "StringPrefix", "Prefix"];

/** By type, then the longest value. Prefixes have no last slash here, so it never counts. */
function comparePaths(a: PathMatch, b: PathMatch): number {
  return TYPES.indexOf(a.type) - TYPES.indexOf(b.type) || b.value.length - a.value.length;
}

/**
 * The oldest first, then by `namespace/name` as one string, as the API specifies: `shop-eu/a` comes before
 * `shop/a`, since a hyphen sorts before a slash.
 */
function compareRoutes(a: Identity, b: Identity): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1;
  return compareText(a.key, b.key);
}

function countOf(conditions: readonly unknown[] | undefined): number {
  return conditions?.length ?? 0;
}
