/**
 * Attachment of all routes. In: HTTPRoutes, the Gateways and ListenerSets that they may name, grants, and what
 * is known of Services. Out: for each route the listeners and hosts that it attaches to, its backends as they
 * may be reached, and its conditions; for each listener the number of its routes.
 */
import { unsharedId } from "../../../shared/snapshot/listener_id.ts";
import type { Action, Route } from "../../../shared/snapshot/types.ts";
import { type Identity, keyOf } from "../../base/identity.ts";
import { showSome } from "../../base/json.ts";
import { isSameList } from "../../base/memo.ts";
import { GATEWAY_API, GATEWAYS, HTTP_ROUTES, SERVICES } from "../../kube/types.ts";
import { serviceOf } from "../model/backend_ref.ts";
import {
  attach,
  type AttachedListener,
  AttachingRoute,
  type Attachment,
  type NamespaceLabels,
} from "./objects/attachment.ts";
import type { AttachmentRoom, ListenersOfHosts } from "./attachment_room.ts";
import {
  type BackendModel,
  resolveBackend,
  type ResolvedBackend,
  type ServicePorts,
  type ServiceUpstreams,
} from "./objects/backend_ref.ts";
import type { BackendTlsPolicies } from "./objects/backend_tls_policy.ts";
import { atField, type Condition } from "./objects/condition.ts";
import type { ConfiguredGateway } from "./gateway_parameters.ts";
import { acceptedCondition } from "./gateway_status.ts";
import type { HostAdmission, RouteAdmission } from "./host_admission.ts";
import type { Hostname } from "./objects/hostname.ts";
import { type HttpRouteModel, resolvedRefsOf, rulesConditions } from "./objects/http_route.ts";
import type { ListenerModel } from "./objects/listener.ts";
import type { ListenerSetStatus } from "./objects/listener_set.ts";
import type { ParentRef } from "./objects/parent_ref.ts";
import type { ReferenceGrants } from "./objects/reference_grant.ts";
import {
  type AttachedRoute,
  broken,
  brokenShare,
  faultOf,
  httpsRedirectOn,
  type KeptRoute,
} from "./served_routes.ts";

/** What is known of Services, and of the namespaces of routes. */
export interface AttachmentContext {
  readonly services: ServicePorts;
  readonly upstreams: ServiceUpstreams;
  readonly namespaces: NamespaceLabels;
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

/** An attachment without its hosts, of which there may be far too many. */
export type ParentAttachment =
  | { readonly ok: true; readonly listeners: readonly ListenerModel[]; readonly note?: string }
  | Extract<Attachment, { ok: false }>;

/** A route that has a parent of ours; its hosts on listeners that are served. */
export interface RouteParents extends ListenersOfHosts {
  readonly route: HttpRouteModel;
  readonly parents: readonly {
    readonly parent: ParentRef;
    readonly attachment: ParentAttachment;
  }[];
  /** Whether it has a host on a listener. */
  readonly isServed: boolean;
}

/** Which routes attach to which listeners. */
export class RouteAttachments {
  /** Those that are accepted. */
  readonly routes: AttachedRoute[] = [];
  readonly #gateways: ReadonlyMap<string, ConfiguredGateway>;
  readonly #admission: HostAdmission;
  readonly #listenerSets: ReadonlyMap<string, ListenerSetStatus>;
  readonly #grants: ReferenceGrants;
  readonly #policies: BackendTlsPolicies;
  readonly #context: AttachmentContext;
  readonly #room: AttachmentRoom;
  readonly #ids: ReadonlyMap<ListenerModel, string>;
  readonly #unservedClauses = new Map<ListenerModel, string>();
  readonly #counts = new Map<ListenerModel, number>();
  /** Listeners that a route attaches to, by key of the Gateway: mostly the same for all. */
  readonly #lists = new Map<string, readonly ListenerModel[]>();

  /** @param ids Of listeners that are served. */
  constructor(
    gateways: readonly ConfiguredGateway[],
    ids: ReadonlyMap<ListenerModel, string>,
    room: AttachmentRoom,
    admission: HostAdmission,
    listenerSets: readonly ListenerSetStatus[],
    grants: ReferenceGrants,
    policies: BackendTlsPolicies,
    context: AttachmentContext,
  ) {
    this.#gateways = new Map(gateways.map((gateway) => [gateway.identity.key, gateway]));
    this.#ids = ids;
    this.#room = room;
    this.#admission = admission;
    this.#listenerSets = new Map(listenerSets.map((each) => [each.identity.key, each]));
    this.#grants = grants;
    this.#policies = policies;
    this.#context = context;
  }

  /** Routes that are accepted on a listener, whether or not they are served. */
  count(listener: ListenerModel): number {
    return this.#counts.get(listener) ?? 0;
  }

