/**
 * The route of a host that is named, but of whose routes none could be kept. In: the host and where
 * it is named. Out: a route that answers 404 for all of it, or a broader host would take its
 * requests.
 */
import type { Origin, Route } from "./types.ts";

/** @param id of the route; by default that of `Prefix /`. */
export function emptyHostRoute(host: string, origin: Origin, id = `${host} Prefix /`): Route {
  const reason = "none of the host's paths could be kept";
  return {
    id,
    host,
    match: { path: { type: "Prefix", value: "/" } },
    action: { kind: "reply", status: 404, reason },
    origin,
  };
}
