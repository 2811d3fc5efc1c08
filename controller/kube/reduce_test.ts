import assert from "node:assert/strict";
import * as reduce from "./reduce.ts";
import { DAEMON_SETS, type KubeObject, SECRETS } from "./types.ts";

const METADATA = {
  name: "web",
  namespace: "shop",
  uid: "1",
  resourceVersion: "2",
  generation: 3,
  creationTimestamp: "2026-01-01T00:00:00Z",
  finalizers: ["kinorca.com/pingress-controller"],
  labels: { app: "web" },
  annotations: {
    "kubectl.kubernetes.io/last-applied-configuration": "{}",
    "external-dns.alpha.kubernetes.io/hostname": "a.example.com",
    "nginx.ingress.kubernetes.io/rewrite-target": "/",
    "kubernetes.io/ingress.class": "pingress",
    "pingress.io/upstream-tls-ca": "authority",
  },
  managedFields: [
    { manager: "kubectl", operation: "Apply", fieldsV1: { "f:spec": {} } },
    { manager: "pingress-controller", operation: "Apply", subresource: "status", time: "now" },
  ],
};

const KEPT = {
  name: "web",
  namespace: "shop",
  uid: "1",
  resourceVersion: "2",
  generation: 3,
  creationTimestamp: "2026-01-01T00:00:00Z",
  finalizers: ["kinorca.com/pingress-controller"],
};

const KEPT_ANNOTATIONS = {
  "nginx.ingress.kubernetes.io/rewrite-target": "/",
  "kubernetes.io/ingress.class": "pingress",
  "pingress.io/upstream-tls-ca": "authority",
};

function object(fields: Record<string, unknown>): KubeObject {
  return { apiVersion: "v1", kind: "Any", metadata: METADATA, ...fields };
}

Deno.test("an Ingress keeps its spec, its addresses, and whether its status is ours", () => {
  const spec = { ingressClassName: "pingress", rules: [{ host: "a" }] };
  const status = { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] }, more: 1 };
  assert.deepEqual(reduce.reduceIngress(object({ spec, status })), {
    metadata: {
      ...KEPT,
      annotations: KEPT_ANNOTATIONS,
      managedFields: [{ manager: "pingress-controller", subresource: "status" }],
    },
    spec,
    status: { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } },
  });
});

Deno.test("an IngressClass keeps its controller and whether it is the default", () => {
  const annotations = { "ingressclass.kubernetes.io/is-default-class": "true", other: "x" };
  const given = {
    metadata: { name: "pingress", annotations },
    spec: { controller: "a/b", parameters: {} },
  };
  const { metadata, spec } = reduce.reduceIngressClass(given as KubeObject) as typeof given;
  assert.deepEqual(metadata.annotations, {
    "ingressclass.kubernetes.io/is-default-class": "true",
  });
  assert.deepEqual(spec, { controller: "a/b" });
});

Deno.test("a Service keeps its ports, names and addresses", () => {
  const port = { name: "web", port: 80, protocol: "TCP", appProtocol: "https", targetPort: "x" };
  const spec = {
    type: "LoadBalancer",
    clusterIP: "10.0.0.1",
    clusterIPs: ["10.0.0.1"],
    externalIPs: ["192.0.2.1"],
  };
  const full = {
    spec: { ...spec, ports: [{ ...port, nodePort: 30000 }], selector: { app: "web" } },
    status: { loadBalancer: {}, conditions: [] },
  };
  assert.deepEqual(reduce.reduceService(object(full)), {
    metadata: { ...KEPT, annotations: KEPT_ANNOTATIONS },
    spec: { ...spec, ports: [port] },
    status: { loadBalancer: {} },
  });
});