  /** Null for a route without a parent of ours. Older routes come first. */
  attach(route: HttpRouteModel): RouteParents | null {
    const attaching = new AttachingRoute(route);
    const admission = this.#admission.ofRoute(attaching.namespace);
    // Each listener once, by however many parents: its hosts depend on the route alone.
    const served = new Map<ListenerModel, readonly Hostname[]>();
    let isServed = false;
    const parents = route.parents.flatMap((parent) => {
      const attachment = this.#attach(parent, attaching, admission);
      if (attachment === null) return [];
      if (!attachment.ok) return { parent, attachment };
      for (const { listener, hostnames } of attachment.listeners) {
        if (hostnames.length === 0) continue;
        isServed = true;
        if (this.#ids.has(listener)) served.set(listener, hostnames);
      }
      const listeners = this.#listOf(keyOf(parent), attachment.listeners);
      return { parent, attachment: { ...attachment, listeners } };
    });
    if (parents.length === 0) return null;
    return { route, parents, isServed, ...this.#room.place(route, served) };
  }

  /** The very same list as of the route before that has the same ones. */
  #listOf(gateway: string, attached: readonly AttachedListener[]): readonly ListenerModel[] {
    const list = attached.map(({ listener }) => listener);
    const known = this.#lists.get(gateway);
    if (known !== undefined && isSameList(known, list)) return known;
    this.#lists.set(gateway, list);
    return list;
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
    const listeners = (isAccepted ? parents : []).flatMap(({ attachment }) =>
      attachment.ok ? attachment.listeners : []
    );
    for (const listener of new Set(listeners)) {
      this.#counts.set(listener, (this.#counts.get(listener) ?? 0) + 1);
    }
    // Rules that are all refused stay too, and reply 500: their requests must not go elsewhere.
    if (isTaken) this.routes.push({ route, backends, hosts });
    const resolved = resolvedRefsOf(backends);
    return {
      ...{ identity, generation },
      parents: parents.map(({ parent, attachment }) => ({
        parentRef: parent.written,
        index: parent.index,
        conditions: [
          ...acceptedOf(attachment, rules, this.#unserved(parent, attachment)),
          resolved,
        ],
      })),
    };
  }

  /** Listeners of an attachment that are not served, each with the reason; a clause. Null for none. */
  #unserved(
    parent: ParentRef,
    attachment: ParentAttachment,
  ): string | null {
    const unserved = attachment.ok
      ? attachment.listeners.filter((listener) => !this.#ids.has(listener))
      : [];
    if (unserved.length === 0) return null;
    const gateway = this.#gateways.get(keyOf(parent))!;
    const shown = unserved.map((listener) => this.#unservedClause(listener, gateway));
    return `not served by ${showSome(shown)}`;
  }

  /** Made once: thousands of routes may have the listener in common. */
  #unservedClause(listener: ListenerModel, gateway: ConfiguredGateway): string {
    let clause = this.#unservedClauses.get(listener);
    if (clause === undefined) {
      clause = `listener ${listener.name} (${reasonAgainst(listener, gateway)})`;
      this.#unservedClauses.set(listener, clause);
    }
    return clause;
  }

  /** What was published of a route, on the listeners that it attaches to, with backends that it may have now. */
  keep(
    { route: { identity }, hosts }: RouteParents,
    published: readonly Route[],
    ids: ReadonlyMap<ListenerModel, string>,
  ): KeptRoute {
    const routes = published.flatMap(({ httpsRedirect: _, ...route }): Route[] => {
      const open = new Map(
        [...hosts.get(route.host) ?? []].flatMap((listener) => ids.get(listener) ?? [])
          .map((id) => [unsharedId(id), id]),
      );
      // Their Gateway may have moved to or from the shared address since.
      const listeners = (route.listeners ?? []).flatMap((id) => open.get(unsharedId(id)) ?? []);
      const action = this.#permitted(route.action, identity);
      return listeners.length === 0
        ? []
        : [{ ...route, listeners, action, ...httpsRedirectOn(listeners) }];
    });
    return { identity, routes };
  }

  /** A grant may have been taken away since. */
  #permitted(action: Action, { ref: { namespace } }: Identity): Action {
    if (action.kind !== "forward") return action;
    const backends = action.backends.map((backend) => ({
      backend,
      reason: this.#reasonAgainst(backend.upstream, namespace),
    }));
    const [{ reason }] = backends;
    if (backends.length === 1 && reason !== null) return broken(reason);
    return {
      ...action,
      backends: backends.map(({ backend, reason }) =>
        reason === null ? backend : { ...backend, ...brokenShare(reason) }
      ),
    };
  }

  /** Why requests of routes in a namespace may not go to an upstream that was published; null where they may. */
  #reasonAgainst(upstream: string, namespace: string): string | null {
    const service = serviceOf(upstream);
    return service === null ? null : faultOf(this.#resolveOne(
      {
        ...{ field: "its published backend", weight: 1, port: service.port },
        reference: { group: "", kind: SERVICES.kind, ...service },
      },
      namespace,
      this.#context.upstreams,
    ));
  }

  /** Null for a parent that is none of ours. */
  #attach(
    parent: ParentRef,
    route: AttachingRoute,
    admission: RouteAdmission,
  ): Attachment | null {
    if (parent.kind !== GATEWAYS.kind) {
      const refused = this.#listenerSets.get(keyOf(parent));
      if (refused === undefined) return null;
      const condition = atField(`spec.parentRefs[${parent.index}]`, refused.ofRoutes);
      return { ok: false, condition };
    }
    const gateway = this.#gateways.get(keyOf(parent));
    if (gateway === undefined) return null;
    return admission.admit(gateway, attach(parent, gateway, route, this.#context.namespaces));
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

/** Why a listener without an id is not served. */
function reasonAgainst(listener: ListenerModel, gateway: ConfiguredGateway): string {
  const accepted = acceptedCondition(listener, gateway);
  if (accepted.status !== "True") return accepted.reason;
  // What is left is that no port is free for it.
  return gateway.isServed ? "PortUnavailable" : gateway.refusal!.reason;
}

/** @param unserved As `#unserved` gives it. */
function acceptedOf(
  attachment: ParentAttachment,
  rules: readonly Condition[],
  unserved: string | null,
): readonly Condition[] {
  if (!attachment.ok) return [attachment.condition];
  const notes = [unserved ?? [], attachment.note ?? []].flat();
  if (notes.length === 0) return rules;
  return rules.map((condition) =>
    condition.type === "Accepted" && condition.status === "True"
      ? { ...condition, message: `${notes.join("; ")}.` }
      : condition
  );
}
