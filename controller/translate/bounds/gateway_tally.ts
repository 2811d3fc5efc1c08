/**
 * What Gateways and HTTPRoutes have served, in numbers. In: routes as they were published, or what rules ask for.
 * Out: the parts of one namespace or one HTTPRoute, in the same measure for both.
 */
import { ALL_SHARING, sharedSocketOf } from "../../../shared/snapshot/listener_id.ts";
import { listenerCharacters, listenersCharacters } from "../../../shared/snapshot/memory.ts";
import type { FilterSet, Listener, Route, Snapshot } from "../../../shared/snapshot/types.ts";
import { ObjectCache } from "../../base/memo.ts";
import { HTTP_ROUTES } from "../../kube/types.ts";
import { isOwnerGuard } from "../model/route_place.ts";
import { backendsSize, matchSize, nameBytes, reasonSize, type TextSize } from "./gateway_sizes.ts";
import { type Parts, publishedOnListeners } from "./namespace_parts.ts";
import { assignedSize, certificateSize, PairTally, secretOf } from "./pair_sizes.ts";

/** Replies that a host on a shared address has beside its routes: mostly one, on the other port. */
const GUARDS = 1;

/** Beside its filters, a filter set takes its id, and what `weightOf` has for one: half of both, as of all bytes. */
const FILTER_SET_BYTES = 100;

/** Ids of the upstreams of a route. */
export type Backends = readonly string[];

/** Of one namespace, or one HTTPRoute. What has a name counts once. */
export class GatewayTally {
  routes = 0;
  /** Of hosts, each route with its own. */
  hostBytes = 0;
  /** Of names, matches, backends and listeners. */
  text = 0;
  random = 0;
  compiled = 0;
  /** Of the listeners of its Gateways themselves. */
  listenerObjects = 0;
  readonly pairs = new PairTally();
  readonly filterSets = new FilterSetTally();
  readonly #hosts = new Set<string>();
  /** Of these, those that may have a guard, with the most characters of listeners that it names. */
  readonly #guarded = new Map<string, number>();
  readonly #upstreams = new Set<string>();

  /** @param filterSet Its own, if it has one. */
  addPublished(
    route: Route,
    filterSet: MeasuredFilterSet | undefined,
    backends: Backends = backendsOf(route),
  ): void {
    const { host, match, origin, listeners = [] } = route;
    const ofMatch = matchSize(match);
    const ofAction = actionSize(route, backends);
    const ofListeners = listenersCharacters(listeners);
    const rest = nameBytes(origin) + ofListeners;
    this.routes++;
    this.hostBytes += host.length;
    this.text += ofMatch.text + ofAction.text + rest;
    this.random += ofMatch.random + ofAction.random + rest;
    this.compiled += ofMatch.compiled + Math.max(0, listeners.length - 1) * ofMatch.copied;
    this.addHost(host, listeners, ofListeners);
    for (const upstream of backends) this.#upstreams.add(upstream);
    if (filterSet !== undefined) this.filterSets.addPublished(filterSet);
  }

  /**
   * @param listeners Ids, those of one route.
   * @param characters Theirs.
   */
  addHost(host: string, listeners: readonly string[], characters: number): void {
    this.#hosts.add(host);
    if (!listeners.some((id) => sharedSocketOf(id) !== null)) return;
    this.#guarded.set(host, Math.max(characters, this.#guarded.get(host) ?? 0));
  }

  /** @param characters Of the listeners that it names. */
  addGuard({ host, characters }: GuardSize): void {
    this.#hosts.add(host);
    this.#guarded.set(host, Math.max(characters, this.#guarded.get(host) ?? 0));
  }

  addUpstream(upstream: string): void {
    this.#upstreams.add(upstream);
  }

