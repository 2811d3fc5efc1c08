/**
 * Matches of an HTTPRoute. In: an element of `matches` of unknown shape. Out: the match of a route, as
 * snapshots have it, and why requests for it get 500 where they do.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#httproutematch
 */
import { literalStart } from "../../../../shared/path/literal_start.ts";
import { MAX_PATTERN } from "../../../../shared/path/pattern_size.ts";
import { readRoutePath } from "../../../../shared/snapshot/route_path.ts";
import type { PathMatch, RouteMatch } from "../../../../shared/snapshot/types.ts";
import { asList, asText, fieldOf, isAbsent, quote, unknownField } from "../../../base/json.ts";
import { compareText } from "../../../base/text_order.ts";
import { patternFault } from "./pattern.ts";

export interface MatchReading {
  /** As far as it can be read: it takes at least the requests that are meant. */
  readonly match: RouteMatch;
  /** With what is refused: that decides too which of several matches takes a request first. */
  readonly written: RouteMatch;
  /**
   * Why requests for it get 500, a clause that begins with the field: `path.value "…" has a back
   * reference`. Null where they do not; then both matches are the same object.
   */
  readonly fault: string | null;
}

type ValueMatch = NonNullable<RouteMatch["headers"]>[number];

const MATCH_FIELDS: ReadonlySet<string> = new Set(["path", "method", "headers", "queryParams"]);
const PATH_FIELDS: ReadonlySet<string> = new Set(["type", "value"]);
const VALUE_FIELDS: ReadonlySet<string> = new Set(["type", "name", "value"]);

/** All paths. */
const ALL_PATHS: PathMatch = { type: "Prefix", value: "/" };

export function readMatch(value: unknown): MatchReading {
  const path = readPathMatch(fieldOf(value, "path"));
  const method = fieldOf(value, "method");
  const isMethod = isAbsent(method) || asText(method) !== null;
  const headers = readValues(fieldOf(value, "headers"), "headers", (name) => name.toLowerCase());
  const query = readValues(fieldOf(value, "queryParams"), "queryParams", (name) => name);
  const fault = path.fault ?? (isMethod ? null : "method is no text") ?? headers.fault ??
    query.fault ?? fieldFault(value, "", MATCH_FIELDS);
  const ofMethod = isAbsent(method) ? {} : { method: String(method) };
  const match = {
    path: path.match,
    ...(isMethod ? ofMethod : {}),
    ...conditions(headers.matches, query.matches),
  };
  if (fault === null) return { match, written: match, fault };
  const written = {
    path: path.written,
    ...ofMethod,
    ...conditions(headers.written, query.written),
  };
  return { match, written, fault };
}

function conditions(headers: readonly ValueMatch[], query: readonly ValueMatch[]) {
  return {
    ...(headers.length === 0 ? {} : { headers }),
    ...(query.length === 0 ? {} : { query }),
  };
}

/** @param at Where the value stands in the match, with a full stop at the end. */
function fieldFault(value: unknown, at: string, known: ReadonlySet<string>): string | null {
  const unknown = unknownField(value, known);
  return unknown === null ? null : `${at}${unknown} is not supported`;
}

interface PathReading {
  readonly match: PathMatch;
  readonly written: PathMatch;
  readonly fault: string | null;
}

function readPathMatch(value: unknown): PathReading {
  if (isAbsent(value)) return { match: ALL_PATHS, written: ALL_PATHS, fault: null };
  const type = fieldOf(value, "type") ?? "PathPrefix";
  const text = fieldOf(value, "value") ?? "/";
  if (typeof text !== "string") return refusedPath("", "path.value is no text");
  if (type === "RegularExpression") {
    const fault = patternFault(text);
    if (fault !== null) return refusedPath(text, `path.value ${quote(text)} ${fault}`);
    const match: PathMatch = { type: "Regex", value: text };
    return { match, written: match, fault: fieldFault(value, "path.", PATH_FIELDS) };
  }
  if (type !== "Exact" && type !== "PathPrefix") {
    return refusedPath("", `path.type ${quote(type)} is not supported`);
  }
  const path = readRoutePath(type === "Exact" ? "Exact" : "Prefix", text);
  return path.ok
    ? {
      match: path.match,
      written: path.match,
      fault: fieldFault(value, "path.", PATH_FIELDS),
    }
    // No request has such a path.
    : { match: ALL_PATHS, written: ALL_PATHS, fault: `path.value ${quote(text)} ${path.reason}` };
}

/** Of the start of a refused expression that its routes have; the rest takes all paths. */
const MAX_START = MAX_PATTERN / 2;

/** @param pattern takes no more paths than those that begin like it. */
function refusedPath(pattern: string, fault: string): PathReading {
  const start = literalStart(pattern).slice(0, MAX_START);
  return {
    match: { type: "Regex", value: `${start}.*` },
    written: { type: "Regex", value: pattern },
    fault,
  };
}

interface ValueReadings {
  /** Both sorted by name. */
  readonly matches: readonly ValueMatch[];
  readonly written: readonly ValueMatch[];
  readonly fault: string | null;
}

/** Of several with one name the first counts, as the API wants it. */
function readValues(
  value: unknown,
  field: string,
  normal: (name: string) => string,
): ValueReadings {
  const written = new Map<string, ValueMatch>();
  const refused = new Set<string>();
  let fault: string | null = null;
  for (const each of asList(value) ?? []) {
    const name = asText(fieldOf(each, "name"));
    const wanted = fieldOf(each, "value");
    const type = fieldOf(each, "type") ?? "Exact";
    if (name === null || typeof wanted !== "string") {
      fault ??= `${field} has no name and value`;
      continue;
    }
    const key = normal(name);
    const unknown = unknownField(each, VALUE_FIELDS);
    const wrong = unknown === null ? valueFault(type, wanted) : `with ${unknown} are not supported`;
    if (wrong !== null) fault ??= `${field} ${wrong}`;
    if (written.has(key)) continue;
    if (wrong !== null) refused.add(key);
    written.set(key, { name: key, type: type === "Exact" ? "Exact" : "Regex", value: wanted });
  }
  const sorted = [...written.values()].sort((a, b) => compareText(a.name, b.name));
  return { matches: sorted.filter(({ name }) => !refused.has(name)), written: sorted, fault };
}

function valueFault(type: unknown, wanted: string): string | null {
  if (type === "Exact") return null;
  if (type !== "RegularExpression") return `of type ${quote(type)} are not supported`;
  const fault = patternFault(wanted);
  return fault === null ? null : `${quote(wanted)} ${fault}`;
}
