/**
 * Gateway API, translated. In: objects of unknown shape, and what is known of Services and Secrets. Out: the
 * listeners and routes of a snapshot; and for each class, Gateway and route of ours its conditions, as far
 * as objects alone decide them.
 *
 *     classes ─▶ Gateways ─▶ parameters ─▶ listeners ─────────────┐
 *     routes ─▶ attachment ─▶ backends by grants ─▶ routes by host and precedence
 */
import type { SharedHostSockets } from "../../../shared/snapshot/listener_id.ts";
import type { PortRange } from "../../../shared/net/port_range.ts";
import type {
  Certificate,
  FilterSet,
  Listener,
  Route,
  Snapshot,
} from "../../../shared/snapshot/types.ts";
import { compareAge } from "../../base/identity.ts";
import { compareText } from "../../base/text_order.ts";
import type { ClusterFull, GatewayRoom } from "../bounds/cluster_bound.ts";
import type { NamespaceBounds } from "../bounds/namespace_bounds.ts";
import type { Parts } from "../bounds/namespace_parts.ts";
import type { ServedHosts } from "../hosts/host_claimants.ts";
import type { HostClaimant } from "../hosts/host_owner.ts";
import type { Ownership } from "../hosts/ownership.ts";
import {
  crowdedNamespaces,
  cutNamespaces,
  refusedRoutes,
  type RouteRefusal,
  routesOverCluster,
} from "./route_bounds.ts";
import type { DemandingRoute, RouteDemand, TotalDemand } from "./route_demands.ts";
import { AttachmentRoom } from "./attachment_room.ts";
import { BackendTlsPolicies } from "./objects/backend_tls_policy.ts";
import { CertificateRoom } from "./certificate_bounds.ts";
import { besideRoutes, type FoundCertificates, guardRoom } from "./beside_routes.ts";
import { type ClusterLimits, clusterLimits, NO_LIMITS, withinLimits } from "./cluster_limits.ts";
import { type GatewayDemand, gatewayParts, mostParts, type NamedPair } from "./gateway_parts.ts";
import { atField } from "./objects/condition.ts";
import type { HttpRouteModel } from "./objects/http_route.ts";
import {
  type ListenerCertificates,
  listenerCertificates,
  type TlsSecrets,
  withCertificates,
} from "./certificate_refs.ts";
import {
  acceptedCondition,
  type GatewayStatus,
  gatewayStatus,
  type ListenerOutcomes,
  referrerOf,
} from "./gateway_status.ts";
import {
  type ConfiguredGateway,
  type GatewayClassStatus,
  GatewayParameters,
  type ParameterContext,
} from "./gateway_parameters.ts";
import type { GatewayReaders } from "./gateway_readers.ts";
import { HostAdmission } from "./host_admission.ts";
import type { ListenerModel } from "./objects/listener.ts";
import { type ListenerSetStatus, listenerSetStatuses } from "./objects/listener_set.ts";
import { overlapConditions } from "./overlapping_listeners.ts";
import {
  type AttachmentContext,
  RouteAttachments,
  type RouteParents,
  type RouteStatus,
} from "./route_attachments.ts";
import {
  type PlacedListeners,
  placeListeners,
  publishedGateways,
  serveListeners,
} from "./served_listeners.ts";
import { type KeptRoute, placesOf } from "./served_routes.ts";
import { type RouteNamespaces, shareListeners, withinBounds } from "./shared_listeners.ts";
import {
  type HostCertificates,
  hostCertificates,
  type NamedCertificate,
} from "./sharing/host_certificates.ts";

export type { GatewayPort, GatewayStatus, ListenerStatus } from "./gateway_status.ts";
export type { ParentStatus, RouteStatus } from "./route_attachments.ts";

/** Objects of unknown shape; an empty list for a kind that is not served. */
export interface GatewayObjects {
  readonly classes: readonly unknown[];
  readonly gateways: readonly unknown[];
  readonly routes: readonly unknown[];
  readonly grants: readonly unknown[];
  readonly backendTlsPolicies: readonly unknown[];
  readonly listenerSets: readonly unknown[];
}

