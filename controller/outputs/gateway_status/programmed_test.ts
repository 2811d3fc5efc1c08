import { SETTINGS } from "../../../tests/support/gateway_plan.ts";
import { readInfrastructure } from "../../translate/gateway/objects/infrastructure.ts";
import { deepEqual } from "node:assert/strict";
import {
  type Condition,
  falseCondition,
  trueCondition,
} from "../../translate/gateway/objects/condition.ts";
import type { GatewayStatus } from "../../translate/gateway/gateway_translation.ts";
import { type ProgrammedInput, programmedOf, type Progress } from "./programmed.ts";

const accepted = trueCondition("Accepted");
const resolved = trueCondition("ResolvedRefs");

function gateway(
  listeners: Readonly<Record<string, readonly Condition[]>>,
  condition = accepted,
): GatewayStatus {
  const ref = { kind: "Gateway", namespace: "apps", name: "web" };
  return {
    identity: { ref, key: "apps/web", label: "Gateway apps/web", createdAt: 0 },
    uid: "u1",
    infrastructure: readInfrastructure({}),
    address: "own",
    service: SETTINGS,
    ...{ generation: 2, className: "pingress", ports: [] },
    conditions: [condition],
    listeners: Object.entries(listeners).map(([name, conditions]) => ({
      ...{ name, conditions, supportedKinds: [], attachedRoutes: 0 },
    })),
  };
}

const everywhere: Progress = { kind: "everywhere" };
const partly: Progress = { kind: "partly", total: 3, missing: ["proxy-b"] };

const ADDRESSES = [{ type: "IPAddress", value: "203.0.113.1" }] as const;

const sound: ProgrammedInput = {
  gateway: gateway({ http: [accepted, resolved], https: [accepted, resolved] }),
  address: { addresses: ADDRESSES, fault: null },
  progress: everywhere,
  isOverdue: false,
  obstacles: new Map(),
};

/** Status and reason, with the message of what is not True; `kept` for what is left as it stands. */
function show(condition: Condition | null): string {
  if (condition === null) return "kept";
  const { status, reason, message } = condition;
  return [status, reason, message].filter((text) => text !== "").join(" ");
}

const INVALID = falseCondition("ResolvedRefs", "InvalidCertificateRef", "no Secret");
const PROTOCOL = falseCondition("Accepted", "UnsupportedProtocol", "no UDP");

