/**
 * The compiled router. In: a snapshot, and what a route is bound to by the caller. Out: a table that
 * gives that for a request on a listener: of the most specific host that has routes there, the first
 * route in the snapshot's order that takes the request.
 *
 * That host decides alone, unless the listener says otherwise: a request that none of its routes
 * takes gets the default action, never another host's route. A change replaces whole hosts, each
 * within one call, so that no request sees half of it.
 */
import { BUILT_IN_LISTENERS } from "../../shared/snapshot/listener_id.ts";
import type {
  Action,
  HostSettings,
  Route,
  RouteMatch,
  Snapshot,
} from "../../shared/snapshot/types.ts";
import { Aliases } from "./aliases.ts";
import { Bindings, type NumberedBinding } from "./bindings.ts";
import { ANY, NO_HOST } from "./host.ts";
import { NONE } from "./candidates.ts";
import { isGuarded } from "./guarded_route.ts";
import { HttpsRedirects } from "./https_redirects.ts";
import { Interned } from "./interned.ts";
import {
  type HostEntry,
  type HostRules,
  indexNameOf,
  isBuiltIn,
  type ListenerHosts,
  ListenerIndex,
} from "./listener_hosts.ts";
import { PathTrees, REFUSED, type TreeMatch } from "./path.ts";
import { compilePattern, type PatternCompiler } from "./patterns/pattern.ts";
import { type MatchedRequest, PLAIN_REQUEST, RequestView } from "./request_view.ts";

/** No route takes the request, and there is no default action. */
export const NO_ROUTE = -1;

/** The request gets 400: which of the host's routes its path is meant for cannot be told. */
export const BAD_PATH = -2;

/** The request gets 414: it is too long for the regular expressions of its host. */
export const TOO_MUCH_WORK = -3;

/** What a route is bound to. */
export interface Binding<T> {
  /** What its requests get; best the same object for all routes that do the same. */
  readonly target: T;
  /** The number of the counters that count them, 32 bits. */
  readonly counters: number;
  /** As `isGuarded` has it; missing is false. */
  readonly isGuarded?: boolean;
}

/** Of the default action. */
const ANY_PATH: RouteMatch = { path: { type: "Prefix", value: "/" } };

const NO_ENTRIES: readonly HostEntry[] = [];

/** A host's routes on a listener, as `HostEntry` names it, by their numbers. */
interface ListenerRoutes {
  readonly listener: string | null;
  readonly numbers: readonly number[];
}

export class RouteTable<T> {
  /**
   * Each host's number is where its list of bindings begins. Beside it is the number of its tree,
   * which stands in the list too, but that memory would have to be waited for.
   */
  readonly #hosts = new ListenerIndex();
  readonly #trees: PathTrees;
  readonly #targets = new Interned<T>();
  readonly #bindings = new Bindings();
  readonly #redirects = new HttpsRedirects();
  readonly #aliases = new Aliases();
  /** Aliases that stand for a host now: where the lists begin that they have of it. */
  readonly #standing = new Map<string, ReadonlySet<number>>();
  /** Where the list of the default action begins. */
  #fallback = NO_HOST;

  constructor(compile: PatternCompiler = compilePattern) {
    this.#trees = new PathTrees(compile);
  }

  /** How hosts are matched on listeners; those that are not named as Ingress has it. */
  replaceListeners(listeners: readonly (HostRules & { readonly id: string })[]): void {
    this.#hosts.setListeners(listeners);
  }

  /** Settings of hosts that are new or others now, and patterns without settings from now on. */
  updateHostSettings(changed: readonly HostSettings[], removed: readonly string[]): void {
    this.#redirects.update(changed, removed);
    for (const alias of this.#aliases.update(changed, removed)) {
      this.#place(alias, this.#ownEntries(alias));
    }
  }

  /**
   * Whether plain HTTP to `host` is redirected to HTTPS where the route says nothing, or none
   * matches, as far as the snapshot's settings decide it; see `HostSettings.httpsRedirect`.
   */
  redirectsToHttps(host: string): boolean {
    return this.#redirects.find(host) ?? true;
  }