/** What is known of the objects of other stages, and of what was published. */
export interface GatewayContext
  extends Omit<ParameterContext, "publishedGateways" | "refusedMoves">, AttachmentContext {
  readonly secrets: TlsSecrets;
  /** What was published last: container ports of its listeners stay, and so does what is over a bound. */
  readonly published: Snapshot | null;
  /** Of container ports. */
  readonly listenRange: PortRange;
  readonly bounds: NamespaceBounds;
  /** What the Ingresses of each namespace have of these. */
  readonly taken: ReadonlyMap<string, RouteDemand>;
  /** What there is for all namespaces together. */
  readonly room: GatewayRoom;
  readonly sharing: AddressSharing;
}

/** What is known of hosts on an address that Gateways share with Ingresses. */
export interface AddressSharing {
  readonly ownership: Ownership;
  /** Hosts that Ingresses serve, as far as Gateways name them. */
  readonly ingresses: ServedHosts;
  /** What HTTPRoutes name there. */
  readonly claimants: readonly HostClaimant[];
  readonly namespaces: RouteNamespaces;
}

/** What is read of Gateway API before anything else is translated. */
export interface ReadGateways {
  readonly classes: readonly GatewayClassStatus[];
  /** The oldest first. */
  readonly gateways: readonly ConfiguredGateway[];
}

export interface GatewayTranslation {
  /** Sorted by name. */
  readonly classes: readonly GatewayClassStatus[];
  /** The oldest first. */
  readonly gateways: readonly GatewayStatus[];
  /** The oldest first; those without a parent of ours are left out. */
  readonly routes: readonly RouteStatus[];
  /** The oldest first; those of Gateways that are not ours are left out. */
  readonly listenerSets: readonly ListenerSetStatus[];
  readonly parts: GatewayParts;
}

/** Parts of a snapshot, each list in its order there. */
export interface GatewayParts {
  readonly listeners: readonly Listener[];
  readonly routes: readonly Route[];
  readonly filterSets: readonly FilterSet[];
  readonly certificates: readonly Certificate[];
  /** Of hosts on shared addresses. */
  readonly hostCertificates: HostCertificates;
  readonly sharedHosts: SharedHostSockets;
}

/** What Gateways and HTTPRoutes ask for, and what bounds come to for that. */
export interface Weighing {
  /** What routes ask for, by namespace. */
  readonly demands: ReadonlyMap<string, RouteDemand>;
  /** Namespaces that ask for more than their bounds. */
  readonly crowded: ReadonlySet<string>;
  /** The same with all else, or more: exact where it matters for the bound of the cluster. */
  readonly wanted: ReadonlyMap<string, Parts>;
  /** What the room for all came to for that. */
  readonly full: ClusterFull;
}

/** With what it depends on beside its objects. */
export interface BoundedTranslation extends GatewayTranslation, Weighing {
  /** Without what is taken from Gateways themselves; null where nothing is. */
  readonly unlimited: Weighing | null;
  /** Whether a route or a listener is refused for a bound, so that it depends on what was published. */
  readonly isCrowded: boolean;
}

export function readGateways(
  objects: Pick<GatewayObjects, "classes" | "gateways">,
  context:
    & Omit<ParameterContext, "publishedGateways" | "refusedMoves">
    & Pick<GatewayContext, "published">,
  readers: GatewayReaders,
  limits = NO_LIMITS,
): ReadGateways {
  const parameters = new GatewayParameters(readers.classes(objects.classes), {
    ...context,
    publishedGateways: publishedGateways(context.published?.listeners ?? []),
    refusedMoves: limits.moves,
  });
  const gateways = objects.gateways.flatMap((object) => readers.gateway(object) ?? [])
    .flatMap((gateway) => parameters.configure(gateway) ?? [])
    .sort((a, b) => compareAge(a.identity, b.identity));
  return {
    classes: parameters.classes,
    gateways: withinLimits(withinBounds(gateways), limits),
  };
}

