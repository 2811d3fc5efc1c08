/** What is kept of objects of a tenant: whole ones within the bounds, stubs of others. */
import assert from "node:assert/strict";
import { CUT_TEXT, type Excess, excessOf } from "./excess.ts";
import { type BoundedKind, ObjectLedger } from "./object_bounds.ts";
import {
  reduceEndpointSlice,
  reduceGatewayObject,
  reduceIngress,
  reduceSecret,
  reduceService,
} from "./reduce.ts";
import type { KubeObject } from "./types.ts";

const BOUNDS = { ingressPaths: 10, objectBytes: 4096, namespaceBytes: 8192 };
const REDUCE = {
  Ingress: reduceIngress,
  Service: reduceService,
  EndpointSlice: reduceEndpointSlice,
  HTTPRoute: reduceGatewayObject,
  Gateway: reduceGatewayObject,
  ListenerSet: reduceGatewayObject,
  ReferenceGrant: reduceGatewayObject,
  BackendTLSPolicy: reduceGatewayObject,
  Secret: reduceSecret,
} as const;

/** A kind, and how often there was room again. */
function ledgerOf(kind: keyof typeof REDUCE) {
  const calls = { room: 0 };
  const ledger = new ObjectLedger(kind, BOUNDS, () => void calls.room++);
  return { calls, ledger, take: ledger.bounded(REDUCE[kind]) };
}

function excess(bound: Excess["bound"], limit: number, hosts: readonly string[] = []): Excess {
  return { bound, limit, hosts, hasMoreHosts: false };
}

function ingress(
  name: string,
  paths: number,
  { length = 10, namespace = "crowd", snippet = "" } = {},
): KubeObject {
  const path = (i: number) => ({ path: `/${String(i).padStart(length - 1, "x")}` });
  const object = {
    metadata: {
      name,
      namespace,
      uid: name,
      annotations: { "nginx.ingress.kubernetes.io/auth-snippet": snippet },
      finalizers: ["example.com/one"],
    },
    spec: {
      ingressClassName: "pingress",
      tls: [{ secretName: "tls" }],
      rules: [{
        host: "a.example.com",
        http: { paths: Array.from({ length: paths }, (_, i) => path(i)) },
      }],
    },
    status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } },
  };
  return object as unknown as KubeObject;
}

Deno.test("an Ingress within the bounds is stored completely", () => {
  const { take } = ledgerOf("Ingress");
  assert.deepEqual(take(ingress("a", 10)), reduceIngress(ingress("a", 10)));
});

Deno.test("an Ingress with too many paths keeps its class, status, Secrets and annotations", () => {
  const { take } = ledgerOf("Ingress");
  const stub = take(ingress("a", 11, { snippet: "x".repeat(3000) })) as unknown as Record<
    string,
    Record<string, unknown>
  >;
  assert.deepEqual(excessOf(stub), excess("paths", 10, ["a.example.com"]));
  assert.deepEqual(stub.spec, { ingressClassName: "pingress", tls: [{ secretName: "tls" }] });
  assert.deepEqual(stub.status, { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } });
  assert.deepEqual(stub.metadata.finalizers, ["example.com/one"]);
  const annotations = stub.metadata.annotations as Record<string, string>;
  assert.equal(annotations["nginx.ingress.kubernetes.io/auth-snippet"], "x".repeat(3000));
});

Deno.test("a stub has each annotation whole or not at all, short ones first", () => {
  const { take } = ledgerOf("Ingress");
  const nginx = "nginx.ingress.kubernetes.io/";
  const annotations = {
    [`${nginx}allowlist-source-range`]: "192.0.2.1,".repeat(1600),
    [`${nginx}server-snippet`]: "x".repeat(200_000),
    [`${nginx}denylist-source-range`]: "192.0.2.1,".repeat(800),
    [`${nginx}use-regex`]: "true",
    "kubernetes.io/ingress.class": "y".repeat(20_000),
  };
  const { metadata, spec } = ingress("a", 11) as unknown as Record<string, object>;
  const object = { metadata: { ...metadata, annotations }, spec } as unknown as KubeObject;
  assert.deepEqual(take(object).metadata.annotations, {
    [`${nginx}allowlist-source-range`]: CUT_TEXT,
    [`${nginx}server-snippet`]: CUT_TEXT,
    [`${nginx}denylist-source-range`]: "192.0.2.1,".repeat(800),
    [`${nginx}use-regex`]: "true",
    "kubernetes.io/ingress.class": "y".repeat(254),
  });
});

Deno.test("a stub has the hosts of its rules, each once, as many as fit", () => {
  const { take } = ledgerOf("Ingress");
  const stubOf = (hosts: readonly unknown[]) => {
    const rules = hosts.map((host) => ({ host }));
    const object = { metadata: { name: "a", namespace: "crowd" }, spec: { rules } };
    return excessOf(take(object as unknown as KubeObject));
  };
  const few = [...Array(9).fill("b.example.com"), "a.example.com", undefined, 7, "x".repeat(300)];
  assert.deepEqual(stubOf(few), excess("paths", 10, ["", "a.example.com", "b.example.com"]));
  const many = Array.from({ length: 2000 }, (_, i) => `${1000 + i}.example.com`);
  const stub = stubOf(many);
  assert.deepEqual(stub?.hosts, many.slice(0, 862));
  assert.equal(stub?.hasMoreHosts, true);
});

