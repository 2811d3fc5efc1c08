/**
 * Gateway API, translated. In: objects of unknown shape, and what is known of Services and Secrets. Out: for
 * each class, Gateway and route of ours its conditions, as far as objects alone decide them: whether
 * proxies have them is for whoever writes the status.
 */
import { compareAge, type Identity, keyOf } from "../../base/identity.ts";
import { compareText } from "../../base/text_order.ts";
import { GATEWAY_API, GATEWAYS } from "../../kube/types.ts";
import type { ServiceModel } from "../backends/service.ts";
import type { SecretModel } from "../certificates/certificate_source.ts";
import { attach, type Attachment, type NamespaceLabels } from "./attachment.ts";
import type { ServicePorts } from "./backend_ref.ts";
import { certificatesCondition, type TlsSecrets } from "./certificate_refs.ts";
import { type Condition, falseCondition, trueCondition } from "./condition.ts";
import { type GatewayModel, readGateway } from "./gateway.ts";
import { type GatewayClassModel, readGatewayClasses } from "./gateway_class.ts";
import {
  type HttpRouteModel,
  readHttpRoute,
  resolvedRefsOf,
  rulesConditions,
} from "./http_route.ts";
import { HTTP_ROUTE, type ListenerModel, type RouteKind } from "./listener.ts";
import { ReferenceGrants } from "./reference_grant.ts";

/** Objects of unknown shape; an empty list for a kind that is not served. */
export interface GatewayObjects {
  readonly classes: readonly unknown[];
  readonly gateways: readonly unknown[];
  readonly routes: readonly unknown[];
  readonly grants: readonly unknown[];
}

/** Lookups in the objects of other stages. */
export interface GatewayContext {
  readonly services: ServicePorts;
  readonly secrets: TlsSecrets;
  readonly namespaces: NamespaceLabels;
}

export interface GatewayTranslation {
  /** Sorted by name. */
  readonly classes: readonly GatewayClassModel[];
  /** The oldest first. */
  readonly gateways: readonly GatewayStatus[];
  /** The oldest first; those without a parent of ours are left out. */
  readonly routes: readonly RouteStatus[];
}

export interface GatewayStatus {
  readonly identity: Identity;
  readonly generation: number;
  readonly conditions: readonly Condition[];
  /** One for each listener, in their order. */
  readonly listeners: readonly ListenerStatus[];
}

export interface ListenerStatus {
  readonly name: string;
  readonly supportedKinds: readonly RouteKind[];
  /** Routes that are accepted, whether or not they are served. */
  readonly attachedRoutes: number;
  readonly conditions: readonly Condition[];
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
  readonly conditions: readonly Condition[];
}

export function translateGatewayApi(
  { classes: classObjects, gateways: gatewayObjects, routes, grants: grantObjects }: GatewayObjects,
  { services, secrets, namespaces }: GatewayContext,
): GatewayTranslation {
  const grants = new ReferenceGrants(grantObjects);
  const classes = readGatewayClasses(classObjects);
  const gateways = gatewayObjects.flatMap((object) => readGateway(object) ?? [])
    .filter(({ className }) => classes.get(className)?.isAccepted)
    .sort((a, b) => compareAge(a.identity, b.identity));
  const byKey = new Map(gateways.map((gateway) => [gateway.identity.key, gateway]));
  const attached = new AttachedRoutes();
  const statuses = routes.flatMap((object) => readHttpRoute(object, grants, services) ?? [])
    .sort((a, b) => compareAge(a.identity, b.identity))
    .flatMap((route) => routeStatus(route, byKey, namespaces, attached) ?? []);
  return {
    classes: [...classes.values()].sort((a, b) => compareText(a.name, b.name)),
    gateways: gateways.map((gateway) => gatewayStatus(gateway, grants, secrets, attached)),
    routes: statuses,
  };
}

/** How many routes each listener has. */
class AttachedRoutes {
  readonly #counts = new Map<ListenerModel, Set<HttpRouteModel>>();

  add(listener: ListenerModel, route: HttpRouteModel): void {
    this.#counts.set(listener, (this.#counts.get(listener) ?? new Set()).add(route));
  }

  count(listener: ListenerModel): number {
    return this.#counts.get(listener)?.size ?? 0;
  }
}

