/** What has to be done for a Service or a slice to be as planned. */
import { deepEqual, equal, match } from "node:assert/strict";
import { gatewayPlan, type PlanChanges, proxyPod } from "../../../tests/support/gateway_plan.ts";
import { FIELD_MANAGER } from "../../kube/client.ts";
import type { KubeObject } from "../../kube/types.ts";
import { classFault, type Difference, serviceDifference, sliceDifference } from "./difference.ts";
import { plannedSlices } from "./endpoint_slices.ts";
import { proxyEndpoints } from "./proxy_endpoints.ts";
import type { AddressFields } from "./requested_addresses.ts";
import { plannedService } from "./service_object.ts";

function wanted(changes: PlanChanges = {}, fields: AddressFields = {}) {
  const plan = gatewayPlan(changes);
  return plannedService(plan, plan.ports ?? [], fields);
}

/** As the API server has it, with what it fills in. */
function live(
  spec: Readonly<Record<string, unknown>> = {},
  metadata: Readonly<Record<string, unknown>> = {},
): KubeObject {
  const planned = wanted();
  const object = {
    ...planned,
    metadata: { ...planned.metadata, uid: "s1", resourceVersion: "7", ...metadata },
    spec: {
      ...planned.spec,
      clusterIP: "10.96.0.3",
      clusterIPs: ["10.96.0.3"],
      ipFamilies: ["IPv4"],
      sessionAffinity: "None",
      internalTrafficPolicy: "Cluster",
      ...spec,
    },
  };
  return object;
}

const PORT = { name: "p80", port: 80, protocol: "TCP", targetPort: 10_007 };
const patch = (spec: unknown): Difference => ({ kind: "patch", patch: { spec, metadata: {} } });
const ofMetadata = (metadata: unknown): Difference => ({ kind: "patch", patch: { metadata } });

const SERVICES: readonly [
  what: string,
  live: KubeObject,
  expected: Difference,
  changes?: PlanChanges,
  fields?: AddressFields,
][] = [
  ["what the API server fills in is no difference", live(), { kind: "none" }],
  ["a node port is none", live({ ports: [{ ...PORT, nodePort: 30_000 }] }), { kind: "none" }],
  ["session affinity of others is none", live({ sessionAffinity: "ClientIP" }), { kind: "none" }],
  ["a selector goes", live({ selector: { app: "x" } }), patch({ selector: null })],
  ["external addresses go", live({ externalIPs: ["192.0.2.1"] }), patch({ externalIPs: null })],
  [
    "an ExternalName becomes what it was",
    live({ type: "ExternalName", externalName: "x.example.com" }),
    patch({ type: "ClusterIP", externalName: null }),
  ],
  [
    "a foreign port goes",
    live({ ports: [PORT, { ...PORT, name: "x", port: 81 }] }),
    patch({ ports: [PORT] }),
  ],
  [
    "a changed target is put back",
    live({ ports: [{ ...PORT, targetPort: 9090 }] }),
    patch({
      ports: [PORT],
    }),
  ],
  [
    "labels and annotations of others stay",
    live({}, {
      labels: { ...wanted().metadata.labels, theirs: "x" },
      annotations: { "cloud.example.com/id": "7" },
    }),
    { kind: "none" },
  ],
  [
    "a label that the Gateway has no more goes",
    live({}, {
      labels: { ...wanted().metadata.labels, team: "edge", theirs: "x" },
      managedFields: [{
        manager: FIELD_MANAGER,
        fieldsV1: { "f:metadata": { "f:labels": { "f:team": {} } } },
      }],
    }),
    ofMetadata({ labels: { team: null } }),
  ],
  [
    "a second owner goes",
    live({}, {
      ownerReferences: [
        ...wanted().metadata.ownerReferences,
        { apiVersion: "v1", kind: "Pod", name: "x", uid: "x" },
      ],
    }),
    ofMetadata({ ownerReferences: wanted().metadata.ownerReferences }),
  ],
  [
    "a port is added",
    live(),
    patch({
      ports: [PORT, { name: "p443", port: 443, protocol: "TCP", targetPort: 10_008 }],
    }),
    { ports: [{ port: 80, containerPort: 10_007 }, { port: 443, containerPort: 10_008 }] },
  ],
  [
    "another type",
    live(),
    patch({ type: "LoadBalancer", externalTrafficPolicy: "Local" }),
    { service: { type: "LoadBalancer" } },
  ],
  [
    "limits of a load balancer go with its type",
    live({
      type: "LoadBalancer",
      externalTrafficPolicy: "Local",
      loadBalancerSourceRanges: ["192.0.2.0/24"],
      loadBalancerIP: "203.0.113.7",
    }),
    patch({
      type: "ClusterIP",
      externalTrafficPolicy: null,
      loadBalancerIP: null,
      loadBalancerSourceRanges: null,
    }),
  ],
  [
    "another cluster address needs another Service",
    live(),
    { kind: "recreate" },
    {},
    { clusterIP: "10.96.0.50", clusterIPs: ["10.96.0.50"] },
  ],
  [
    "the class of a load balancer stays, and all else changes",
    live({ type: "LoadBalancer", externalTrafficPolicy: "Local", loadBalancerClass: "a" }),
    patch({ externalTrafficPolicy: "Cluster" }),
    {
      service: {
        type: "LoadBalancer",
        loadBalancerClass: "b",
        externalTrafficPolicy: "Cluster",
      },
    },
  ],
  [
    "together with the type, the class changes",
    live(),
    patch({ type: "LoadBalancer", externalTrafficPolicy: "Local", loadBalancerClass: "b" }),
    { service: { type: "LoadBalancer", loadBalancerClass: "b" } },
  ],
  ["a headless Service cannot be changed", live({ clusterIP: "None" }), { kind: "recreate" }],
];

