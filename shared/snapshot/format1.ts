/**
 * Snapshots of format 1, which this version writes no more. In: the JSON of one. Out: the same as
 * format 2 has it, not yet checked. A controller reads what the version before has published, and a
 * proxy that starts first has something to start with; both for one release.
 *
 * Format 1 has `path` in place of `match.path`, one `upstream` in place of `backends`, and "answer"
 * for "reply". What cannot be converted stays as it is, for the schema to refuse.
 */
import { isObject, type JsonObject } from "./config_check.ts";
import type { Route } from "./types.ts";

/** A shallow copy wherever something differs. */
export function fromFormat1(root: JsonObject): JsonObject {
  const { routes, defaultAction } = root;
  return {
    ...root,
    format: 2,
    ...(Array.isArray(routes) ? { routes: routes.map(routeOf) } : {}),
    ...(isObject(defaultAction) ? { defaultAction: actionOf(defaultAction) } : {}),
  };
}

/**
 * Routes in the order of format 2, where the first route of a host that matches wins: the longest
 * path first, Exact before Prefix. In format 1 the order did not matter, so a file that somebody has
 * written may have another one.
 */
export function byPathOfHost(routes: readonly Route[]): Route[] {
  const hosts = Map.groupBy(routes, ({ host }) => host);
  return [...hosts.values()].flatMap((group) => group.sort(comparePaths));
}

function comparePaths({ match: { path: a } }: Route, { match: { path: b } }: Route): number {
  return b.value.length - a.value.length ||
    Number(a.type === "Prefix") - Number(b.type === "Prefix");
}

/** Unknown fields had no effect in format 1, so they have none now. */
function routeOf(route: unknown): unknown {
  if (!isObject(route)) return route;
  const { id, host, path, action, origin } = route;
  const match = isObject(path) ? { path: { type: path.type, value: path.value } } : { path };
  return {
    ...(id === undefined ? {} : { id }),
    host,
    match,
    action: isObject(action) ? actionOf(action) : action,
    ...(origin === undefined ? {} : { origin }),
  };
}

function actionOf({ kind, upstream, status, reason, closed }: JsonObject): unknown {
  if (kind === "forward") return { kind, backends: [{ upstream }] };
  if (kind !== "answer") return { kind };
  return { kind: "reply", status, reason, ...(closed === true ? { closed } : {}) };
}
