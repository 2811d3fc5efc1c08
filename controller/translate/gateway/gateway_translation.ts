/**
 * Gateway API, translated. In: objects of unknown shape, and what is known of Services and Secrets. Out: the
 * listeners and routes of a snapshot; and for each class, Gateway and route of ours its conditions, as far
 * as objects alone decide them.
 *
 *     classes ─▶ Gateways ─▶ parameters ─▶ listeners ─────────────┐
 *     routes ─▶ attachment ─▶ backends by grants ─▶ routes by host and precedence
 */
import type { PortRange } from "../../../shared/net/port_range.ts";
import type { Certificate, FilterSet, Listener, Route } from "../../../shared/snapshot/types.ts";
import { compareAge, type Identity, keyOf } from "../../base/identity.ts";
import { compareText } from "../../base/text_order.ts";
import { GATEWAY_API, GATEWAYS, HTTP_ROUTES } from "../../kube/types.ts";
import {
  attach,
  type AttachingRoute,
  type Attachment,
  type NamespaceLabels,
} from "./attachment.ts";
import {
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
import { type AttachedRoute, serveRoutes } from "./served_routes.ts";

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
  /** Those of the snapshot that was published last: their container ports stay. */
  readonly published: readonly Listener[];
  /** Of container ports. */
  readonly listenRange: PortRange;
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
): GatewayTranslation {
  const { secrets, published, listenRange } = context;
  const grants = new ReferenceGrants(objects.grants);
  const parameters = new GatewayParameters(readers.classes(objects.classes), {
    ...context,
    publishedGateways: publishedGateways(published),
  });
  const gateways = objects.gateways.flatMap((object) => readers.gateway(object) ?? [])
    .flatMap((gateway) => parameters.configure(gateway) ?? [])
    .sort((a, b) => compareAge(a.identity, b.identity));
  const routes = objects.routes.flatMap((object) => readers.route(object) ?? [])
    .sort((a, b) => compareAge(a.identity, b.identity));
  const policies = new BackendTlsPolicies(objects.backendTlsPolicies);
  const listenerSets = listenerSetStatuses(objects.listenerSets, gateways);
  const attachments = new Attachments(gateways, listenerSets, grants, policies, context);
  const statuses = routes.flatMap((route) => attachments.add(route) ?? []);
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
    published,
    listenRange,
  );
  return {
    classes: parameters.classes.toSorted((a, b) => compareText(a.name, b.name)),
    gateways: gateways.map((gateway) =>
      gatewayStatus(gateway, listenerTls, containerPorts, (one) => attachments.count(one))
    ),
    routes: statuses,
    listenerSets,
    parts: {
      listeners,
      ...serveRoutes(attachments.routes, ids, readers.settings),
      certificates: [...certificates.values()].sort((a, b) => compareText(a.id, b.id)),
    },
  };
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
  add(route: HttpRouteModel): RouteStatus | null {
    const { identity, generation } = route;
    const attaching = { ...route, kind: HTTP_ROUTE, namespace: identity.ref.namespace };
    const parents = route.parents.flatMap((parent) => {
      const attachment = this.#attach(parent, attaching);
      return attachment === null ? [] : { parent, attachment };
    });
    if (parents.length === 0) return null;
    const rules = rulesConditions(route);
    const isAccepted = rules.some(({ type, status }) => type === "Accepted" && status === "True");
    const listeners = parents.flatMap(({ attachment }) =>
      attachment.ok ? attachment.listeners : []
    );
    const isServed = listeners.length > 0;
    const backends = route.rules.map((rule) => this.#resolve(rule, identity, isServed));
    const hosts = new Map<string, Set<ListenerModel>>();
    for (const { listener, hostnames } of listeners) {
      if (isAccepted) {
        this.#counts.set(listener, (this.#counts.get(listener) ?? new Set()).add(route));
      }
      for (const hostname of hostnames) {
        const host = hostname ?? "*";
        hosts.set(host, (hosts.get(host) ?? new Set()).add(listener));
      }
    }
    // Rules that are all refused stay too, and reply 500: their requests must not go elsewhere.
    if (isServed) this.routes.push({ route, backends, hosts });
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
    const from = { group: GATEWAY_API, kind: HTTP_ROUTES.kind, namespace };
    const { services, upstreams } = this.#context;
    const needed = isServed && fault === null ? upstreams : null;
    return backends.map((each) =>
      resolveBackend(each, from, this.#grants, services, this.#policies, needed)
    );
  }
}

function acceptedOf(attachment: Attachment, rules: readonly Condition[]): readonly Condition[] {
  return attachment.ok ? rules : [attachment.condition];
}
