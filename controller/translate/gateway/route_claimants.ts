/**
 * Hosts that HTTPRoutes name on addresses that Gateways share with Ingresses. In: the Gateways of our classes,
 * and HTTPRoutes, the oldest first. Out: what each HTTPRoute claims, the very same list as before where
 * nothing has changed; and which namespaces have routes on which listener.
 *
 * Conflicts of listeners with those of other Gateways do not count here: they are decided by the owners of hosts.
 * Nor do hosts of a namespace beyond its bounds, whose routes are refused (`route_bounds.ts`), but for those
 * that were published: claims are recorded in one object for all namespaces.
 */
import { sharedSocketOf } from "../../../shared/snapshot/listener_id.ts";
import { formatObject } from "../../../shared/problem.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { keyOf } from "../../base/identity.ts";
import { isSameList } from "../../base/memo.ts";
import { GATEWAYS, HTTP_ROUTES } from "../../kube/types.ts";
import type { HostClaimant } from "../hosts/host_owner.ts";
import { isDying } from "../hosts/namespace_facts.ts";
import { ANY_HOST } from "../model/host.ts";
import type { NamespaceBounds } from "../bounds/namespace_bounds.ts";
import { attach, AttachingRoute, type NamespaceLabels } from "./objects/attachment.ts";
import type { ConfiguredGateway } from "./gateway_parameters.ts";
import type { Hostname } from "./objects/hostname.ts";
import type { HttpRouteModel } from "./objects/http_route.ts";
import type { ListenerModel } from "./objects/listener.ts";
import { type RouteNamespaces, shareableListeners } from "./shared_listeners.ts";
import type { LapsedRoute } from "./sharing/kept_hosts.ts";
import { claimantOf, ClaimantsByRoute } from "./sharing/claimant.ts";

const NONE: readonly HostClaimant[] = [];

export interface NamedHosts {
  readonly claimants: readonly HostClaimant[];
  readonly namespaces: RouteNamespaces;
  /** Whether a namespace names more than it may have, so that they depend on what was published. */
  readonly isCrowded: boolean;
  readonly lapsed: readonly LapsedRoute[];
}

export interface ClaimContext {
  readonly namespaces: NamespaceLabels;
  readonly bounds: Pick<NamespaceBounds, "routes" | "hostBytes">;
  readonly published: Snapshot | null;
  /** Gateways that have an address of their own, or are another controller's: `namespace/name`. */
  readonly elsewhere: ReadonlySet<string>;
}

export class RouteClaimants {
  readonly #known = new ClaimantsByRoute();
  #last: readonly HostClaimant[] = NONE;

