/**
 * Routes that keep requests where they belong on an address that Gateways share with Ingresses. In: the routes
 * and listeners of Gateways, and the owners of hosts. Out: replies with 404 behind the routes of hosts.
 *
 * Proxies have one table of all Gateways for each shared port, and go on from a host to a broader one where no
 * route of it takes a request. A guard ends that
 * - where the broader host has routes of another namespace, or of another listener;
 * - at the hostname of a listener without a route for all of it: it has its hosts alone in its Gateway;
 * - at a host that a namespace owns or is assigned, on a port where it has no routes.
 */
import {
  ALL_SHARING,
  gatewayOf,
  SHARED_SOCKETS,
  type SharedHostSockets,
  type SharedSocket,
  sharedSocketOf,
} from "../../../../shared/snapshot/listener_id.ts";
import { compareHosts } from "../../../../shared/host/host_order.ts";
import type { Listener, Origin, Route } from "../../../../shared/snapshot/types.ts";
import { compareText } from "../../../base/text_order.ts";
import { isAlike } from "../../../kube/likeness.ts";
import type { ServedHosts } from "../../hosts/host_claimants.ts";
import type { HostClaimant } from "../../hosts/host_owner.ts";
import type { Ownership } from "../../hosts/ownership.ts";
import { ANY_HOST, broaderPatterns } from "../../model/host.ts";
import { guardId, WHOLE_HOST } from "../../model/route_place.ts";

export interface GuardInputs {
  /** Of Gateways, in the order of a snapshot. */
  readonly routes: readonly Route[];
  readonly listeners: readonly Listener[];
  /** What HTTPRoutes name on shared addresses, be it served or not. */
  readonly claimants: readonly HostClaimant[];
  readonly ownership: Ownership;
  /** Hosts that Ingresses serve. */
  readonly ingresses: ServedHosts;
  /** Whether there is room for the guard of a host that its namespace has no route for. */
  readonly hasRoom: (host: string, owner: string) => boolean;
}

export interface GuardedRoutes {
  readonly routes: readonly Route[];
  /** What Gateways have on shared addresses, whether or not there are routes for it. */
  readonly hosts: SharedHostSockets;
}

/** What a host has on one shared port. */
interface HostList {
  /** Ids. */
  readonly listeners: Set<string>;
  /** Of routes; none for a guard. */
  readonly namespaces: Set<string>;
  /** Whether a route takes every request. */
  takesAll: boolean;
}

/** A host that needs a guard on one port. */
interface Guard {
  readonly host: string;
  readonly listeners: readonly string[];
  readonly origin: Origin;
}

/** By host. */
type HostLists = Map<string, HostList>;

export class HostGuards {
  #known: ReadonlyMap<string, Route> = new Map();

  /** Guards that stay are the very same as before. */
  guard(inputs: GuardInputs): GuardedRoutes {
    const { routes } = inputs;
    const guards = merged(guardsOf(inputs)).map((guard) => {
      const known = this.#known.get(guard.id);
      return known !== undefined && isAlike(known, guard) ? known : guard;
    });
    this.#known = new Map(guards.map((guard) => [guard.id, guard]));
    return {
      routes: guards.length === 0
        ? routes
        // Behind the routes of its host.
        : [...routes, ...guards].sort((a, b) => compareHosts(a.host, b.host)),
      hosts: hostSockets([...routes, ...guards]),
    };
  }
}

/** Of routes that listeners have. */
export function hostSockets(routes: readonly Route[]): SharedHostSockets {
  const sockets = new Map<string, Set<SharedSocket>>();
  for (const { host, listeners = [] } of routes) {
    for (const id of listeners) {
      const socket = sharedSocketOf(id);
      // What is for all listeners is none's.
      if (socket === null || id === ALL_SHARING[socket]) continue;
      const known = sockets.get(host);
      if (known === undefined) sockets.set(host, new Set([socket]));
      else known.add(socket);
    }
  }
  return sockets;
}

function isShared(listener: string): boolean {
  return sharedSocketOf(listener) !== null;
}

/** One for each host. */
function merged(guards: readonly Guard[]): Route[] {
  return Array.from(Map.groupBy(guards, ({ host }) => host), ([host, own]): Route => ({
    id: guardId(host),
    listeners: [...new Set(own.flatMap(({ listeners }) => listeners))].sort(compareText),
    ...{ host, match: { path: WHOLE_HOST } },
    action: { kind: "reply", status: 404, reason: "no route of the host takes the request" },
    httpsRedirect: false,
    origin: own[0].origin,
  }));
}