export function translateGatewayApi(
  objects: GatewayObjects,
  context: GatewayContext,
  readers: GatewayReaders,
): BoundedTranslation {
  const { published, sharing } = context;
  const first = weigh(objects, context, readers, NO_LIMITS);
  const limits = clusterLimits(first, published?.listeners ?? []);
  const weighed = limits === NO_LIMITS ? first : weigh(objects, context, readers, limits, first);
  const { classes, gateways, listenerSets, attachments, attached, placed } = weighed;
  const { found, named, demands, crowded, isRefusing, overNamespace, wanted, full } = weighed;
  const { ids, containerPorts } = placed;
  const refused = new Map([
    // Also those of listeners that are not served.
    ...routesOverCluster(first.demanding, full, published, readers.demands),
    ...overNamespace,
  ]);
  const statuses = attached.map((each) =>
    attachments.settle(each, refused.get(each.route)?.condition ?? null)
  );
  const room = new CertificateRoom(context.bounds, published, certificatesOf(named), full);
  const listenerTls = boundedCertificates(found, room, context.secrets);
  const certificates = new Map<string, Certificate>();
  const listeners = serveListeners(placed, (listener) => {
    const shown = listenerTls.get(listener)!.certificates;
    for (const certificate of shown) certificates.set(certificate.id, certificate);
    return shown;
  });
  const kept = attached.flatMap((each): KeptRoute[] => {
    const refusal = each.isServed ? refused.get(each.route) : undefined;
    return refusal === undefined ? [] : [attachments.keep(each, refusal.published, ids)];
  });
  const { routes: ofHosts, filterSets } = readers.placements.serve(
    attachments.routes,
    ids,
    kept,
    published?.filterSets ?? [],
  );
  const hasRoom = guardRoom(full, published);
  const guarded = readers.guards.guard({ routes: ofHosts, listeners, hasRoom, ...sharing });
  const namedOn = new Map(Array.from(ids, ([listener, id]): [string, NamedCertificate[]] => {
    const { certificates, names } = listenerTls.get(listener)!;
    return [id, certificates.map(({ id }, i) => ({ id, names: new Set(names[i]) }))];
  }));
  const outcomes: ListenerOutcomes = {
    certificates: listenerTls,
    overlaps: overlapConditions(gateways, listenerTls),
    containerPorts,
    attachedRoutes: (listener) => attachments.count(listener),
  };
  return {
    classes: classes.toSorted((a, b) => compareText(a.name, b.name)),
    gateways: gateways.map((gateway) => gatewayStatus(gateway, outcomes)),
    routes: statuses,
    listenerSets,
    parts: {
      listeners,
      routes: guarded.routes,
      filterSets,
      certificates: [...certificates.values()].sort((a, b) => compareText(a.id, b.id)),
      hostCertificates: hostCertificates(ofHosts, listeners, namedOn, sharing.ownership),
      sharedHosts: guarded.hosts,
    },
    ...{ demands, crowded, wanted, full },
    unlimited: weighed === first ? null : first,
    isCrowded: isRefusing || weighed !== first || full.namespaces.size > 0 || room.isFull,
  };
}

interface WeighedGateways extends ReadGateways, Weighing {
  readonly listenerSets: readonly ListenerSetStatus[];
  readonly attachments: RouteAttachments;
  readonly attached: readonly RouteParents[];
  readonly placed: PlacedListeners;
  /** Those of attached routes that have a host. */
  readonly demanding: readonly DemandingRoute[];
  readonly found: readonly FoundCertificates[];
  /** What listeners are to show, by namespace of their Gateways. */
  readonly named: ReadonlyMap<string, readonly NamedPair[]>;
  readonly overNamespace: ReadonlyMap<HttpRouteModel, RouteRefusal>;
  /** Whether a namespace may have routes that are refused. */
  readonly isRefusing: boolean;
}

/**
 * Everything up to what is refused.
 *
 * @param unlimited What it is without limits: what all come to was found there.
 */
