/**
 * The compiled router. In: a snapshot, and what a route's action means to the caller. Out: a table
 * that gives the meaning for a host and a canonical path.
 *
 * The most specific host that matches decides alone: a request that no path of it takes gets the
 * default action, never another host's route. A table never changes; a new snapshot is a new one.
 */
import type { Action, Route, Snapshot } from "../../shared/snapshot.ts";
import { HostIndex } from "./host.ts";
import { PathIndex } from "./path.ts";

export class RouteTable<T> {
  #hosts: HostIndex<PathIndex<T>>;
  #fallback: T | null;

  /** Takes the indices as they are; see `compileTable`. */
  constructor(hosts: HostIndex<PathIndex<T>>, fallback: T | null) {
    this.#hosts = hosts;
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
  const hosts = new HostIndex<PathIndex<T>>();
  for (const route of snapshot.routes) {
    let paths = hosts.get(route.host);
    if (paths === undefined) {
      paths = new PathIndex();
      hosts.set(route.host, paths);
    }
    paths.add(route.path, bind(route.action, route));
  }
  const { defaultAction } = snapshot;
  return new RouteTable(hosts, defaultAction === null ? null : bind(defaultAction, null));
}
