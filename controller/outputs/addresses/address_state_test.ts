/** The addresses that the status of a Gateway shows. */
import { deepEqual, match } from "node:assert/strict";
import { gatewayPlan, type PlanChanges } from "../../../tests/support/gateway_plan.ts";
import type { KubeObject } from "../../kube/types.ts";
import { addressState } from "./address_state.ts";
import type { AddressFault } from "./plan.ts";

interface Live {
  readonly type?: string;
  readonly clusterIPs?: readonly string[];
  readonly ports?: readonly (readonly [port: number, target: number])[];
  readonly ingress?: readonly Readonly<Record<string, string>>[];
}

function service(
  { type = "ClusterIP", clusterIPs = ["10.96.0.3"], ports = [[80, 10_007]], ingress = [] }: Live,
): KubeObject {
  const object = {
    metadata: { namespace: "shop", name: "web-pingress" },
    spec: {
      type,
      clusterIPs,
      ports: ports.map(([port, targetPort]) => ({ port, targetPort })),
    },
    status: { loadBalancer: { ingress } },
  };
  return object;
}

const BALANCED: PlanChanges = { service: { type: "LoadBalancer" } };
const ip = (value: string) => `IPAddress ${value}`;

const STATES: readonly [
  what: string,
  live: Live | null,
  addresses: readonly string[],
  fault: readonly [AddressFault["reason"], RegExp] | null,
  changes?: PlanChanges,
][] = [
  ["a ClusterIP", {}, [ip("10.96.0.3")], null],
  ["both families", { clusterIPs: ["10.96.0.3", "fd00::3"] }, [
    ip("10.96.0.3"),
    ip("fd00::3"),
  ], null],
  [
    "a load balancer with an IP address and a name",
    { type: "LoadBalancer", ingress: [{ ip: "203.0.113.7" }, { hostname: "lb.example.com" }] },
    [ip("203.0.113.7"), "Hostname lb.example.com"],
    null,
    BALANCED,
  ],
  [
    "a load balancer that is not there yet",
    { type: "LoadBalancer" },
    [],
    [
      "AddressNotAssigned",
      /no load balancer .* start the controller with --service-type ClusterIP/,
    ],
    BALANCED,
  ],
  [
    "the address that was asked for",
    { type: "LoadBalancer", ingress: [{ ip: "203.0.113.7" }] },
    [ip("203.0.113.7")],
    null,
    { ...BALANCED, addresses: [{ type: "IPAddress", value: "203.0.113.7" }] },
  ],
  [
    "another address than was asked for",
    { type: "LoadBalancer", ingress: [{ ip: "203.0.113.8" }] },
    [],
    ["AddressNotUsable", /203\.0\.113\.8 in place of 203\.0\.113\.7/],
    { ...BALANCED, addresses: [{ type: "IPAddress", value: "203.0.113.7" }] },
  ],
  [
    "a host name that was asked for, though a Service is there",
    {},
    [],
    ["AddressNotUsable", /Hostname/],
    { addresses: [{ type: "Hostname", value: "a.example.com" }] },
  ],
  ["no Service yet", null, [], ["Pending", /shop\/web-pingress is to be created/]],
  ["no open port yet", null, [], ["Pending", /no port/], { ports: [] }],
  ["ports that are not known yet", {}, [ip("10.96.0.3")], null, { ports: null }],
  [
    "a port that the Service does not have yet",
    {},
    [ip("10.96.0.3")],
    ["Pending", /port 443/],
    { ports: [{ port: 80, containerPort: 10_007 }, { port: 443, containerPort: 10_008 }] },
  ],
];

for (const [what, live, addresses, fault, changes] of STATES) {
  Deno.test(`a Gateway's addresses: ${what}`, () => {
    const there = live === null ? null : service(live);
    const state = addressState(gatewayPlan(changes), there, null);
    deepEqual(state.addresses.map(({ type, value }) => `${type} ${value}`), addresses);
    deepEqual(state.fault?.reason ?? null, fault?.[0] ?? null);
    if (fault !== null) match(state.fault?.message ?? "", fault[1]);
  });
}

Deno.test("a refused change leaves the addresses that are there, and says why", () => {
  const refusal: AddressFault = { reason: "Invalid", message: "exceeded quota" };
  deepEqual(addressState(gatewayPlan(), service({}), refusal), {
    addresses: [{ type: "IPAddress", value: "10.96.0.3" }],
    fault: refusal,
  });
});

Deno.test("an address that the API server does not assign leaves none", () => {
  const refusal: AddressFault = { reason: "AddressNotUsable", message: "not in the range" };
  deepEqual(addressState(gatewayPlan(), service({}), refusal), { addresses: [], fault: refusal });
});
