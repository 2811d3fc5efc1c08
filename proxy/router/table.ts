/**
 * The compiled router. In: a snapshot, and what a route is bound to by the caller. Out: a table that
 * gives that for a host and a canonical path.
 *
 * The most specific host that matches decides alone: a request that no path of it takes gets the
 * default action, never another host's route. A change replaces whole hosts, each within one call, so
 * that no request sees half of it.
 */
import type { Action, PathMatch, Route, Snapshot } from "../../shared/snapshot/types.ts";
import { Bindings } from "./bindings.ts";
import { HostIndex, NO_HOST } from "./host.ts";
import { Interned } from "./interned.ts";
import { NONE, PathTrees } from "./path.ts";

/** No route takes the request, and there is no default action. */
export const NO_ROUTE = -1;

/** What a route is bound to. */
export interface Binding<T> {
  /** What its requests get; best the same object for all routes that do the same. */
  readonly target: T;
  /** The number of the counters that count them, 32 bits. */
  readonly counters: number;
}

/** Of the default action. */
const ANY_PATH: PathMatch = { type: "Prefix", value: "/" };

export class RouteTable<T> {
  /**
   * Each host's number is where its list of bindings begins. Beside it is the number of its tree,
   * which stands in the list too, but that memory would have to be waited for.
   */
  readonly #index = new HostIndex();
  readonly #trees = new PathTrees();
  readonly #targets = new Interned<T>();
  readonly #bindings = new Bindings();
  /** Where the list of the default action begins. */
  #fallback = NO_HOST;

  /**
   * Puts `routes` in place of those of `host`; none removes the host. `bind` is called once for
   * each. Of two routes with the same path the first wins.
   */
  replaceHost(host: string, routes: readonly Route[], bind: (route: Route) => Binding<T>): void {
    const before = this.#index.get(host);
    if (routes.length === 0) {
      if (before === NO_HOST) return;
      this.#index.delete(host);
      this.#remove(before);
      return;
    }
    const after = this.#put(
      routes.map(({ match }) => match.path),
      routes.map((route) => bind(route)),
    );
    this.#index.set(host, after, this.#bindings.tree(after));
    // Only now: mostly the tree and the targets are the same.
    if (before !== NO_HOST) this.#remove(before);
  }

  /** What a request gets that no route takes. */
  replaceFallback(fallback: Binding<T> | null): void {
    const before = this.#fallback;
    this.#fallback = fallback === null ? NO_HOST : this.#put([ANY_PATH], [fallback]);
    if (before !== NO_HOST) this.#remove(before);
  }

  /**
   * The place of what the request is bound to, until the table's next change, or `NO_ROUTE`.
   * `host` is in lower case without port and last dot ("" for none), `path` canonical.
   */
  find(host: string, path: string): number {
    const start = this.#index.find(host);
    if (start !== NO_HOST) {
      const number = this.#trees.tree(this.#index.beside).find(path);
      if (number !== NONE) return this.#bindings.place(start, number);
    }
    return this.#fallback === NO_HOST ? NO_ROUTE : this.#bindings.place(this.#fallback, 0);
  }

  /** The target of what it finds, or null. */
  match(host: string, path: string): T | null {
    const place = this.find(host, path);
    return place === NO_ROUTE ? null : this.target(place);
  }

  /** Of a place, as is the next one; see `Binding`. */
  target(place: number): T {
    return this.#targets.get(this.#bindings.target(place));
  }

  counters(place: number): number {
    return this.#bindings.counters(place);
  }

  /** Where the list begins. */
  #put(paths: readonly PathMatch[], bindings: readonly Binding<T>[]): number {
    const numbered = bindings.map(({ target, counters }) => {
      return { target: this.#targets.take(target), counters };
    });
    return this.#bindings.put(this.#trees.take(paths), numbered);
  }

  #remove(start: number): void {
    const bindings = this.#bindings;
    for (let i = 0; i < bindings.length(start); i++) {
      this.#targets.release(bindings.target(bindings.place(start, i)));
    }
    this.#trees.release(bindings.tree(start));
    bindings.remove(start);
  }
}

/**
 * Compiles a snapshot, where nobody counts. `bind` is called once for each route, and once with null
 * for the default action if there is one; what it returns is the target. Of two routes with the same
 * host and path the first wins.
 */
export function compileTable<T>(
  snapshot: Snapshot,
  bind: (action: Action, route: Route | null) => T,
): RouteTable<T> {
  const table = new RouteTable<T>();
  const bound = (action: Action, route: Route | null) => {
    return { target: bind(action, route), counters: 0 };
  };
  for (const [host, routes] of Map.groupBy(snapshot.routes, (route) => route.host)) {
    table.replaceHost(host, routes, (route) => bound(route.action, route));
  }
  const { defaultAction } = snapshot;
  table.replaceFallback(defaultAction === null ? null : bound(defaultAction, null));
  return table;
}
