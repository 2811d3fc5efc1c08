/**
 * What a route wants of a request besides its host and path. In: a match of a snapshot. Out: whether
 * a request has it, and why not for a match that nothing can be compiled from.
 *
 * A pattern that does not compile holds for every value: its route, which responds with 500, then
 * keeps its requests, which else would fall to a broader route.
 */
import type { RouteMatch } from "../../shared/snapshot/types.ts";
import type { Matches, PatternCompiler } from "./patterns/pattern.ts";
import type { RequestView } from "./request_view.ts";

type ValueMatch = NonNullable<RouteMatch["headers"]>[number];

interface Condition {
  readonly name: string;
  /** What the value must be; null where a pattern says. */
  readonly exact: string | null;
  /** Null for an exact value, or one that does not compile. */
  readonly matches: Matches | null;
}

const NONE: readonly Condition[] = [];

export class Conditions {
  readonly #method: string | null;
  readonly #headers: readonly Condition[];
  readonly #parameters: readonly Condition[];

  constructor({ method, headers, query }: RouteMatch, compile: PatternCompiler) {
    this.#method = method ?? null;
    this.#headers = headers?.map((one) => condition(one, compile)) ?? NONE;
    this.#parameters = query?.map((one) => condition(one, compile)) ?? NONE;
  }

  /** False where the work of the request is exceeded, too. */
  hold(request: RequestView): boolean {
    if (this.#method !== null && request.method !== this.#method) return false;
    for (const one of this.#headers) {
      if (!holds(one, request.header(one.name), request)) return false;
    }
    for (const one of this.#parameters) {
      if (!holds(one, request.parameter(one.name), request)) return false;
    }
    return true;
  }
}

/** Whether a match wants nothing besides the path. */
export function isUnconditional({ method, headers, query }: RouteMatch): boolean {
  return method === undefined && headers === undefined && query === undefined;
}

/** Why a match cannot be compiled; null for one that can. */
export function brokenMatch(match: RouteMatch, compile: PatternCompiler): string | null {
  const { path, headers = [], query = [] } = match;
  for (const { type, value } of [path, ...headers, ...query]) {
    if (type !== "Regex") continue;
    const compiled = compile(value);
    if (!compiled.ok) return compiled.reason;
  }
  return null;
}

function condition({ name, type, value }: ValueMatch, compile: PatternCompiler): Condition {
  if (type === "Exact") return { name, exact: value, matches: null };
  const compiled = compile(value);
  return { name, exact: null, matches: compiled.ok ? compiled.matches : null };
}

function holds(
  { exact, matches }: Condition,
  value: string | null,
  { work }: RequestView,
): boolean {
  if (value === null) return false;
  if (exact !== null) return value === exact;
  return matches === null || matches(value, work);
}
