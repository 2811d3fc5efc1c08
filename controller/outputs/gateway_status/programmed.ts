/**
 * Whether a Gateway is programmed. In: its translation, its addresses, and which proxies have it. Out: the
 * condition Programmed of the Gateway and of each listener, or that those that stand are left as they are.
 *
 * True is only what every proxy that clients may reach has acknowledged, with its sockets bound. While a
 * newer content is on its way to them, nothing is said: the condition that stands keeps the generation that
 * it is about.
 *
 * https://gateway-api.sigs.k8s.io/geps/gep-1364/
 */
import {
  type Condition,
  falseCondition,
  trueCondition,
} from "../../translate/gateway/objects/condition.ts";
import type { GatewayAddressState } from "../addresses/plan.ts";
import type { GatewayStatus, ListenerStatus } from "../../translate/gateway/gateway_translation.ts";

/** How far a content has come. */
export type Progress =
  /** No proxy reports: all read mounted files. */
  | { readonly kind: "unreported" }
  /** No proxy is ready, or none is known yet. */
  | { readonly kind: "no-proxy" }
  /** `missing`: names of those that have not acknowledged it. */
  | { readonly kind: "partly"; readonly total: number; readonly missing: readonly string[] }
  | { readonly kind: "everywhere" };

export interface ProgrammedInput {
  readonly gateway: GatewayStatus;
  /** Null where it is not known yet. */
  readonly address: GatewayAddressState | null;
  readonly progress: Progress;
  /** Whether it has been on its way for longer than it may be. */
  readonly isOverdue: boolean;
  /** By name of the listener, why its socket is not bound somewhere: `pod a: EADDRINUSE`. */
  readonly obstacles: ReadonlyMap<string, string>;
}

/** Null leaves the condition that stands. */
export interface Programmed {
  readonly gateway: Condition | null;
  /** By name. */
  readonly listeners: ReadonlyMap<string, Condition | null>;
}

/** Proxies that a message names. */
const MAX_NAMES = 3;

const TYPE = "Programmed";

/** What stands in the way: a condition, or `KEEP` while it is not decided; null for nothing. */
type Obstacle = Condition | typeof KEEP | null;

const KEEP = "keep";

export function programmedOf(input: ProgrammedInput): Programmed {
  const { gateway, obstacles } = input;
  const ofAll = refusalOf(gateway) ?? addressFault(input);
  const onWay = ofAll ?? onItsWay(input);
  return {
    gateway: conditionOf(ofAll ?? noListener(gateway) ?? onWay ?? unbound(gateway, obstacles)),
    listeners: new Map(gateway.listeners.map((listener) => [
      listener.name,
      conditionOf(listenerFault(listener) ?? onWay ?? portFault(obstacles.get(listener.name))),
    ])),
  };
}

function conditionOf(obstacle: Obstacle): Condition | null {
  if (obstacle === KEEP) return null;
  return obstacle ?? trueCondition(TYPE);
}

/** Of a Gateway that is not accepted nothing is served, or not as it asks. */
function refusalOf({ conditions }: GatewayStatus): Condition | null {
  const accepted = conditions.find(({ type }) => type === "Accepted");
  if (accepted === undefined || accepted.status === "True") return null;
  const reason = accepted.reason === "ListenersNotValid" ? accepted.reason : "Invalid";
  return falseCondition(TYPE, reason, accepted.message);
}

/** A Gateway may be accepted without one that can be served: their certificates may come yet. */
function noListener({ listeners }: GatewayStatus): Condition | null {
  if (listeners.some((listener) => listenerFault(listener) === null)) return null;
  return falseCondition(
    TYPE,
    "ListenersNotValid",
    "no listener can be served; the conditions of each say why.",
  );
}

function addressFault({ address }: ProgrammedInput): Condition | null {
  if (address === null) return null;
  if (address.fault !== null) {
    const { reason, message } = address.fault;
    // It may be that proxies are waited for, and then these are to be named.
    return isUnderWay(address) ? null : falseCondition(TYPE, reason, message);
  }
  if (address.addresses.length > 0) return null;
  return falseCondition(TYPE, "AddressNotAssigned", "the Gateway has no address yet.");
}

/** Its address, or ports of it, come by themselves, as far as is known. */
export function isUnderWay(address: GatewayAddressState | null): boolean {
  return address === null || address.fault?.reason === "Pending";
}

function onItsWay({ address, progress, isOverdue }: ProgrammedInput): Obstacle {
  const isReached = !isUnderWay(address);
  const reason = address?.fault?.message ?? "its address is not known yet.";
  if (progress.kind === "unreported") {
    if (!isReached && isOverdue) return pending(reason);
    return {
      type: TYPE,
      status: "Unknown",
      reason: "Pending",
      message: "published; with --proxy-updates=files, proxies do not report what they serve.",
    };
  }
  if (progress.kind === "everywhere" && isReached) return null;
  if (!isOverdue) return KEEP;
  if (progress.kind === "no-proxy") return pending("no proxy is ready.");
  if (progress.kind === "everywhere") return pending(reason);
  const { total, missing } = progress;
  const having = total - missing.length;
  const others = missing.length > MAX_NAMES ? ` and ${missing.length - MAX_NAMES} more` : "";
  return pending(
    `${having} of ${total} ${total === 1 ? "proxy has" : "proxies have"} it; waiting for ` +
      `${missing.slice(0, MAX_NAMES).join(", ")}${others}.`,
  );
}

function pending(message: string): Condition {
  return falseCondition(TYPE, "Pending", message);
}

function unbound(
  { listeners }: GatewayStatus,
  obstacles: ReadonlyMap<string, string>,
): Condition | null {
  const names = listeners.map(({ name }) => name).filter((name) => obstacles.has(name));
  return names.length === 0 ? null : falseCondition(
    TYPE,
    "ListenersNotValid",
    `not every proxy could open the ${names.length === 1 ? "port" : "ports"} of ${
      names.join(", ")
    }; the conditions of each listener say why.`,
  );
}

/** References without which nothing can be served; of kinds of routes, those that are known are. */
const NEEDED: ReadonlySet<string> = new Set(["InvalidCertificateRef", "RefNotPermitted"]);

function listenerFault({ conditions }: ListenerStatus): Condition | null {
  const fault = conditions.find(({ type, status, reason }) =>
    status === "False" && (type === "Accepted" || (type === "ResolvedRefs" && NEEDED.has(reason)))
  );
  return fault === undefined ? null : falseCondition(TYPE, "Invalid", fault.message);
}

function portFault(reason: string | undefined): Condition | null {
  return reason === undefined ? null : falseCondition(TYPE, "PortUnavailable", reason);
}
