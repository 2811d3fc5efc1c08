/**
 * Gateway API, translated. In: objects of unknown shape, and what is known of Services and Secrets. Out: the
 * listeners and routes of a snapshot; and for each class, Gateway and route of ours its conditions, as far
 * as objects alone decide them.
 *
 *     classes ─▶ Gateways ─▶ parameters ─▶ listeners ─────────────┐
 *     routes ─▶ attachment ─▶ backends by grants ─▶ routes by host and precedence
 */
import type { PortRange } from "../../../shared/net/port_range.ts";
import type {
  Action,
  Certificate,
  FilterSet,
  Listener,
  Route,
  Snapshot,
} from "../../../shared/snapshot/types.ts";
import { compareAge, type Identity, keyOf } from "../../base/identity.ts";
import { compareText } from "../../base/text_order.ts";
import { GATEWAY_API, GATEWAYS, HTTP_ROUTES, SERVICES } from "../../kube/types.ts";
import {
  attach,
  type AttachingRoute,
  type Attachment,
  type NamespaceLabels,
} from "./attachment.ts";
import type { NamespaceBounds } from "../bounds/namespace_bounds.ts";
import { serviceOf } from "../model/backend_ref.ts";
import {
  crowdedNamespaces,
  type DemandingRoute,
  refusedRoutes,
  type RouteDemand,
} from "./route_bounds.ts";
import {
  type BackendModel,
  resolveBackend,
  type ResolvedBackend,
  type ServicePorts,
  type ServiceUpstreams,
} from "./objects/backend_ref.ts";
import { BackendTlsPolicies } from "./objects/backend_tls_policy.ts";
import { listenerCertificates, type TlsSecrets } from "./certificate_refs.ts";
import type { Condition } from "./objects/condition.ts";
import type { GatewayModel } from "./objects/gateway.ts";
import {
  acceptedCondition,
  type GatewayStatus,
  gatewayStatus,
  referrerOf,
} from "./gateway_status.ts";
import {
  type GatewayClassStatus,
  GatewayParameters,
  type ParameterContext,
} from "./gateway_parameters.ts";
import type { GatewayReaders } from "./gateway_readers.ts";
import { type HttpRouteModel, resolvedRefsOf, rulesConditions } from "./objects/http_route.ts";
import { HTTP_ROUTE, type ListenerModel } from "./objects/listener.ts";
import { type ListenerSetStatus, listenerSetStatuses } from "./objects/listener_set.ts";
import type { ParentRef } from "./objects/parent_ref.ts";
import { ReferenceGrants } from "./objects/reference_grant.ts";
import { publishedGateways, serveListeners } from "./served_listeners.ts";
import { type AttachedRoute, broken, type KeptRoute } from "./served_routes.ts";

export type { GatewayPort, GatewayStatus, ListenerStatus } from "./gateway_status.ts";

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
export interface GatewayContext extends Omit<ParameterContext, "publishedGateways"> {
  readonly services: ServicePorts;
  readonly upstreams: ServiceUpstreams;
  readonly secrets: TlsSecrets;
  readonly namespaces: NamespaceLabels;
  /** What was published last: container ports of its listeners stay, and so does what is over a bound. */
  readonly published: Snapshot | null;
  /** Of container ports. */
  readonly listenRange: PortRange;
  readonly bounds: NamespaceBounds;
  /** What the Ingresses of each namespace have of these. */
  readonly taken: ReadonlyMap<string, RouteDemand>;
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
}

/** With what it depends on beside its objects. */
export interface BoundedTranslation extends GatewayTranslation {
  /** What routes ask for, by namespace. */
  readonly demands: ReadonlyMap<string, RouteDemand>;
  /** Whether a namespace asks for more than it may have, so that it depends on what was published. */
  readonly isCrowded: boolean;
}

export interface RouteStatus {
  readonly identity: Identity;
  readonly generation: number;
  /** One for each parent of ours, in the order of the object. */
  readonly parents: readonly ParentStatus[];
}

export interface ParentStatus {
  /** As the route has it. */
  readonly parentRef: unknown;
  /** Its place in `spec.parentRefs`. */
  readonly index: number;
  readonly conditions: readonly Condition[];
}