function guardsOf(inputs: GuardInputs): Guard[] {
  const { routes, listeners } = inputs;
  const shared = new Map(listeners.filter(({ id }) => isShared(id)).map((each) => [each.id, each]));
  const lists = { http: new Map(), https: new Map() } satisfies Record<SharedSocket, HostLists>;
  for (const { host, match, origin, listeners = [] } of routes) {
    for (const id of listeners) {
      const socket = sharedSocketOf(id);
      if (socket === null) continue;
      const list = addTo(lists[socket], host, id);
      list.namespaces.add(origin.namespace);
      list.takesAll ||= isAlike(match, { path: WHOLE_HOST });
    }
  }
  return [
    ...SHARED_SOCKETS.flatMap((socket) => [
      ...listenerGuards(socket, lists[socket], [...shared.values()], inputs),
      ...endGuards(lists[socket], shared),
    ]),
    ...ownerGuards(lists, shared.size > 0, inputs),
  ];
}

function addTo(lists: HostLists, host: string, listener: string): HostList {
  let list = lists.get(host);
  if (list === undefined) {
    list = { listeners: new Set(), namespaces: new Set(), takesAll: false };
    lists.set(host, list);
  }
  list.listeners.add(listener);
  return list;
}

/** Of listeners without a route for all of their hostname; they are added to `lists`. */
function listenerGuards(
  socket: SharedSocket,
  lists: HostLists,
  listeners: readonly Listener[],
  { ownership, ingresses }: GuardInputs,
): Guard[] {
  const guarded = listeners.filter(({ id, hostname, origin }) => {
    if (hostname === undefined || sharedSocketOf(id) !== socket) return false;
    if (lists.has(hostname) || ingresses.has(hostname)) return false;
    if (ownership.standing(hostname, origin.namespace) === "refused") return false;
    const isOfSameGateway = (other: string) => gatewayOf(other) === gatewayOf(id);
    return [...broader(hostname, lists)?.listeners ?? []].some(isOfSameGateway);
  });
  for (const { id, hostname } of guarded) addTo(lists, hostname!, id);
  // Several Gateways may have the same wildcard.
  return Array.from(Map.groupBy(guarded, ({ hostname }) => hostname!), ([host, own]) => ({
    host,
    listeners: own.map(({ id }) => id),
    origin: own[0].origin,
  }));
}

/** Of hosts from which requests would go on to what others have. */
function endGuards(lists: HostLists, shared: ReadonlyMap<string, Listener>): Guard[] {
  return Array.from(lists).flatMap(([host, { listeners, namespaces, takesAll }]): Guard[] => {
    // Without a namespace it is a guard; requests for any host go on to the default backend.
    if (namespaces.size === 0 || takesAll || host === ANY_HOST) return [];
    const next = broader(host, lists);
    const isOwn = next !== null && next.listeners.isSubsetOf(listeners) &&
      next.namespaces.isSubsetOf(namespaces);
    if (isOwn) return [];
    const ids = [...listeners].sort(compareText);
    const [origin] = ids.flatMap((id) => shared.get(id)?.origin ?? []);
    return [{ host, listeners: ids, origin }];
  });
}

/** Of hosts that are owned, on ports where no Gateway of the owner has anything for them. */
function ownerGuards(
  lists: Readonly<Record<SharedSocket, HostLists>>,
  hasListeners: boolean,
  inputs: GuardInputs,
): Guard[] {
  return Array.from(guardedOwners(hasListeners, inputs)).flatMap(([host, owner]) =>
    SHARED_SOCKETS.filter((socket) => !lists[socket].has(host) && inputs.hasRoom(host, owner))
      .map((socket): Guard => ({
        host,
        // Not one of a Gateway, which may have none there; an Ingress of this very host comes first.
        listeners: [ALL_SHARING[socket]],
        origin: { kind: "Namespace", namespace: "", name: owner, field: "" },
      }))
  );
}

/**
 * Hosts that are guarded wherever their owners have no routes for them, with the owners.
 *
 * @param hasListeners Whether there are listeners on shared addresses.
 */
export function guardedOwners(
  hasListeners: boolean,
  { claimants, ownership, ingresses }: Pick<GuardInputs, "claimants" | "ownership" | "ingresses">,
): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  if (ownership.mode === "shared") return owners;
  if (hasListeners) {
    // The reply for an assigned name comes before all that is broader; that for a wildcard takes one label.
    for (const [host, { namespace }] of ownership.assigned) {
      if (host.startsWith("*.")) owners.set(host, namespace);
    }
  }
  for (const { identity: { ref }, hosts } of claimants) {
    for (const { host } of hosts) {
      const isRefused = ownership.standing(host, ref.namespace) === "refused";
      // The star of an Ingress stands for one label: names with more of them are guarded beside it.
      if (!isRefused && (!ingresses.has(host) || host.startsWith("*."))) {
        owners.set(host, ownership.owners.get(host)?.namespace ?? ref.namespace);
      }
    }
  }
  return owners;
}

/** What a request gets that no route of the host takes; null where there is nothing. */
function broader(host: string, lists: HostLists): HostList | null {
  for (const pattern of broaderPatterns(host)) {
    const list = lists.get(pattern);
    if (list !== undefined) return list;
  }
  return host === ANY_HOST ? null : lists.get(ANY_HOST) ?? null;
}
