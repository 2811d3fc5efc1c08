/**
 * The compiled router. In: a snapshot, and what a route's action means to the caller. Out: a table
 * that gives the meaning for a host and a canonical path.
 *
 * The most specific host that matches decides alone: a request that no path of it takes gets the
 * default action, never another host's route. A change replaces whole hosts, each by one reference.
 */
import type { Action, Route, Snapshot } from "../../shared/snapshot.ts";
import { HostIndex } from "./host.ts";
import { PathIndex } from "./path.ts";

export class RouteTable<T> {
  readonly #hosts = new HostIndex<PathIndex<T>>();
  #fallback: T | null = null;

  /**
   * Puts `routes` in place of those of `host`; none removes the host. `bind` is called once for
   * each. Of two routes with the same path the first wins.
   */
  replaceHost(host: string, routes: readonly Route[], bind: (route: Route) => T): void {
    if (routes.length === 0) {
      this.#hosts.delete(host);
      return;
    }
    const paths = new PathIndex<T>();
    for (const route of routes) paths.add(route.path, bind(route));
    this.#hosts.set(host, paths);
  }

  /** What a request gets that no route takes. */
  replaceFallback(fallback: T | null): void {
    this.#fallback = fallback;
  }

  /**
   * What the request gets, or null where no route takes it and there is no default action.
   * `host` is in lower case without port and last dot ("" for none), `path` canonical.
   */
  match(host: string, path: string): T | null {
    const paths = this.#hosts.find(host);
    if (paths === undefined) return this.#fallback;
    return paths.find(path) ?? this.#fallback;
  }
}

/**
 * Compiles a snapshot. `bind` is called once for each route, and once with null for the default
 * action if there is one; what it returns (never null) is what `match` gives. Of two routes with
 * the same host and path the first wins.
 */
export function compileTable<T extends NonNullable<unknown>>(
  snapshot: Snapshot,
  bind: (action: Action, route: Route | null) => T,
): RouteTable<T> {
  const table = new RouteTable<T>();
  for (const [host, routes] of Map.groupBy(snapshot.routes, (route) => route.host)) {
    table.replaceHost(host, routes, (route) => bind(route.action, route));
  }
  const { defaultAction } = snapshot;
  table.replaceFallback(defaultAction === null ? null : bind(defaultAction, null));
  return table;
}