export function translateGatewayApi(
  objects: GatewayObjects,
  context: GatewayContext,
  readers: GatewayReaders,
): BoundedTranslation {
  const { secrets, published, listenRange } = context;
  const grants = new ReferenceGrants(objects.grants);
  const parameters = new GatewayParameters(readers.classes(objects.classes), {
    ...context,
    publishedGateways: publishedGateways(published?.listeners ?? []),
  });
  const gateways = objects.gateways.flatMap((object) => readers.gateway(object) ?? [])
    .flatMap((gateway) => parameters.configure(gateway) ?? [])
    .sort((a, b) => compareAge(a.identity, b.identity));
  const routes = objects.routes.flatMap((object) => readers.route(object) ?? [])
    .sort((a, b) => compareAge(a.identity, b.identity));
  const policies = new BackendTlsPolicies(objects.backendTlsPolicies);
  const listenerSets = listenerSetStatuses(objects.listenerSets, gateways);
  const attachments = new Attachments(gateways, listenerSets, grants, policies, context);
  const attached = routes.flatMap((route) => attachments.attach(route) ?? []);
  const demanding = attached.filter(({ isServed }) => isServed);
  const demands = readers.demands.totals(demanding);
  const crowded = crowdedNamespaces(demands, context);
  const refused = refusedRoutes(demanding, crowded, context, readers.demands);
  const statuses = attached.map((each) =>
    attachments.settle(each, refused.get(each.route)?.condition ?? null)
  );
  const listenerTls = new Map(gateways.flatMap((gateway) => {
    const from = referrerOf(gateway);
    return gateway.listeners.map((listener) =>
      [listener, listenerCertificates(listener, from, grants, secrets)] as const
    );
  }));
  const certificates = new Map<string, Certificate>();
  const { listeners, ids, containerPorts } = serveListeners(
    gateways,
    (listener, gateway) =>
      gateway.isServed && acceptedCondition(listener, gateway).status === "True",
    (listener) => {
      const shown = listenerTls.get(listener)!.certificates;
      for (const certificate of shown) certificates.set(certificate.id, certificate);
      return shown;
    },
    published?.listeners ?? [],
    listenRange,
  );
  const kept = demanding.flatMap((each): KeptRoute[] => {
    const refusal = refused.get(each.route);
    return refusal === undefined ? [] : [attachments.keep(each, refusal.published, ids)];
  });
  return {
    classes: parameters.classes.toSorted((a, b) => compareText(a.name, b.name)),
    gateways: gateways.map((gateway) =>
      gatewayStatus(gateway, listenerTls, containerPorts, (one) => attachments.count(one))
    ),
    routes: statuses,
    listenerSets,
    parts: {
      listeners,
      ...readers.placements.serve(attachments.routes, ids, kept, published?.filterSets ?? []),
      certificates: [...certificates.values()].sort((a, b) => compareText(a.id, b.id)),
    },
    demands,
    isCrowded: crowded.size > 0,
  };
}

/** A route that has a parent of ours. */
interface RouteParents extends DemandingRoute {
  readonly parents: readonly { readonly parent: ParentRef; readonly attachment: Attachment }[];
  /** Whether it attaches to a listener. */
  readonly isServed: boolean;
}

/** Which routes attach to which listeners. */
class Attachments {
  /** Those that are accepted. */
  readonly routes: AttachedRoute[] = [];
  readonly #gateways: ReadonlyMap<string, GatewayModel>;
  readonly #listenerSets: ReadonlyMap<string, ListenerSetStatus>;
  readonly #grants: ReferenceGrants;
  readonly #policies: BackendTlsPolicies;
  readonly #context: GatewayContext;
  readonly #counts = new Map<ListenerModel, Set<HttpRouteModel>>();

  constructor(
    gateways: readonly GatewayModel[],
    listenerSets: readonly ListenerSetStatus[],
    grants: ReferenceGrants,
    policies: BackendTlsPolicies,
    context: GatewayContext,
  ) {
    this.#gateways = new Map(gateways.map((gateway) => [gateway.identity.key, gateway]));
    this.#listenerSets = new Map(listenerSets.map((each) => [each.identity.key, each]));
    this.#grants = grants;
    this.#policies = policies;
    this.#context = context;
  }

  /** Routes that are accepted on a listener, whether or not they are served. */
  count(listener: ListenerModel): number {
    return this.#counts.get(listener)?.size ?? 0;
  }