const CASES: readonly {
  readonly what: string;
  readonly input: Partial<ProgrammedInput>;
  readonly gateway: string;
  /** Of both listeners, or of each. */
  readonly listeners: string | readonly [string, string];
}[] = [
  {
    what: "acknowledged by every proxy, with an address",
    input: {},
    gateway: "True Programmed",
    listeners: "True Programmed",
  },
  {
    what: "on its way to a proxy",
    input: { progress: partly },
    gateway: "kept",
    listeners: "kept",
  },
  {
    what: "on its way to a proxy for too long",
    input: { progress: partly, isOverdue: true },
    gateway: "False Pending 2 of 3 proxies have it; waiting for proxy-b.",
    listeners: "False Pending 2 of 3 proxies have it; waiting for proxy-b.",
  },
  {
    what: "with many proxies behind",
    input: {
      progress: { kind: "partly", total: 5, missing: ["a", "b", "c", "d", "e"] },
      isOverdue: true,
    },
    gateway: "False Pending 0 of 5 proxies have it; waiting for a, b, c and 2 more.",
    listeners: "False Pending 0 of 5 proxies have it; waiting for a, b, c and 2 more.",
  },
  {
    what: "for a moment without a ready proxy",
    input: { progress: { kind: "no-proxy" } },
    gateway: "kept",
    listeners: "kept",
  },
  {
    what: "without a ready proxy",
    input: { progress: { kind: "no-proxy" }, isOverdue: true },
    gateway: "False Pending no proxy is ready.",
    listeners: "False Pending no proxy is ready.",
  },
  {
    what: "with --proxy-updates=files",
    input: { progress: { kind: "unreported" } },
    gateway: "Unknown Pending published; with --proxy-updates=files, proxies do not report what " +
      "they serve.",
    listeners:
      "Unknown Pending published; with --proxy-updates=files, proxies do not report what " +
      "they serve.",
  },
  {
    what: "without an address yet",
    input: { address: { addresses: [], fault: null } },
    gateway: "False AddressNotAssigned the Gateway has no address yet.",
    listeners: "False AddressNotAssigned the Gateway has no address yet.",
  },
  {
    what: "with an address that cannot be used, whatever proxies have",
    input: {
      address: { addresses: [], fault: { reason: "AddressNotUsable", message: "taken" } },
      progress: partly,
    },
    gateway: "False AddressNotUsable taken",
    listeners: "False AddressNotUsable taken",
  },
  {
    what: "while a port is being added to its Service",
    input: { address: { addresses: ADDRESSES, fault: { reason: "Pending", message: "port" } } },
    gateway: "kept",
    listeners: "kept",
  },
  {
    what: "with a Service that lacks a port for too long",
    input: {
      address: { addresses: ADDRESSES, fault: { reason: "Pending", message: "port" } },
      isOverdue: true,
    },
    gateway: "False Pending port",
    listeners: "False Pending port",
  },
  {
    what: "with a Service that lacks a port, as a proxy has been behind for too long",
    input: {
      address: { addresses: [], fault: { reason: "Pending", message: "port" } },
      progress: partly,
      isOverdue: true,
    },
    gateway: "False Pending 2 of 3 proxies have it; waiting for proxy-b.",
    listeners: "False Pending 2 of 3 proxies have it; waiting for proxy-b.",
  },
  {
    what: "with --proxy-updates=files and a Service that cannot be written",
    input: {
      address: { addresses: [], fault: { reason: "Pending", message: "quota" } },
      progress: { kind: "unreported" },
      isOverdue: true,
    },
    gateway: "False Pending quota",
    listeners: "False Pending quota",
  },
  {
    what: "while its address is not known",
    input: { address: null },
    gateway: "kept",
    listeners: "kept",
  },
  {
    what: "with an address that is not known for too long",
    input: { address: null, isOverdue: true },
    gateway: "False Pending its address is not known yet.",
    listeners: "False Pending its address is not known yet.",
  },
  {
    what: "with a refused Gateway",
    input: {
      gateway: gateway(
        { http: [accepted, resolved], https: [accepted, resolved] },
        falseCondition("Accepted", "UnsupportedAddress", "no such type"),
      ),
    },
    gateway: "False Invalid no such type",
    listeners: "False Invalid no such type",
  },
  {
    what: "with no valid listener",
    input: {
      gateway: gateway(
        { http: [PROTOCOL, resolved], https: [PROTOCOL, resolved] },
        falseCondition("Accepted", "ListenersNotValid", "none"),
      ),
    },
    gateway: "False ListenersNotValid none",
    listeners: "False Invalid no UDP",
  },
  {
    what: "with one listener that is not accepted",
    input: { gateway: gateway({ http: [accepted, resolved], https: [PROTOCOL, resolved] }) },
    gateway: "True Programmed",
    listeners: ["True Programmed", "False Invalid no UDP"],
  },
  {
    what: "with one listener without a certificate, on its way",
    input: {
      gateway: gateway({ http: [accepted, resolved], https: [accepted, INVALID] }),
      progress: partly,
    },
    gateway: "kept",
    listeners: ["kept", "False Invalid no Secret"],
  },
  {
    what: "with accepted listeners of which none can be served",
    input: { gateway: gateway({ http: [accepted, INVALID], https: [accepted, INVALID] }) },
    gateway: "False ListenersNotValid no listener can be served; the conditions of each say why.",
    listeners: "False Invalid no Secret",
  },
  {
    what: "with a kind of routes that does not exist",
    input: {
      gateway: gateway({
        http: [accepted, falseCondition("ResolvedRefs", "InvalidRouteKinds", "bogus")],
        https: [accepted, resolved],
      }),
    },
    gateway: "True Programmed",
    listeners: "True Programmed",
  },
  {
    what: "with a socket that is not open in a proxy",
    input: { obstacles: new Map([["https", "the port is not open in a: EADDRINUSE."]]) },
    gateway: "False ListenersNotValid not every proxy could open the port of https; the " +
      "conditions of each listener say why.",
    listeners: ["True Programmed", "False PortUnavailable the port is not open in a: EADDRINUSE."],
  },
];

for (const { what, input, gateway, listeners } of CASES) {
  Deno.test(`the condition Programmed of a Gateway ${what}`, () => {
    const programmed = programmedOf({ ...sound, ...input });
    deepEqual(
      [show(programmed.gateway), ...programmed.listeners.values().map(show)],
      [gateway, ...typeof listeners === "string" ? [listeners, listeners] : listeners],
    );
  });
}