  of(
    gateways: readonly ConfiguredGateway[],
    routes: readonly HttpRouteModel[],
    { namespaces, bounds, published, elsewhere }: ClaimContext,
  ): NamedHosts {
    const shared = new Map<string, ConfiguredGateway>();
    for (const gateway of gateways) {
      const listeners = shareableListeners(gateway);
      if (listeners.length > 0) shared.set(gateway.identity.key, { ...gateway, listeners });
    }
    const attached = new Map<ListenerModel, Set<string>>();
    const room = new ClaimRoom(bounds, published);
    const missing: LapsedRoute[] = [];
    const next = routes.flatMap((route) => {
      const named = hostsOf(route, shared, namespaces, attached);
      const hosts = named.filter((host) => room.take(route.identity.ref.namespace, host));
      const hostnames = lapsedNames(route, named, elsewhere);
      if (hostnames.length > 0) missing.push({ route, hostnames });
      return this.#known.of(route, hosts);
    });
    // Within the same bounds, behind all that routes have on listeners.
    const lapsed = missing.map(({ route, hostnames }): LapsedRoute => ({
      route,
      hostnames: hostnames.filter((host) => room.take(route.identity.ref.namespace, host)),
    }));
    if (!isSameList(this.#last, next)) this.#last = next;
    return { claimants: this.#last, namespaces: attached, isCrowded: room.isFull, lapsed };
  }
}

/** Hostnames that a route has on no shared listener, unless it is meant for elsewhere. */
function lapsedNames(
  { parents, hostnames, object }: HttpRouteModel,
  hosts: readonly string[],
  elsewhere: ReadonlySet<string>,
): readonly string[] {
  if (isDying(object)) return [];
  const isElsewhere = parents.every((parent) =>
    parent.kind !== GATEWAYS.kind || elsewhere.has(keyOf(parent))
  );
  return isElsewhere ? [] : hostnames.filter((hostname) => !hosts.includes(hostname));
}

/** What each namespace may name. */
class ClaimRoom {
  /** Whether it was too small for a namespace. */
  isFull = false;
  readonly #bounds: ClaimContext["bounds"];
  readonly #published: Snapshot | null;
  /** By namespace. */
  readonly #taken = new Map<string, { readonly hosts: Set<string>; bytes: number }>();
  /** As `namespace host`; null until it matters. */
  #servedHosts: ReadonlySet<string> | null = null;

  constructor(bounds: ClaimContext["bounds"], published: Snapshot | null) {
    this.#bounds = bounds;
    this.#published = published;
  }

  /** Whether a namespace may name a host. */
  take(namespace: string, host: string): boolean {
    let taken = this.#taken.get(namespace);
    if (taken === undefined) this.#taken.set(namespace, taken = { hosts: new Set(), bytes: 0 });
    if (taken.hosts.has(host)) return true;
    const { routes, hostBytes } = this.#bounds;
    if (taken.hosts.size >= routes || taken.bytes + host.length > hostBytes) {
      this.isFull = true;
      if (!this.#served.has(`${namespace} ${host}`)) return false;
    }
    taken.hosts.add(host);
    taken.bytes += host.length;
    return true;
  }

  get #served(): ReadonlySet<string> {
    return this.#servedHosts ??= new Set(
      (this.#published === null ? [] : publishedClaimants(this.#published))
        .flatMap(({ identity: { ref: { namespace } }, hosts }) =>
          hosts.map(({ host }) => `${namespace} ${host}`)
        ),
    );
  }
}

/** @param attached Gets the listeners to which the route attaches. */
function hostsOf(
  route: HttpRouteModel,
  shared: ReadonlyMap<string, ConfiguredGateway>,
  namespaces: NamespaceLabels,
  attached: Map<ListenerModel, Set<string>>,
): readonly string[] {
  const { namespace } = route.identity.ref;
  const attaching = new AttachingRoute(route);
  const hosts = new Set<string>();
  const seen = new Set<readonly Hostname[]>();
  for (const parent of route.parents) {
    const gateway = parent.kind === GATEWAYS.kind ? shared.get(keyOf(parent)) : undefined;
    if (gateway === undefined) continue;
    const attachment = attach(parent, gateway, attaching, namespaces);
    for (const { listener, hostnames } of attachment.ok ? attachment.listeners : []) {
      const own = attached.get(listener);
      if (own === undefined) attached.set(listener, new Set([namespace]));
      else own.add(namespace);
      if (seen.has(hostnames)) continue;
      seen.add(hostnames);
      for (const hostname of hostnames) if (hostname !== null) hosts.add(hostname);
    }
  }
  return [...hosts];
}

/** What was published, for as long as Gateways and HTTPRoutes are not known. */
export function publishedClaimants({ routes }: Snapshot): readonly HostClaimant[] {
  const shared = routes.filter(({ host, origin, listeners = [] }) =>
    host !== ANY_HOST && origin.kind === HTTP_ROUTES.kind &&
    listeners.some((id) => sharedSocketOf(id) !== null)
  );
  return Map.groupBy(shared, ({ origin }) => keyOf(origin)).values().map((own) => {
    const [{ origin: { kind, namespace, name } }] = own;
    const ref = { kind, namespace, name };
    // It is served, so nothing that has come since is older.
    const identity = { ref, key: keyOf(ref), label: formatObject(ref), createdAt: 0 };
    return claimantOf(identity, [...new Set(own.map(({ host }) => host))], false);
  }).toArray();
}
