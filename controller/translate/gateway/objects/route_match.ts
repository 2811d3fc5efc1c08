/**
 * Matches of an HTTPRoute. In: an element of `matches` of unknown shape. Out: the match of a route, as
 * snapshots have it, or why requests for it get 500.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#httproutematch
 */
import { readRoutePath } from "../../../../shared/snapshot/route_path.ts";
import type { PathMatch, RouteMatch } from "../../../../shared/snapshot/types.ts";
import { asList, asText, fieldOf, isAbsent, quote } from "../../../base/json.ts";
import { compareText } from "../../../base/text_order.ts";
import { patternFault } from "./pattern.ts";

export type MatchReading =
  | { readonly ok: true; readonly match: RouteMatch }
  /** A clause that begins with the field: `path.value "…" has a back reference`. */
  | { readonly ok: false; readonly reason: string };

type ValueMatch = NonNullable<RouteMatch["headers"]>[number];

/** All paths. */
export const ALL_PATHS: PathMatch = { type: "Prefix", value: "/" };

export function readMatch(value: unknown): MatchReading {
  const path = readPathMatch(fieldOf(value, "path"));
  if (typeof path === "string") return { ok: false, reason: path };
  const method = fieldOf(value, "method");
  if (!isAbsent(method) && asText(method) === null) {
    return { ok: false, reason: "method is no text" };
  }
  const headers = readValues(fieldOf(value, "headers"), "headers", (name) => name.toLowerCase());
  if (typeof headers === "string") return { ok: false, reason: headers };
  const query = readValues(fieldOf(value, "queryParams"), "queryParams", (name) => name);
  if (typeof query === "string") return { ok: false, reason: query };
  return {
    ok: true,
    match: {
      path,
      ...(isAbsent(method) ? {} : { method: String(method) }),
      ...(headers.length === 0 ? {} : { headers }),
      ...(query.length === 0 ? {} : { query }),
    },
  };
}

function readPathMatch(value: unknown): PathMatch | string {
  if (isAbsent(value)) return ALL_PATHS;
  const type = fieldOf(value, "type") ?? "PathPrefix";
  const written = fieldOf(value, "value") ?? "/";
  if (typeof written !== "string") return "path.value is no text";
  if (type === "RegularExpression") {
    const fault = patternFault(written);
    return fault === null
      ? { type: "Regex", value: written }
      : `path.value ${quote(written)} ${fault}`;
  }
  if (type !== "Exact" && type !== "PathPrefix") return `path.type ${quote(type)} is not supported`;
  const path = readRoutePath(type === "Exact" ? "Exact" : "Prefix", written);
  return path.ok ? path.match : `path.value ${quote(written)} ${path.reason}`;
}

/** Sorted by name; of several with one name the first counts, as the API wants it. */
function readValues(
  value: unknown,
  field: string,
  normal: (name: string) => string,
): ValueMatch[] | string {
  const byName = new Map<string, ValueMatch>();
  for (const each of asList(value) ?? []) {
    const name = asText(fieldOf(each, "name"));
    const wanted = fieldOf(each, "value");
    const type = fieldOf(each, "type") ?? "Exact";
    if (name === null || typeof wanted !== "string") return `${field} has no name and value`;
    if (type !== "Exact" && type !== "RegularExpression") {
      return `${field} of type ${quote(type)} are not supported`;
    }
    const fault = type === "Exact" ? null : patternFault(wanted);
    if (fault !== null) return `${field} ${quote(wanted)} ${fault}`;
    if (byName.has(normal(name))) continue;
    byName.set(normal(name), {
      name: normal(name),
      type: type === "Exact" ? "Exact" : "Regex",
      value: wanted,
    });
  }
  return [...byName.values()].sort((a, b) => compareText(a.name, b.name));
}