Deno.test("rules without paths count as paths", () => {
  const { take } = ledgerOf("Ingress");
  const rules = Array.from({ length: 11 }, (_, i) => ({ host: `h${i}.example.com` }));
  const object = { metadata: { name: "a", namespace: "crowd" }, spec: { rules } };
  assert.equal(excessOf(take(object as unknown as KubeObject))?.bound, "paths");
});

Deno.test("an object of any kind with too many bytes is stored as a small stub", () => {
  const objects = {
    Ingress: {
      spec: { rules: [{ host: "x".repeat(5000) }], tls: [{ hosts: ["y".repeat(20_000)] }] },
    },
    Service: {
      spec: { type: "ClusterIP", ports: Array.from({ length: 500 }, (_, port) => ({ port })) },
    },
    EndpointSlice: {
      addressType: "IPv4",
      endpoints: Array.from({ length: 500 }, (_, i) => ({ addresses: [`10.0.0.${i}`] })),
    },
    HTTPRoute: {
      spec: { parentRefs: [{ name: "web" }], rules: [{ name: "x".repeat(5000) }] },
    },
    Gateway: { spec: { gatewayClassName: "a", listeners: [{ name: "x".repeat(5000) }] } },
    ListenerSet: { spec: { listeners: [{ name: "x".repeat(5000) }] } },
    ReferenceGrant: { spec: { from: [{ namespace: "x".repeat(5000) }] } },
    BackendTLSPolicy: { spec: { validation: { hostname: "x".repeat(5000) } } },
  };
  for (const [kind, fields] of Object.entries(objects)) {
    const { take } = ledgerOf(kind as keyof typeof REDUCE);
    const object = { metadata: { name: "a", namespace: "crowd" }, ...fields };
    const stub = take(object as unknown as KubeObject);
    assert.deepEqual(excessOf(stub), excess("bytes", 4096), kind);
    assert.ok(JSON.stringify(stub).length < 300, kind);
  }
});

Deno.test("an HTTPRoute with too many bytes keeps its parents, hosts and status", () => {
  const { take } = ledgerOf("HTTPRoute");
  const kept = {
    parentRefs: [{ name: "web", sectionName: "http" }],
    hostnames: ["a.example.com"],
  };
  const status = { parents: [{ parentRef: { name: "web" }, controllerName: "example.com/other" }] };
  const object = {
    metadata: { name: "a", namespace: "crowd" },
    spec: { ...kept, rules: [{ name: "x".repeat(5000) }] },
    status,
  };
  const stub = take(object as unknown as KubeObject) as unknown as typeof object;
  assert.deepEqual(excessOf(stub), excess("bytes", 4096));
  assert.deepEqual(stub.spec, kept);
  assert.deepEqual(stub.status, status);
});

/** What a stub keeps, so that nothing is opened, and its status can be written. */
const KEPT_SPECS: readonly (readonly [BoundedKind, Readonly<Record<string, unknown>>])[] = [
  ["Gateway", { gatewayClassName: "pingress" }],
  ["ListenerSet", { parentRef: { name: "web" } }],
  ["ReferenceGrant", {}],
  ["BackendTLSPolicy", { targetRefs: [{ group: "", kind: "Service", name: "api" }] }],
  // As v1alpha2 has it.
  ["BackendTLSPolicy", { targetRef: { group: "", kind: "Service", name: "api" } }],
];

for (const [kind, kept] of KEPT_SPECS) {
  Deno.test(`a ${kind} with too many bytes keeps of its spec ${Object.keys(kept).join(", ") || "nothing"}`, () => {
    const { take } = ledgerOf(kind);
    const metadata = { name: "a", namespace: "crowd", generation: 3 };
    const object = { metadata, spec: { ...kept, listeners: "x".repeat(5000), from: [{}] } };
    const stub = take(object as unknown as KubeObject) as unknown as typeof object;
    assert.deepEqual(excessOf(stub), excess("bytes", 4096));
    assert.deepEqual(stub.spec, kept);
    assert.equal(stub.metadata.generation, 3);
  });
}

/** A status in which an entry, or a condition, has so many bytes. */
const STATUSES = {
  "HTTPRoute with entries of ours": (bytes: number) => ({
    parents: [{ controllerName: "pingress.io/gateway-controller", message: "x".repeat(bytes) }],
  }),
  "HTTPRoute with entries of another controller": (bytes: number) => ({
    parents: [{ controllerName: "example.com/other", message: "x".repeat(bytes) }],
  }),
  "Gateway with conditions and listeners": (bytes: number) => ({
    ...{ conditions: [{ message: "x".repeat(bytes) }], listeners: ["x".repeat(bytes)] },
  }),
  "ListenerSet with conditions": (bytes: number) => ({
    conditions: [{ message: "x".repeat(bytes) }],
  }),
  "Ingress with addresses": (bytes: number) => ({
    loadBalancer: { ingress: [{ hostname: "x".repeat(bytes) }] },
  }),
};