for (const [what, there, expected, changes, fields] of SERVICES) {
  Deno.test(`a Service: ${what}`, () => {
    deepEqual(serviceDifference(wanted(changes, fields), there), expected);
  });
}

const CLASSES: readonly (readonly [string, string | null, string | undefined, RegExp | null])[] = [
  ["the same class", "a", "a", null],
  ["no class is asked for, and a cloud has set one", null, "a", null],
  ["another class", "b", "a", /has loadBalancerClass a, .* not change to b.* or write a\.$/],
  [
    "one where there is none",
    "b",
    undefined,
    /has no loadBalancerClass.* remove loadBalancerClass\.$/,
  ],
];

for (const [what, loadBalancerClass, there, says] of CLASSES) {
  Deno.test(`a class that a load balancer cannot get is named: ${what}`, () => {
    const type = "LoadBalancer";
    const fault = classFault(
      wanted({ service: { type, loadBalancerClass } }),
      live({ type, loadBalancerClass: there }),
    );
    if (says === null) return equal(fault, null);
    equal(fault?.reason, "Invalid");
    match(fault!.message, says);
  });
}

Deno.test("a slice: what others have changed is put back whole, and an equal one is not written", () => {
  const plan = gatewayPlan();
  const endpoints = proxyEndpoints([proxyPod("a")], () => null);
  const [planned] = plannedSlices(plan, plan.ports ?? [], ["IPv4"], endpoints);
  const there = (changes: Readonly<Record<string, unknown>>): KubeObject => {
    const object = { ...planned, ...changes };
    return object;
  };
  const foreign = { ...planned.endpoints[0], addresses: ["192.0.2.1"] };
  deepEqual(
    [
      sliceDifference(planned, there({})),
      sliceDifference(planned, there({ endpoints: [...planned.endpoints, foreign] })),
      sliceDifference(planned, there({ ports: null })),
      sliceDifference(planned, there({ addressType: "IPv6" })),
    ],
    [
      { kind: "none" },
      { kind: "patch", patch: { endpoints: planned.endpoints, metadata: {} } },
      { kind: "patch", patch: { ports: planned.ports, metadata: {} } },
      { kind: "recreate" },
    ],
  );
});