  /** Null for a route without a parent of ours. */
  attach(route: HttpRouteModel): RouteParents | null {
    const attaching = { ...route, kind: HTTP_ROUTE, namespace: route.identity.ref.namespace };
    const parents = route.parents.flatMap((parent) => {
      const attachment = this.#attach(parent, attaching);
      return attachment === null ? [] : { parent, attachment };
    });
    if (parents.length === 0) return null;
    const listeners = parents.flatMap(({ attachment }) =>
      attachment.ok ? attachment.listeners : []
    );
    const hosts = new Map<string, Set<ListenerModel>>();
    for (const { listener, hostnames } of listeners) {
      for (const hostname of hostnames) {
        const host = hostname ?? "*";
        hosts.set(host, (hosts.get(host) ?? new Set()).add(listener));
      }
    }
    return { route, parents, hosts, isServed: listeners.length > 0 };
  }

  /** @param refusal Why it is not served as it is written, though it attaches; null where it is. */
  settle(
    { route, parents, hosts, isServed }: RouteParents,
    refusal: Condition | null,
  ): RouteStatus {
    const { identity, generation } = route;
    const rules = refusal === null ? rulesConditions(route) : [refusal];
    const isAccepted = rules.some(({ type, status }) => type === "Accepted" && status === "True");
    const isTaken = isServed && refusal === null;
    const backends = route.rules.map((rule) => this.#resolve(rule, identity, isTaken));
    for (const { attachment } of isAccepted ? parents : []) {
      for (const { listener } of attachment.ok ? attachment.listeners : []) {
        this.#counts.set(listener, (this.#counts.get(listener) ?? new Set()).add(route));
      }
    }
    // Rules that are all refused stay too, and reply 500: their requests must not go elsewhere.
    if (isTaken) this.routes.push({ route, backends, hosts });
    const resolved = resolvedRefsOf(backends);
    return {
      ...{ identity, generation },
      parents: parents.map(({ parent, attachment }) => ({
        parentRef: parent.written,
        index: parent.index,
        conditions: [...acceptedOf(attachment, rules), resolved],
      })),
    };
  }

  /** What was published of a route, on the listeners that it attaches to, with backends that it may have now. */
  keep(
    { route: { identity }, hosts }: RouteParents,
    published: readonly Route[],
    ids: ReadonlyMap<ListenerModel, string>,
  ): KeptRoute {
    const routes = published.flatMap((route): Route[] => {
      const open = new Set([...hosts.get(route.host) ?? []].map((listener) => ids.get(listener)));
      const listeners = (route.listeners ?? []).filter((id) => open.has(id));
      const action = this.#permitted(route.action, identity);
      return listeners.length === 0 ? [] : [{ ...route, listeners, action }];
    });
    return { identity, routes };
  }

  /** A grant may have been taken away since. */
  #permitted(action: Action, { ref: { namespace } }: Identity): Action {
    if (action.kind !== "forward") return action;
    const backends = action.backends.map((backend) => {
      const service = serviceOf(backend.upstream);
      if (service === null) return backend;
      const model = {
        ...{ field: "its published backend", weight: 1, port: service.port },
        reference: { group: "", kind: SERVICES.kind, ...service },
      };
      const { fault, refusal } = this.#resolveOne(model, namespace, this.#context.upstreams);
      const reason = fault?.message ?? refusal;
      return reason === null ? backend : { ...backend, fault: reason };
    });
    const [{ fault }] = backends;
    return backends.length === 1 && fault !== undefined ? broken(fault) : { ...action, backends };
  }

  /** Null for a parent that is none of ours. */
  #attach(parent: ParentRef, route: AttachingRoute): Attachment | null {
    if (parent.kind !== GATEWAYS.kind) {
      const refused = this.#listenerSets.get(keyOf(parent));
      return refused === undefined ? null : { ok: false, condition: refused.ofRoutes };
    }
    const gateway = this.#gateways.get(keyOf(parent));
    return gateway === undefined ? null : attach(parent, gateway, route, this.#context.namespaces);
  }

  #resolve(
    { backends, fault }: HttpRouteModel["rules"][number],
    { ref: { namespace } }: Identity,
    isServed: boolean,
  ): readonly ResolvedBackend[] {
    const needed = isServed && fault === null ? this.#context.upstreams : null;
    return backends.map((each) => this.#resolveOne(each, namespace, needed));
  }

  #resolveOne(
    backend: BackendModel,
    namespace: string,
    needed: ServiceUpstreams | null,
  ): ResolvedBackend {
    const from = { group: GATEWAY_API, kind: HTTP_ROUTES.kind, namespace };
    const { services } = this.#context;
    return resolveBackend(backend, from, this.#grants, services, this.#policies, needed);
  }
}

function acceptedOf(attachment: Attachment, rules: readonly Condition[]): readonly Condition[] {
  return attachment.ok ? rules : [attachment.condition];
}
