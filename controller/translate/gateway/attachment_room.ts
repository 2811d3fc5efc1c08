/**
 * How much of the attachments of routes is put together. In: the listeners that a route attaches to, each with its
 * hosts there, the oldest route first; the bounds of namespaces; and what was published. Out: the listeners by
 * host, or of a route with too many of them those that were published.
 *
 * A route may have 32 parents with 64 listeners each and 16 hostnames: pairs of hosts and listeners are counted
 * before they are made. Each stands in the configuration for each match, so that they are part of the bytes that
 * `route_bounds.ts` counts, and a route that has too many here would be refused there as well. A namespace that
 * asks for twice of what it may have gets no more pairs, for whichever route.
 */
import { unsharedId } from "../../../shared/snapshot/listener_id.ts";
import { listenersCharacters } from "../../../shared/snapshot/memory.ts";
import type { Route, Snapshot } from "../../../shared/snapshot/types.ts";
import { keyOf } from "../../base/identity.ts";
import { HTTP_ROUTES } from "../../kube/types.ts";
import type { NamespaceBounds } from "../bounds/namespace_bounds.ts";
import { ANY_HOST } from "../model/host.ts";
import type { Hostname } from "./objects/hostname.ts";
import type { HttpRouteModel } from "./objects/http_route.ts";
import type { ListenerModel } from "./objects/listener.ts";

/** Of one route on listeners that are served. */
export type HostsOnListeners = ReadonlyMap<ListenerModel, readonly Hostname[]>;

export interface ListenersOfHosts {
  /** By host pattern. */
  readonly hosts: ReadonlyMap<string, ReadonlySet<ListenerModel>>;
  /** What its listeners take, where `hosts` has no more than what was published; 0 where it has all. */
  readonly unplacedBytes: number;
}

/** Some routes of a namespace may be refused for something else, and leave their share to newer ones. */
const SHARE_OF_REFUSED = 2;

export class AttachmentRoom {
  /** Pairs that were put together, of all routes. */
  pairs = 0;
  readonly #bounds: Pick<NamespaceBounds, "hostBytes">;
  readonly #published: Snapshot | null;
  /** Of listeners that are served. */
  readonly #ids: ReadonlyMap<ListenerModel, string>;
  /** Bytes by namespace. */
  readonly #taken = new Map<string, number>();
  /** Routes by `namespace/name` of their HTTPRoute; null until it matters. */
  #known: ReadonlyMap<string, readonly Route[]> | null = null;

  constructor(
    bounds: Pick<NamespaceBounds, "hostBytes">,
    published: Snapshot | null,
    ids: ReadonlyMap<ListenerModel, string>,
  ) {
    this.#bounds = bounds;
    this.#published = published;
    this.#ids = ids;
  }

  place(route: HttpRouteModel, listeners: HostsOnListeners): ListenersOfHosts {
    const { ref: { namespace }, key } = route.identity;
    const bytes = this.#bytesOf(route, listeners);
    const taken = this.#taken.get(namespace) ?? 0;
    const { hostBytes } = this.#bounds;
    const isOver = bytes > hostBytes || taken + bytes > SHARE_OF_REFUSED * hostBytes;
    if (isOver && bytes > this.#publishedBytes(key)) {
      const served = servedPairs(this.#publishedOf(key));
      const hosts = this.#collect(
        listeners,
        (host, id) => served.get(host)?.has(unsharedId(id)) ?? false,
      );
      return { hosts, unplacedBytes: bytes };
    }
    this.#taken.set(namespace, taken + bytes);
    return { hosts: this.#collect(listeners, () => true), unplacedBytes: 0 };
  }

  /** Part of what `RouteDemands` counts for it. */
  #bytesOf({ rules }: HttpRouteModel, listeners: HostsOnListeners): number {
    const matches = rules.reduce((sum, { matches }) => sum + matches.length, 0);
    let bytes = 0;
    for (const [listener, { length }] of listeners) {
      bytes += length * listenersCharacters([this.#ids.get(listener)!]);
    }
    // Pairs of a route of which only a stub was kept cost something too.
    return bytes * Math.max(matches, 1);
  }

  #collect(
    listeners: HostsOnListeners,
    isWanted: (host: string, id: string) => boolean,
  ): ReadonlyMap<string, ReadonlySet<ListenerModel>> {
    const hosts = new Map<string, Set<ListenerModel>>();
    for (const [listener, hostnames] of listeners) {
      for (const hostname of hostnames) {
        const host = hostname ?? ANY_HOST;
        if (!isWanted(host, this.#ids.get(listener)!)) continue;
        const own = hosts.get(host);
        if (own === undefined) hosts.set(host, new Set([listener]));
        else own.add(listener);
        this.pairs++;
      }
    }
    return hosts;
  }

  #publishedBytes(key: string): number {
    return this.#publishedOf(key)
      .reduce((sum, { listeners }) => sum + listenersCharacters(listeners), 0);
  }

  #publishedOf(key: string): readonly Route[] {
    this.#known ??= Map.groupBy(
      (this.#published?.routes ?? []).filter(({ origin }) => origin.kind === HTTP_ROUTES.kind),
      ({ origin }) => keyOf(origin),
    );
    return this.#known.get(key) ?? [];
  }
}

/** Ids of listeners by host; a Gateway may have moved to or from the shared address since. */
function servedPairs(published: readonly Route[]): ReadonlyMap<string, ReadonlySet<string>> {
  const pairs = new Map<string, Set<string>>();
  for (const { host, listeners = [] } of published) {
    const own = pairs.get(host) ?? new Set();
    for (const id of listeners) own.add(unsharedId(id));
    pairs.set(host, own);
  }
  return pairs;
}