function withStatus(name: string, status: unknown): KubeObject {
  const spec = { parentRefs: [{ name: "web" }], listeners: [{ name: "http" }] };
  return { metadata: { name, namespace: "crowd" }, spec, status } as unknown as KubeObject;
}

for (const [what, statusOf] of Object.entries(STATUSES)) {
  Deno.test(`the status makes no stub of a ${what}`, () => {
    const { take } = ledgerOf(what.split(" ")[0] as BoundedKind);
    assert.equal(excessOf(take(withStatus("a", statusOf(5000)))), null);
  });
}

Deno.test("statuses of the controller take no room of a namespace, those of others do", () => {
  for (const [what, statusOf] of Object.entries(STATUSES)) {
    const { take } = ledgerOf(what.split(" ")[0] as BoundedKind);
    for (const name of ["a", "b", "c"]) take(withStatus(name, statusOf(3000)));
    const stub = take(withStatus("d", undefined));
    assert.equal(excessOf(stub)?.bound, what.includes("another") ? "namespace" : undefined, what);
  }
});

Deno.test("each parent of a route takes as much room of a namespace, whatever its status says", () => {
  const isWhole = (status: unknown) => {
    const { take } = ledgerOf("HTTPRoute");
    const parentRefs = Array.from({ length: 15 }, (_, i) => ({ name: `g${i}` }));
    const route = { metadata: { name: "a", namespace: "crowd" }, spec: { parentRefs }, status };
    take(route as unknown as KubeObject);
    return excessOf(take({ ...route, metadata: { ...route.metadata, name: "b" } } as never)) ===
      null;
  };
  const statuses = [undefined, { parents: [] }, STATUSES["HTTPRoute with entries of ours"](3000)];
  assert.deepEqual(statuses.map(isWhole), [false, false, false]);
});

Deno.test("new and growing objects of a full namespace become stubs, existing ones stay", () => {
  const { take } = ledgerOf("Ingress");
  const isWhole = (object: KubeObject) => excessOf(take(object)) === null;
  const [first, second] = [
    ingress("first", 2, { length: 1000 }),
    ingress("second", 2, { length: 1000 }),
  ];
  assert.deepEqual([first, second].map(isWhole), [true, true]);
  assert.equal(isWhole(ingress("third", 2, { length: 1400 })), true);
  const fourth = { length: 1000 };
  assert.deepEqual(
    excessOf(take(ingress("fourth", 2, fourth))),
    excess("namespace", 8192, ["a.example.com"]),
  );
  assert.equal(isWhole(second), true, "the same again");
  assert.equal(isWhole(ingress("first", 2, { length: 1500 })), false, "it grows");
  assert.equal(isWhole(ingress("second", 1, { length: 1000 })), true, "it shrinks");
  assert.equal(isWhole(ingress("fourth", 2, { ...fourth, namespace: "other" })), true, "elsewhere");
});

Deno.test("objects that were reduced to stubs are listed again once there is room", () => {
  const { take, ledger, calls } = ledgerOf("Ingress");
  for (const name of ["a", "b"]) take(ingress(name, 2, { length: 1500 }));
  const crowdedOut = ingress("d", 2, { length: 1500 });
  assert.equal(excessOf(take(crowdedOut))?.bound, "namespace");
  ledger.forget("other", "a");
  ledger.forget("crowd", "unknown");
  assert.equal(calls.room, 0);
  ledger.forget("crowd", "a");
  assert.equal(calls.room, 1);
  assert.equal(excessOf(take(crowdedOut)), null);
  ledger.forget("crowd", "b");
  assert.equal(calls.room, 1, "nothing is crowded out any more");
});

Deno.test("objects that were reduced to stubs are listed again once others have shrunk", () => {
  const { take, calls } = ledgerOf("Ingress");
  for (const name of ["a", "b"]) take(ingress(name, 2, { length: 1850 }));
  const crowdedOut = ingress("d", 2, { length: 1500 });
  assert.equal(excessOf(take(crowdedOut))?.bound, "namespace");
  take(ingress("b", 2, { length: 1840 }));
  assert.equal(calls.room, 0, "too little for another list");
  take(ingress("a", 2, { length: 10 }));
  assert.equal(calls.room, 1);
  take(ingress("a", 2, { length: 10 }));
  assert.equal(calls.room, 1, "listed again, it has not shrunk");
  assert.equal(excessOf(take(crowdedOut)), null);
  take(ingress("a", 1, { length: 10 }));
  assert.equal(calls.room, 1, "nothing is crowded out any more");
});

Deno.test("a million bytes added to and deleted from a namespace leave nothing behind", () => {
  const { take, ledger, calls } = ledgerOf("Ingress");
  for (let round = 0; round < 100; round++) {
    for (const name of ["a", "b", "c", "d", "e"]) take(ingress(name, 2, { length: 1500 }));
    for (const name of ["a", "b", "c", "d", "e"]) ledger.forget("crowd", name);
  }
  assert.equal(excessOf(take(ingress("a", 2, { length: 1500 }))), null);
  assert.ok(calls.room > 0);
});