function weigh(
  objects: GatewayObjects,
  context: GatewayContext,
  readers: GatewayReaders,
  limits: ClusterLimits,
  unlimited: Weighing | null = null,
): WeighedGateways {
  const { secrets, published, listenRange, sharing } = context;
  const grants = readers.grants(objects.grants);
  const { classes, gateways: read } = readGateways(objects, context, readers, limits);
  const routes = readers.routes(objects.routes);
  const gateways = shareListeners(read, { ...sharing, published: published?.listeners ?? [] });
  const admission = new HostAdmission(sharing.ownership, sharing.ingresses);
  const policies = new BackendTlsPolicies(objects.backendTlsPolicies);
  const listenerSets = listenerSetStatuses(objects.listenerSets, gateways);
  const placed = placeListeners(
    gateways,
    (listener, gateway) =>
      gateway.isServed && acceptedCondition(listener, gateway).status === "True",
    published?.listeners ?? [],
    listenRange,
  );
  const attachments = new RouteAttachments(
    gateways,
    placed.ids,
    new AttachmentRoom(context.bounds, published, placed.ids),
    admission,
    listenerSets,
    grants,
    policies,
    context,
  );
  const attached = routes.flatMap((route) => attachments.attach(route) ?? []);
  const demanding = demandingRoutes(attached.filter(({ isServed }) => isServed), placed.ids);
  const demands = readers.demands.totals(demanding);
  const crowded = crowdedNamespaces(demands, context);
  const refusing = crowded.union(cutNamespaces(demanding));
  const overNamespace = refusedRoutes(demanding, refusing, context, readers.demands);
  const found = gateways.flatMap((gateway) => {
    const from = referrerOf(gateway);
    return gateway.listeners.map((listener): FoundCertificates => ({
      ...{ namespace: gateway.identity.ref.namespace, listener },
      found: listenerCertificates(listener, from, grants, secrets),
    }));
  });
  const named = namedPairs(found);
  const { wanted, full } = unlimited ?? weighAll(context, demands, {
    ...{ routes: demanding, refused: overNamespace, published, certificates: named },
    ...{ demands: readers.demands, bounds: context.bounds },
    besides: besideRoutes(placed, found, sharing),
  });
  return {
    ...{ classes, gateways, listenerSets, attachments, attached, placed, demanding },
    ...{ found, named, demands, crowded, overNamespace, wanted, full },
    isRefusing: refusing.size > 0,
  };
}

/** Exactly where it matters. */
function weighAll(
  { room }: GatewayContext,
  demands: ReadonlyMap<string, TotalDemand>,
  asked: GatewayDemand,
): Pick<Weighing, "wanted" | "full"> {
  const most = mostParts(demands, asked);
  const full = room.fullFor(most);
  if (full.namespaces.size === 0) return { wanted: most, full };
  const wanted = gatewayParts(asked);
  return { wanted, full: room.fullFor(wanted) };
}

/** On the listeners that are served. */
function demandingRoutes(
  routes: readonly RouteParents[],
  ids: ReadonlyMap<ListenerModel, string>,
): readonly DemandingRoute[] {
  const places = placesOf(ids);
  return routes.map(({ route, hosts, unplacedBytes }) => ({
    ...{ route, unplacedBytes },
    hosts: new Map(Array.from(hosts, ([host, listeners]) => [
      host,
      [...listeners].flatMap((listener) => places.get(listener) ?? []),
    ])),
  }));
}

function namedPairs(
  listeners: readonly FoundCertificates[],
): ReadonlyMap<string, readonly NamedPair[]> {
  return new Map(Array.from(
    Map.groupBy(listeners, ({ namespace }) => namespace),
    ([namespace, own]) =>
      [
        namespace,
        own.flatMap(({ found: { certificates, names } }) =>
          certificates.map((certificate, i): NamedPair => ({ certificate, names: names[i] }))
        ),
      ] as const,
  ));
}

function certificatesOf(
  pairs: ReadonlyMap<string, readonly NamedPair[]>,
): ReadonlyMap<string, readonly Certificate[]> {
  return new Map(Array.from(pairs, ([namespace, own]) => [
    namespace,
    own.map(({ certificate }) => certificate),
  ]));
}

/** @param listeners By Gateways from the oldest on. */
function boundedCertificates(
  listeners: readonly FoundCertificates[],
  room: CertificateRoom,
  secrets: TlsSecrets,
): ReadonlyMap<ListenerModel, ListenerCertificates> {
  return new Map(listeners.map(({ namespace, listener, found }) => {
    const refusal = room.take(namespace, found.certificates);
    const at = `${listener.field}.tls.certificateRefs`;
    const bounded = refusal === null
      ? found
      : withCertificates(atField(at, refusal), room.kept(namespace, found.certificates), found);
    const published = bounded.certificates.map((each) => room.published(namespace, each));
    if (published.every((each) => each === null)) return [listener, bounded] as const;
    const shown = published.map((each, i) =>
      (each === null ? null : secrets.asPublished(each)) ??
        { certificate: bounded.certificates[i], names: bounded.names[i] }
    );
    const held: ListenerCertificates = {
      condition: refusal === null ? atField(at, room.heldCondition()) : bounded.condition,
      certificates: shown.map(({ certificate }) => certificate),
      names: shown.map(({ names }) => names),
    };
    return [listener, held] as const;
  }));
}
