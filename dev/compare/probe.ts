/**
 * Requests that show what a snapshot does. In: a route. Out: requests that it takes by itself: of its host, its
 * path and a longer one, with the method, headers and parameters that it wants. Pure.
 */
import { compilePattern } from "../../proxy/router/patterns/pattern.ts";
import { PatternWork } from "../../proxy/router/patterns/work.ts";
import { literalStart } from "../../shared/path/literal_start.ts";
import { sharedSocketOf } from "../../shared/snapshot/listener_id.ts";
import type { PathMatch, Route } from "../../shared/snapshot/types.ts";

export interface Probe {
  /** Id of a listener; `http` or `https` for one that shares the port of Ingresses. */
  readonly listener: string;
  readonly host: string;
  /** Canonical. */
  readonly path: string;
  readonly method: string;
  /** With its `?`, or "". */
  readonly query: string;
  /** Names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** In place of a star, and behind a prefix: nothing that somebody has written. */
const ANY = "pingress-diff";

/** None for a route whose regular expressions do not show what they match. */
export function probesOf(
  { host, match, listeners = ["http"] }: Pick<Route, "host" | "match" | "listeners">,
): Probe[] {
  const { method = "GET", headers = [], query = [] } = match;
  if ([...headers, ...query].some(({ type }) => type === "Regex")) return [];
  const parameters = query.map(({ name, value }) =>
    `${encodeURIComponent(name)}=${encodeURIComponent(value)}`
  );
  // Requests for listeners that share a port with Ingresses come to that port.
  const sockets = new Set(listeners.map((id) => sharedSocketOf(id) ?? id));
  return [...sockets].flatMap((listener) =>
    pathsOf(match.path).map((path) => ({
      listener,
      host: host === "*" ? `${ANY}.invalid` : host.replace("*", ANY),
      path,
      method,
      query: parameters.length === 0 ? "" : `?${parameters.join("&")}`,
      headers: headers.map(({ name, value }) => [name, value] as const),
    }))
  );
}

/** Requests for a host and paths that no route names. */
export const REST_PROBES: readonly Probe[] = probesOf({
  host: "*",
  match: { path: { type: "Prefix", value: "/" } },
});

function pathsOf({ type, value }: PathMatch): string[] {
  switch (type) {
    case "Exact":
      return [value];
    case "Prefix":
      return [value, `${value === "/" ? "" : value}/${ANY}`];
    case "StringPrefix":
      return [value, value + ANY];
    case "Regex": {
      const start = literalStart(value);
      const compiled = compilePattern(value);
      return compiled.ok && start.startsWith("/") && compiled.matches(start, new PatternWork())
        ? [start]
        : [];
    }
  }
}