/** Null for a route without a parent of ours. */
function routeStatus(
  route: HttpRouteModel,
  gateways: ReadonlyMap<string, GatewayModel>,
  namespaces: NamespaceLabels,
  attached: AttachedRoutes,
): RouteStatus | null {
  const { identity, generation } = route;
  const { namespace } = identity.ref;
  const parents = route.parents.flatMap((parent): ParentStatus[] => {
    const gateway = gateways.get(keyOf(parent));
    if (gateway === undefined) return [];
    const attachment = attach(
      parent,
      gateway,
      { ...route, kind: HTTP_ROUTE, namespace },
      namespaces,
    );
    const conditions = parentConditions(route, attachment);
    const isAccepted = conditions.some(({ type, status }) =>
      type === "Accepted" && status === "True"
    );
    if (attachment.ok && isAccepted) {
      for (const { listener } of attachment.listeners) attached.add(listener, route);
    }
    return [{ parentRef: parent.written, conditions }];
  });
  return parents.length === 0 ? null : { identity, generation, parents };
}

function parentConditions(route: HttpRouteModel, attachment: Attachment): readonly Condition[] {
  const accepted = attachment.ok ? rulesConditions(route) : [attachment.condition];
  return [...accepted, resolvedRefsOf(route)];
}

function gatewayStatus(
  gateway: GatewayModel,
  grants: ReferenceGrants,
  secrets: TlsSecrets,
  attached: AttachedRoutes,
): GatewayStatus {
  const { identity, generation, refusal } = gateway;
  const from = { group: GATEWAY_API, kind: GATEWAYS.kind, namespace: identity.ref.namespace };
  const listeners = gateway.listeners.map((listener): ListenerStatus => ({
    name: listener.name,
    supportedKinds: listener.supportedKinds,
    attachedRoutes: attached.count(listener),
    conditions: [
      acceptedCondition(listener, gateway),
      listener.kindsFault ?? certificatesCondition(listener, from, grants, secrets),
      conflictedCondition(listener, gateway),
    ],
  }));
  const wrong = listeners.filter(({ conditions: [accepted] }) => accepted.status !== "True");
  return { identity, generation, listeners, conditions: [refusal ?? accepted(listeners, wrong)] };
}

function accepted(
  listeners: readonly ListenerStatus[],
  wrong: readonly ListenerStatus[],
): Condition {
  if (wrong.length === 0) return trueCondition("Accepted");
  const message = `${wrong.length === 1 ? "listener" : "listeners"} ${
    wrong.map(({ name }) => name).join(", ")
  } cannot be served; the conditions of each say why.`;
  return wrong.length === listeners.length
    ? falseCondition("Accepted", "ListenersNotValid", message)
    : trueCondition("Accepted", "ListenersNotValid", message);
}

/** A conflict counts before everything else that is wrong. */
function acceptedCondition(listener: ListenerModel, gateway: GatewayModel): Condition {
  const conflict = gateway.conflicts.get(listener.name);
  if (conflict !== undefined) return falseCondition("Accepted", conflict.reason, conflict.message);
  if (listener.refusal !== null) return listener.refusal;
  if (listener.protocol === "HTTPS" && gateway.httpsRefusal !== null) return gateway.httpsRefusal;
  return trueCondition("Accepted");
}

function conflictedCondition({ name }: ListenerModel, { conflicts }: GatewayModel): Condition {
  const conflict = conflicts.get(name);
  return conflict === undefined
    ? { type: "Conflicted", status: "False", reason: "NoConflicts", message: "" }
    : { type: "Conflicted", status: "True", ...conflict };
}

/** @param services By `namespace/name`. */
export function servicePorts(services: ReadonlyMap<string, ServiceModel>): ServicePorts {
  return {
    portsOf: (namespace, name) =>
      services.get(keyOf({ namespace, name }))?.ports.map(({ port }) => port) ?? null,
  };
}

/** Secrets as certificates of listeners. @param secrets By `namespace/name`. */
export function tlsSecrets(secrets: ReadonlyMap<string, SecretModel>): TlsSecrets {
  return {
    faultOf: (namespace, name) => {
      const secret = secrets.get(keyOf({ namespace, name }));
      if (secret === undefined) return `Secret ${namespace}/${name} does not exist`;
      const { reading } = secret;
      return reading.ok ? null : `Secret ${namespace}/${name} cannot be used: ${reading.message}`;
    },
  };
}
