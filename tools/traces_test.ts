import { deepEqual } from "node:assert/strict";
import { classTraces, ingressTraces } from "./traces.ts";

const STATUS = { loadBalancer: { ingress: [{ ip: "192.0.2.7" }] } };
const writtenBy = (manager: string) => [
  { manager, operation: "Apply", fieldsV1: { "f:status": { "f:loadBalancer": {} } } },
];
const ingress = (metadata: object, status: object = STATUS) => ({
  kind: "Ingress",
  metadata: { name: "web", namespace: "shop", ...metadata },
  status,
});

Deno.test("addresses written by our controller are removed, others stay", () => {
  const ours = ingress({ managedFields: writtenBy("pingress-controller") });
  const others = ingress({ managedFields: writtenBy("nginx-ingress-controller") });
  const none = ingress({ managedFields: writtenBy("pingress-controller") }, { loadBalancer: {} });
  const traces = ingressTraces([ours, others, none]);
  deepEqual(traces.map(({ name, what }) => [name, what]), [["web", "addresses in the status"]]);
  deepEqual(traces[0].patches.map(({ subresource, patch }) => [subresource, patch]), [
    ["status", { status: { loadBalancer: null } }],
  ]);
});

Deno.test("the old finalizer is removed, others stay", () => {
  const held = ingress({ finalizers: ["example.com/keep", "kinorca.com/pingress-controller"] });
  const [trace, ...more] = ingressTraces([held, ingress({ finalizers: ["example.com/keep"] })]);
  deepEqual(more, []);
  deepEqual(trace.patches.map(({ patch }) => patch), [
    { metadata: { finalizers: ["example.com/keep"] } },
  ]);
});

Deno.test("the finalizer of our GatewayClasses is removed, others stay", () => {
  const FINALIZER = "gateway-exists-finalizer.gateway.networking.k8s.io";
  const gatewayClass = (name: string, controllerName: string, ...finalizers: string[]) => ({
    kind: "GatewayClass",
    metadata: { name, finalizers },
    spec: { controllerName },
  });
  const traces = classTraces([
    gatewayClass("ours", "pingress.io/gateway-controller", "example.com/keep", FINALIZER),
    gatewayClass("unused", "pingress.io/gateway-controller", "example.com/keep"),
    gatewayClass("foreign", "example.com/controller", FINALIZER),
  ]);
  deepEqual(traces.map(({ namespace, name }) => [namespace, name]), [[null, "ours"]]);
  deepEqual(traces[0].patches, [
    { subresource: null, patch: { metadata: { finalizers: ["example.com/keep"] } } },
  ]);
});
