/**
 * What makes two routes the same match. In: a route, or its host and match. Out: a text that only
 * routes with the same host, conditions and listeners have; it is the id of most.
 */
import { nodeText } from "./node_writer.ts";
import { ROUTE_MATCH } from "./schema.ts";
import type { Route } from "./types.ts";

/** `<host> <path type> <path>`, and what else it must match as JSON. */
export function routeKey({ host, match, listeners }: Pick<Route, "host" | "match" | "listeners">) {
  const { path, method, headers, query } = match;
  const plain = `${host} ${path.type} ${path.value}`;
  const isPlain = method === undefined && headers === undefined && query === undefined;
  const conditions = isPlain ? "" : ` ${nodeText(ROUTE_MATCH, match)}`;
  return `${plain}${conditions}${listeners === undefined ? "" : ` ${JSON.stringify(listeners)}`}`;
}