Deno.test("an EndpointSlice keeps endpoint addresses, not their pods", () => {
  const labels = { "kubernetes.io/service-name": "web", app: "web" };
  const endpoint = {
    addresses: ["10.0.0.1"],
    conditions: { ready: true },
    zone: "a",
    hints: { forZones: [{ name: "a" }] },
  };
  const slice = {
    ...object({
      addressType: "IPv4",
      endpoints: [{ ...endpoint, targetRef: { name: "pod" }, nodeName: "n" }],
      ports: [{ name: "web", port: 80, protocol: "TCP", appProtocol: "http" }],
    }),
    metadata: { ...METADATA, labels },
  };
  assert.deepEqual(reduce.reduceEndpointSlice(slice), {
    metadata: { ...KEPT, labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    endpoints: [endpoint],
    ports: [{ name: "web", port: 80, protocol: "TCP" }],
  });
});

Deno.test("a Secret keeps its type, and the data that somebody reads", () => {
  const data = { "tls.crt": "x", junk: "x" };
  const given = object({ type: "kubernetes.io/tls", data, immutable: true });
  const { finalizers: _, ...metadata } = KEPT;
  assert.deepEqual(reduce.reduceSecret(given), {
    metadata,
    type: "kubernetes.io/tls",
    data: { "tls.crt": "x" },
  });
});

Deno.test("a Secret keeps neither finalizers nor a long type", () => {
  const finalizers = ["x".repeat(100_000)];
  for (const [prefix, type] of [["kubernetes.io/", "kubernetes.io/…"], ["example.com/", "…"]]) {
    const secret = { metadata: { ...METADATA, finalizers }, type: prefix.padEnd(100_000, "x") };
    const kept = reduce.reduceSecret(secret as KubeObject) as KubeObject & { type?: unknown };
    assert.equal(kept.type, type);
    assert.ok(reduce.sizeOf(kept) < 1_000);
  }
});

Deno.test("an object reduced to its version keeps name, namespace and resourceVersion", () => {
  assert.deepEqual(reduce.reduceToVersion(object({})), {
    metadata: { name: "web", namespace: "shop", resourceVersion: "2" },
  });
});

Deno.test("a node's heartbeat is not a change", () => {
  const node = (time: string) =>
    reduce.reduceNode(object({
      spec: { podCIDR: "10.0.0.0/24" },
      status: {
        addresses: [{ type: "InternalIP", address: "192.0.2.1" }],
        conditions: [
          { type: "Ready", status: "True", lastHeartbeatTime: time },
          { type: "DiskPressure", status: "False", lastHeartbeatTime: time },
        ],
        images: [{ names: ["x"] }],
      },
    }));
  assert.deepEqual(node("1"), node("2"));
  assert.deepEqual(node("1"), {
    metadata: { ...KEPT, labels: { app: "web" } },
    spec: {},
    status: {
      addresses: [{ type: "InternalIP", address: "192.0.2.1" }],
      conditions: [{ type: "Ready", status: "True" }],
    },
  });
});

Deno.test("our own objects are kept completely, without kubectl's last-applied annotation", () => {
  const { "kubectl.kubernetes.io/last-applied-configuration": _, ...annotations } =
    METADATA.annotations;
  const given = { metadata: METADATA, spec: { a: 1 } } as KubeObject;
  assert.deepEqual(reduce.keepWhole(DAEMON_SETS)(given), {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { ...METADATA, annotations },
    spec: { a: 1 },
  });
  const { managedFields: _fields, ...metadata } = METADATA;
  assert.deepEqual(reduce.keepContent(SECRETS)(given).metadata, { ...metadata, annotations });
});

Deno.test("fields of the wrong type are kept for the validation and break nothing", () => {
  const broken = object({ spec: "text", status: 5, endpoints: {}, ports: [null], data: null });
  const all = [
    reduce.reduceIngress,
    reduce.reduceIngressClass,
    reduce.reduceService,
    reduce.reduceEndpointSlice,
    reduce.reduceSecret,
    reduce.reduceNode,
    reduce.reducePod,
  ];
  for (const each of all) assert.equal(each(broken).metadata.name, "web");
});

Deno.test("an object that is being deleted keeps its deletionTimestamp", () => {
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  const { metadata } = reduce.reduceIngress({ metadata: { ...METADATA, deletionTimestamp } });
  assert.equal(metadata.deletionTimestamp, deletionTimestamp);
});

Deno.test("a ConfigMap keeps the values of known keys, and the first of the others", () => {
  const data = { b: "2", z: "x".repeat(1000), a: "1", "__proto__x": "3" };
  const keep = reduce.boundedConfigMap(2_000, ["a", "b", "c"]);
  assert.deepEqual(keep(object({ data })), {
    metadata: { name: "web", namespace: "shop", resourceVersion: "2" },
    data: { a: "1", b: "2", "__proto__x": "" },
  });
  assert.deepEqual(keep(object({ data: { a: "1" } })), {
    metadata: { name: "web", namespace: "shop", resourceVersion: "2" },
    data: { a: "1" },
  });
  assert.deepEqual(reduce.boundedConfigMap(1_000, ["a"])(object({ data })), {
    metadata: { name: "web", namespace: "shop", resourceVersion: "2" },
    excess: { bound: "bytes", limit: 1_000 },
  });
});
