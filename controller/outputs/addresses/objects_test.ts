/** The Service and the EndpointSlices of a Gateway, as they are created. */
import { deepEqual, equal } from "node:assert/strict";
import { gatewayPlan, proxyPod } from "../../../tests/support/gateway_plan.ts";
import { plannedSlices } from "./endpoint_slices.ts";
import { proxyEndpoints } from "./proxy_endpoints.ts";
import { plannedService } from "./service_object.ts";

const LABELS = {
  "app.kubernetes.io/managed-by": "pingress-controller",
  "app.kubernetes.io/part-of": "pingress",
  "gateway.networking.k8s.io/gateway-name": "web",
  "gateway.networking.k8s.io/gateway-class-name": "pingress",
};
const OWNER = {
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "Gateway",
  name: "web",
  uid: "u1",
};
const PORTS = [{ port: 443, containerPort: 10_200 }, { port: 80, containerPort: 10_007 }];
const zones = new Map([["node-1", "a"]]);
const zoneOf = (node: string) => zones.get(node) ?? null;

Deno.test("the Service has a port for each public port, no selector, and the labels of GEP-1762", () => {
  const plan = gatewayPlan({
    labels: { team: "edge", "app.kubernetes.io/managed-by": "somebody" },
    annotations: { note: "of the Gateway" },
    service: {
      type: "LoadBalancer",
      loadBalancerClass: "example.com/internal",
      allowedSourceRanges: ["192.0.2.0/24"],
      annotations: { note: "of the parameters", other: "kept" },
    },
  });
  deepEqual(plannedService(plan, PORTS, { loadBalancerIP: "203.0.113.7" }), {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      namespace: "shop",
      name: "web-pingress",
      labels: { team: "edge", ...LABELS },
      annotations: { note: "of the Gateway", other: "kept" },
      ownerReferences: [OWNER],
    },
    spec: {
      type: "LoadBalancer",
      loadBalancerIP: "203.0.113.7",
      ipFamilyPolicy: "PreferDualStack",
      externalTrafficPolicy: "Local",
      loadBalancerClass: "example.com/internal",
      loadBalancerSourceRanges: ["192.0.2.0/24"],
      ports: [
        { name: "p80", port: 80, protocol: "TCP", targetPort: 10_007 },
        { name: "p443", port: 443, protocol: "TCP", targetPort: 10_200 },
      ],
    },
  });
});

Deno.test("a Service of type ClusterIP has no policy for traffic from outside", () => {
  const { spec } = plannedService(gatewayPlan(), PORTS, {});
  equal("externalTrafficPolicy" in spec, false);
});

Deno.test("slices have the proxies of each family, with node, zone and the pod's conditions", () => {
  const pods = [
    proxyPod("c", { ips: ["10.244.0.9"], ready: false, node: "node-2" }),
    proxyPod("a", { ips: ["10.244.0.7", "fd00::7"] }),
    proxyPod("b", { ips: ["10.244.0.8"], terminating: true }),
    proxyPod("d", { ips: [] }),
    proxyPod("e", { phase: "Failed" }),
  ];
  const slices = plannedSlices(
    gatewayPlan({ labels: { team: "edge" } }),
    PORTS,
    ["IPv4", "IPv6"],
    proxyEndpoints(pods, zoneOf),
  );
  deepEqual(slices.map(({ metadata, addressType }) => [metadata.name, addressType]), [
    ["web-pingress-ipv4-0", "IPv4"],
    ["web-pingress-ipv6-0", "IPv6"],
  ]);
  const [ipv4, ipv6] = slices;
  deepEqual(ipv4.metadata.labels, {
    team: "edge",
    ...LABELS,
    "kubernetes.io/service-name": "web-pingress",
    "endpointslice.kubernetes.io/managed-by": "gateway.pingress.io",
  });
  deepEqual(ipv4.metadata.ownerReferences, [OWNER]);
  deepEqual(ipv4.ports, [
    { name: "p80", port: 10_007, protocol: "TCP" },
    { name: "p443", port: 10_200, protocol: "TCP" },
  ]);
  deepEqual(
    ipv4.endpoints.map(({ addresses, conditions, nodeName, zone, targetRef }) => [
      ...addresses,
      Object.values(conditions).join(),
      nodeName,
      zone,
      `${targetRef.kind} ${targetRef.namespace}/${targetRef.name} ${targetRef.uid}`,
    ]),
    [
      ["10.244.0.7", "true,true,false", "node-1", "a", "Pod pingress-system/a uid-of-a"],
      ["10.244.0.8", "false,true,true", "node-1", "a", "Pod pingress-system/b uid-of-b"],
      ["10.244.0.9", "false,false,false", "node-2", undefined, "Pod pingress-system/c uid-of-c"],
    ],
  );
  deepEqual(ipv6.endpoints.map(({ addresses }) => addresses), [["fd00::7"]]);
});

Deno.test("500 proxies fill a slice, and without any an empty one stays", () => {
  const sizes = (count: number) => {
    const pods = Array.from({ length: count }, (_, i) => proxyPod(`pod-${i}`));
    return plannedSlices(gatewayPlan(), PORTS, ["IPv4"], proxyEndpoints(pods, zoneOf))
      .map(({ endpoints }) => endpoints.length);
  };
  deepEqual([sizes(0), sizes(500), sizes(501)], [[0], [500], [500, 1]]);
});

Deno.test("without a port there is no slice: it would lead to all ports of its endpoints", () => {
  deepEqual(
    plannedSlices(gatewayPlan(), [], ["IPv4"], proxyEndpoints([proxyPod("a")], zoneOf)),
    [],
  );
});