  /** Of `parts`, what is no part of a route. */
  get guards(): GuardParts {
    let [bytes, text] = [0, 0];
    for (const [host, ofGuard] of this.#guarded) {
      bytes += host.length;
      // A certificate may be given the host as well.
      text += ofGuard + assignedSize(host);
    }
    return { routes: GUARDS * this.#guarded.size, bytes, text, random: text };
  }

  get parts(): Parts {
    const { routes, hostBytes, compiled, listenerObjects, filterSets, guards } = this;
    const { chains, keys, count } = this.pairs;
    return {
      routes: routes + guards.routes,
      bytes: hostBytes + filterSets.bytes + FILTER_SET_BYTES * filterSets.count + guards.bytes,
      text: this.text + listenerObjects + guards.text,
      random: this.random + listenerObjects + guards.random,
      alike: 0,
      ...{ compiled, certificates: count, chains, keys },
      ...{ hosts: this.#hosts.size, upstreams: this.#upstreams.size },
    };
  }
}

/** Of guards, which each name listeners and have the host in their id as well. */
export type GuardParts = Pick<Parts, "routes" | "bytes" | "text" | "random">;

/** A guard of a host that has no route, or may have none. */
export interface GuardSize {
  readonly host: string;
  /** Of the listeners that it names. */
  readonly characters: number;
}

/** Of a host that a namespace owns without a route on a shared address. */
export function ownerGuard(host: string): GuardSize {
  return { host, characters: listenersCharacters(Object.values(ALL_SHARING)) };
}

/** Of the hostname of a listener on a shared address; empty for one that has none. */
export function listenerGuards(
  { id, hostname }: Pick<Listener, "id" | "hostname">,
): readonly GuardSize[] {
  return hostname === undefined || sharedSocketOf(id) === null
    ? []
    : [{ host: hostname, characters: listenersCharacters([id]) }];
}

/** Ids of the upstreams that a published route names, also of those that it may not reach. */
export function backendsOf({ action }: Pick<Route, "action">): Backends {
  return action.kind === "forward" ? action.backends.map(({ upstream }) => upstream) : [];
}

/** @param backends None where the route replies. */
export function actionSize({ action }: Pick<Route, "action">, backends: Backends): TextSize {
  if (backends.length > 0) return backendsSize(backends);
  return reasonSize(action.kind === "reply" ? action.reason : "");
}

/**
 * Filter sets that differ in the prefix alone that they replace, as a redirect has another one for each path:
 * each prefix, null for none, with the characters that it adds to the text.
 */
export interface Prefixes {
  readonly each: ReadonlyMap<string | null, number>;
  /** Of all. */
  readonly characters: number;
}

/** Filter sets, each once. */
export class FilterSetTally {
  count = 0;
  /** JSON of their filters. */
  bytes = 0;
  readonly #published = new Set<string>();
  readonly #prefixes = new Map<string, ReadonlyMap<string | null, number>>();
  /** Of the same text, those of several rules. */
  readonly #merged = new Map<string, Map<string | null, number>>();

  addPublished({ id, bytes }: MeasuredFilterSet): void {
    if (this.#published.has(id)) return;
    this.#published.add(id);
    this.count++;
    this.bytes += bytes;
  }

  /** @param text JSON of the filters without a prefix. */
  add(text: string, { each, characters }: Prefixes): void {
    const known = this.#merged.get(text) ?? this.#prefixes.get(text);
    if (known === each) return;
    if (known === undefined) {
      this.#prefixes.set(text, each);
      this.count += each.size;
      this.bytes += each.size * text.length + characters;
      return;
    }
    const merged = this.#merged.get(text) ?? new Map(known);
    this.#merged.set(text, merged);
    for (const [prefix, more] of each) {
      if (merged.has(prefix)) continue;
      merged.set(prefix, more);
      this.count++;
      this.bytes += text.length + more;
    }
  }
}

/** A filter set that was published. */
export interface MeasuredFilterSet {
  readonly id: string;
  /** JSON of its filters. */
  readonly bytes: number;
}

/** Measures each filter set once as long as it lives: of what is published, nearly all have been before. */
export class FilterSetSizes {
  readonly #ofSets = new ObjectCache(({ id, filters }: FilterSet): MeasuredFilterSet => {
    return { id, bytes: JSON.stringify(filters).length };
  });
  readonly #ofLists = new ObjectCache((sets: readonly FilterSet[]) =>
    new Map(sets.map((set) => [set.id, this.#ofSets.of(set)]))
  );

  /** By id. */
  of(published: Snapshot | null): ReadonlyMap<string, MeasuredFilterSet> {
    return this.#ofLists.of(published?.filterSets ?? NO_SETS);
  }
}

const NO_SETS: readonly FilterSet[] = [];

/** By namespace: routes count for that of their HTTPRoute, certificates for that of the Gateway. */
export function publishedGatewayParts(
  published: Snapshot,
  sizes = new FilterSetSizes(),
): ReadonlyMap<string, Parts> {
  const tallies = new GatewayTallies();
  const sets = sizes.of(published);
  for (const route of published.routes) {
    const { host, origin, filterSet } = route;
    if (origin.kind === HTTP_ROUTES.kind) {
      tallies.of(origin.namespace).addPublished(route, sets.get(filterSet ?? ""));
    } else if (isOwnerGuard(route)) {
      tallies.of(origin.name).addGuard(ownerGuard(host));
    }
  }
  for (const listener of published.listeners ?? []) {
    const tally = tallies.of(listener.origin.namespace);
    tally.listenerObjects += listenerCharacters(listener);
    for (const guard of listenerGuards(listener)) tally.addGuard(guard);
  }
  for (const [namespace, certificates] of publishedOnListeners(published)) {
    const { pairs } = tallies.of(namespace);
    for (const each of certificates) pairs.add(secretOf(each), certificateSize(each));
  }
  return tallies.parts;
}

/** By namespace. */
export class GatewayTallies {
  readonly #byNamespace = new Map<string, GatewayTally>();

  of(namespace: string): GatewayTally {
    let tally = this.#byNamespace.get(namespace);
    if (tally === undefined) this.#byNamespace.set(namespace, tally = new GatewayTally());
    return tally;
  }

  get parts(): ReadonlyMap<string, Parts> {
    return new Map(Array.from(this.#byNamespace, ([namespace, { parts }]) => [namespace, parts]));
  }
}