  /**
   * Puts `routes` in place of those of `host`; none removes the host. `bind` is called once for
   * each. Of two routes that take a request the first wins.
   */
  replaceHost(host: string, routes: readonly Route[], bind: (route: Route) => Binding<T>): void {
    const bindings = routes.map(bind);
    const matches = routes.map(({ match }, i) =>
      bindings[i].isGuarded === true ? { ...match, isGuarded: true } : match
    );
    const entries: HostEntry[] = [];
    const add = (listener: string | null, start: number) => {
      entries.push({ listener, start, tree: this.#bindings.tree(start) });
    };
    if (routes.length > 0 && routes.every(({ listeners }) => listeners === undefined)) {
      add(null, this.#put(matches, bindings));
    } else {
      for (const { listener, numbers } of byListener(routes)) {
        const some = numbers.map((number) => matches[number]);
        add(listener, this.#put(some, numbers.map((number) => bindings[number])));
      }
    }
    // Removed only now: mostly the tree and the targets are the same.
    for (const start of this.#place(host, entries)) this.#remove(start);
    for (const alias of this.#aliases.of(host)) this.#place(alias, this.#ownEntries(alias));
  }

  /**
   * Puts its own lists in place of those of a host, and beside them those of the host that it is an alias of.
   * Where the lists begin that it had of its own.
   */
  #place(host: string, own: readonly HostEntry[]): number[] {
    const ofHost = this.#entriesFor(host, own);
    const borrowed = this.#standing.get(host);
    const before = this.#hosts.replace(host, [...own, ...ofHost]);
    if (ofHost.length === 0) this.#standing.delete(host);
    else this.#standing.set(host, new Set(ofHost.map(({ start }) => start)));
    return before.filter((start) => borrowed === undefined || !borrowed.has(start));
  }

  /**
   * Of the host that an alias stands for, on the listeners of Ingresses: none where it has routes of its own
   * there. What Gateways have is neither reached by an alias nor takes it away.
   */
  #entriesFor(alias: string, own: readonly HostEntry[]): readonly HostEntry[] {
    if (own.some(isOnOwnPorts)) return NO_ENTRIES;
    // An alias of an alias stands for nothing.
    const host = this.#aliases.hostOf(alias);
    return host === null ? NO_ENTRIES : this.#ownEntries(host).filter(isOnOwnPorts);
  }

  /** Without those of a host that it is an alias of. */
  #ownEntries(host: string): HostEntry[] {
    const borrowed = this.#standing.get(host);
    return this.#hosts.entriesOf(host)
      .filter(({ start }) => borrowed === undefined || !borrowed.has(start))
      .map(({ listener, start }) => ({ listener, start, tree: this.#bindings.tree(start) }));
  }

  /** What a request to a built-in listener gets that no route takes. */
  replaceFallback(fallback: Binding<T> | null): void {
    const before = this.#fallback;
    this.#fallback = fallback === null ? NO_HOST : this.#put([ANY_PATH], [fallback]);
    if (before !== NO_HOST) this.#remove(before);
  }

  /**
   * The place of what the request is bound to, until the table's next change; below 0 it is `NO_ROUTE`,
   * `BAD_PATH` or `TOO_MUCH_WORK`.
   * `host` is in lower case without port and last dot ("" for none), `path` canonical.
   */
  find(
    host: string,
    path: string,
    request: MatchedRequest = PLAIN_REQUEST,
    listener = "http",
  ): number {
    if (!isBuiltIn(listener)) {
      return this.#findOn(this.#hosts.on(listener), host, path, request);
    }
    if (this.#hosts.isPlain) {
      const { common } = this.#hosts;
      const start = common.find(host);
      if (start !== NO_HOST) {
        const number = this.#trees.tree(common.beside).find(path, request);
        if (number >= 0) return this.#bindings.place(start, number);
        if (number < NONE) return refusal(number);
      }
    } else {
      const hosts = this.#hosts.deciding(listener, host);
      const place = this.#findOn(hosts, host, path, request);
      // A host of a Gateway never falls to the default backend of an Ingress.
      if (place !== NO_ROUTE || this.#hosts.isOfGateway(hosts, host)) return place;
    }
    return this.#fallback === NO_HOST ? NO_ROUTE : this.#bindings.place(this.#fallback, 0);
  }

  /** The same without the fallback, whatever the listener's rules are. */
  #findOn(
    hosts: ListenerHosts | null,
    host: string,
    path: string,
    request: MatchedRequest,
  ): number {
    let from = hosts?.first(host) ?? null;
    if (hosts === null || from === null) return NO_ROUTE;
    let view: RequestView | null = null;
    // Lists are looked for one by one: mostly the first has a route.
    for (;;) {
      const start = hosts.listAt(host, from);
      if (start !== NO_HOST) {
        const tree = this.#trees.tree(this.#bindings.tree(start));
        // The patterns of all lists together are the work of the request.
        if (!tree.isPlain) view ??= new RequestView(request);
        const number = tree.find(path, request, view);
        if (number >= 0) return this.#bindings.place(start, number);
        if (number < NONE) return refusal(number);
        if (!hosts.fallsThrough) return NO_ROUTE;
      }
      if (from === ANY) return NO_ROUTE;
      from = hosts.next(host, from);
    }
  }

  /** Whether a pattern other than `*` takes the host on a listener, be there a route for a path or not. */
  namesHost(host: string, listener: string): boolean {
    return this.#hosts.names(listener, host);
  }

  /** The target of what it finds, or null. */
  match(host: string, path: string, request?: MatchedRequest, listener?: string): T | null {
    const place = this.find(host, path, request, listener);
    return place < 0 ? null : this.target(place);
  }

  /** Of a place, as is the next one; see `Binding`. */
  target(place: number): T {
    return this.#targets.get(this.#bindings.target(place));
  }

  counters(place: number): number {
    return this.#bindings.counters(place);
  }

  /** Where the list begins. */
  #put(matches: readonly TreeMatch[], bindings: readonly Binding<T>[]): number {
    const numbered: NumberedBinding[] = bindings.map(({ target, counters }) => {
      return { target: this.#targets.take(target), counters };
    });
    return this.#bindings.put(this.#trees.take(matches), numbered);
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

/** Why there is no route: a number that a tree has found below `NONE`. */
function refusal(number: number): number {
  return number === REFUSED ? BAD_PATH : TOO_MUCH_WORK;
}

/** On listeners of Ingresses. */
function isOnOwnPorts({ listener }: HostEntry): boolean {
  return listener === null || BUILT_IN_LISTENERS.has(listener);
}

/** The routes of a host by listener; no list is empty. */
function byListener(routes: readonly Route[]): ListenerRoutes[] {
  const lists = Map.groupBy(
    routes.flatMap(({ listeners = [...BUILT_IN_LISTENERS] }, number) =>
      [...new Set(listeners.map(indexNameOf))].map((listener) => ({ listener, number }))
    ),
    ({ listener }) => listener,
  );
  const entries: ListenerRoutes[] = [...lists].map(([listener, list]) => {
    return { listener, numbers: list.map(({ number }) => number) };
  });
  const builtIn = entries.filter(({ listener }) => BUILT_IN_LISTENERS.has(listener!));
  const [first, ...rest] = builtIn;
  const isCommon = first !== undefined && builtIn.length === BUILT_IN_LISTENERS.size &&
    rest.every(({ numbers }) => String(numbers) === String(first.numbers));
  if (!isCommon) return entries;
  const others = entries.filter((entry) => !builtIn.includes(entry));
  return [{ listener: null, numbers: first.numbers }, ...others];
}

/**
 * Compiles a snapshot, where nobody counts. `bind` is called once for each route, and once with null
 * for the default action if there is one; what it returns is the target. Of two routes of a host that
 * take a request the first wins.
 */
export function compileTable<T>(
  { routes, listeners, hostSettings, defaultAction, filterSets }: Snapshot,
  bind: (action: Action, route: Route | null) => T,
  compile?: PatternCompiler,
): RouteTable<T> {
  const table = new RouteTable<T>(compile);
  const filters = new Map(filterSets?.map(({ id, filters }) => [id, filters]));
  const bound = (action: Action, route: Route | null) => {
    return {
      ...{ target: bind(action, route), counters: 0 },
      isGuarded: route !== null && isGuarded(route, (id) => filters.get(id) ?? []),
    };
  };
  table.replaceListeners(listeners ?? []);
  table.updateHostSettings(hostSettings ?? [], []);
  for (const [host, group] of Map.groupBy(routes, (route) => route.host)) {
    table.replaceHost(host, group, (route) => bound(route.action, route));
  }
  table.replaceFallback(defaultAction === null ? null : bound(defaultAction, null));
  return table;
}
