/**
 * What is known of Gateways from objects alone. In: a Gateway, its certificates, and how many routes each of
 * its listeners has. Out: its conditions and those of its listeners; whether proxies have it is for
 * whoever writes the status.
 */
import type { Identity } from "../../base/identity.ts";
import { showSome } from "../../base/json.ts";
import { GATEWAY_API, GATEWAYS } from "../../kube/types.ts";
import type { ListenerCertificates } from "./certificate_refs.ts";
import { type Condition, falseCondition, trueCondition } from "./objects/condition.ts";
import { type ContainerPorts, portKey } from "./objects/container_ports.ts";
import type { ConfiguredGateway } from "./gateway_parameters.ts";
import type { GatewayModel } from "./objects/gateway.ts";
import type { Infrastructure } from "./objects/infrastructure.ts";
import type { ListenerModel, RouteKind } from "./objects/listener.ts";
import type { AddressKind, ServiceSettings } from "./objects/parameters.ts";
import type { Referrer } from "./objects/reference_grant.ts";
import { sharedPortFault } from "./sharing/shared_ports.ts";

export interface GatewayStatus {
  readonly identity: Identity;
  /** "" in a folder, where there is none. */
  readonly uid: string;
  readonly generation: number;
  readonly className: string;
  /** What it asks of its address. */
  readonly infrastructure: Infrastructure;
  readonly address: AddressKind;
  /** What its Service is like; null where it shares its address, or its parameters cannot be used. */
  readonly service: ServiceSettings | null;
  readonly conditions: readonly Condition[];
  /** One for each listener, in their order. */
  readonly listeners: readonly ListenerStatus[];
  /** Those that are served, by public port; none where it shares its address. */
  readonly ports: readonly GatewayPort[];
}

/** A public port of a Gateway, and the port of the proxies' socket behind it. */
export interface GatewayPort {
  readonly port: number;
  readonly containerPort: number;
}

export interface ListenerStatus {
  readonly name: string;
  readonly supportedKinds: readonly RouteKind[];
  /** Routes that are accepted, whether or not they are served. */
  readonly attachedRoutes: number;
  readonly conditions: readonly Condition[];
}

/** For references of a Gateway. */
export function referrerOf({ identity: { ref: { namespace } } }: GatewayModel): Referrer {
  return { group: GATEWAY_API, kind: GATEWAYS.kind, namespace };
}

/** What is known of all listeners. */
export interface ListenerOutcomes {
  readonly certificates: ReadonlyMap<ListenerModel, ListenerCertificates>;
  /** Of those whose hostnames overlap. */
  readonly overlaps: ReadonlyMap<ListenerModel, Condition>;
  readonly containerPorts: ContainerPorts;
  readonly attachedRoutes: (listener: ListenerModel) => number;
}

export function gatewayStatus(
  gateway: ConfiguredGateway,
  { certificates, overlaps, containerPorts, attachedRoutes }: ListenerOutcomes,
): GatewayStatus {
  const { identity, uid, generation, className, infrastructure, refusal } = gateway;
  const { address, service } = gateway;
  const listeners = gateway.listeners.map((listener): ListenerStatus => ({
    name: listener.name,
    supportedKinds: listener.supportedKinds,
    attachedRoutes: attachedRoutes(listener),
    conditions: [
      withPort(acceptedCondition(listener, gateway), listener, gateway, containerPorts),
      resolvedRefs(listener, certificates.get(listener)!),
      conflictedCondition(listener, gateway),
      ...overlaps.has(listener) ? [overlaps.get(listener)!] : [],
    ],
  }));
  const wrong = listeners.filter(({ conditions: [accepted] }) => accepted.status !== "True");
  return {
    ...{ identity, uid, generation, className, infrastructure, address, service, listeners },
    conditions: [refusal ?? accepted(listeners, wrong)],
    ports: portsOf(gateway, containerPorts),
  };
}

/** By public port, each once. */
function portsOf(
  { identity: { key }, listeners }: GatewayModel,
  containerPorts: ContainerPorts,
): readonly GatewayPort[] {
  const ports = [...new Set(listeners.map(({ port }) => port))].sort((a, b) => a - b);
  return ports.flatMap((port) => {
    const containerPort = containerPorts.get(portKey(key, port));
    return containerPort === undefined ? [] : [{ port, containerPort }];
  });
}

function accepted(
  listeners: readonly ListenerStatus[],
  wrong: readonly ListenerStatus[],
): Condition {
  if (wrong.length === 0) return trueCondition("Accepted");
  const message = `${wrong.length === 1 ? "listener" : "listeners"} ${
    showSome(wrong.map(({ name }) => name))
  } cannot be served; the conditions of each say why.`;
  return wrong.length === listeners.length
    ? falseCondition("Accepted", "ListenersNotValid", message)
    : trueCondition("Accepted", "ListenersNotValid", message);
}

/**
 * Whether a listener can be served, but for its container port. A conflict counts before everything else.
 */
export function acceptedCondition(listener: ListenerModel, gateway: ConfiguredGateway): Condition {
  const conflict = gateway.conflicts.get(listener.name);
  if (conflict !== undefined) return { type: "Accepted", status: "False", ...conflict };
  if (listener.refusal !== null) return listener.refusal;
  if (listener.protocol === "HTTPS" && gateway.httpsRefusal !== null) return gateway.httpsRefusal;
  const crowdedOut = gateway.crowdedOut.get(listener.name);
  if (crowdedOut !== undefined) return crowdedOut;
  return (gateway.address === "shared" ? sharedPortFault(listener) : null) ??
    trueCondition("Accepted");
}

/** Certificates first: without one the listener serves nothing; with unknown kinds of routes it serves the others. */
function resolvedRefs(
  { kindsFault }: ListenerModel,
  { condition }: ListenerCertificates,
): Condition {
  if (kindsFault === null) return condition;
  if (condition.status === "True") return kindsFault;
  const { type, status, reason } = condition;
  const message = `${condition.message} ${kindsFault.message}`;
  return { type, status, reason, message, each: [condition, kindsFault] };
}

function withPort(
  condition: Condition,
  { port, field }: ListenerModel,
  { identity: { key, ref: { namespace } }, isServed, address }: ConfiguredGateway,
  containerPorts: ContainerPorts,
): Condition {
  const needsPort = isServed && address === "own" && condition.status === "True";
  return !needsPort || containerPorts.has(portKey(key, port)) ? condition : falseCondition(
    "Accepted",
    "PortUnavailable",
    `${field}: no port of --listen-range is free for namespace ${namespace}, which gets at most half ` +
      "of those that other namespaces leave. Remove listeners or Gateways, or start the controller " +
      "with a larger range.",
  );
}

function conflictedCondition({ name }: ListenerModel, { conflicts }: GatewayModel): Condition {
  const conflict = conflicts.get(name);
  return conflict === undefined
    ? { type: "Conflicted", status: "False", reason: "NoConflicts", message: "" }
    : { type: "Conflicted", status: "True", ...conflict };
}
