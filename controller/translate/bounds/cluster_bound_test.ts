import assert from "node:assert/strict";
import {
  type ProxyMemory,
  PUBLISHED_SHARE,
  snapshotBudget,
  snapshotMemory,
} from "../../../shared/snapshot/memory.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { layPublishedSet } from "../../outputs/publish/layout.ts";
import type { EndpointSlice, Ingress, Resources } from "../../kube/resources.ts";
import { DEFAULT_CLUSTER_BOUNDS, translate, type Translation } from "../translator.ts";
import type { ClusterBounds } from "./cluster_sizes.ts";
import { TRANSLATE_OPTIONS } from "../../../tests/support/translate_options.ts";

const MIB = 1024 * 1024;
const CLOCK = () => Date.UTC(2026, 0, 1);

/** One Ingress with paths of one host of its namespace. */
function ingress(namespace: string, name: string, paths: readonly string[]): Ingress {
  return {
    metadata: { namespace, name },
    spec: {
      ingressClassName: "pingress",
      rules: [{
        host: `${namespace}.example.com`,
        http: {
          paths: paths.map((path) => ({
            path,
            pathType: "Exact",
            backend: { service: { name: "web", port: { number: 80 } } },
          })),
        },
      }],
    },
  };
}

function paths(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `/${prefix}${String(i).padStart(5, "0")}`);
}

/** Each Service has one endpoint. */
function cluster(ingresses: readonly Ingress[], address = "10.0.0.1"): Resources {
  const namespaces = new Set(ingresses.map(({ metadata }) => metadata!.namespace!));
  return {
    ingresses,
    ingressClasses: [],
    services: [...namespaces].map((namespace) => ({
      metadata: { namespace, name: "web" },
      spec: { type: "ClusterIP", ports: [{ name: "http", port: 80 }] },
    })),
    endpointSlices: [...namespaces].map((namespace): EndpointSlice => ({
      metadata: { namespace, name: "web-1", labels: { "kubernetes.io/service-name": "web" } },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080, protocol: "TCP" }],
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
    })),
    secrets: [],
  };
}

function run(
  resources: Resources,
  published: Snapshot | null,
  bounds: Partial<ClusterBounds>,
): Translation {
  return translate(resources, published, {
    ...TRANSLATE_OPTIONS,
    controllerNames: [],
    version: { epoch: "cluster", seen: {} },
    clusterBounds: { ...DEFAULT_CLUSTER_BOUNDS, ...bounds },
  }, CLOCK);
}

/** Routes by namespace. */
function routesOf({ snapshot }: Translation): Record<string, number> {
  const groups = Map.groupBy(snapshot.routes, ({ origin }) => origin.namespace);
  return Object.fromEntries(
    Array.from(groups, ([namespace, routes]) => [namespace, routes.length]),
  );
}

function refused({ problems }: Translation): string[] {
  return problems.filter(({ reason }) => reason === "ClusterLimitExceeded")
    .map(({ object }) => `${object?.namespace}/${object?.name}`);
}

/** Room for some 3,000 routes. */
const SMALL: ProxyMemory = { limit: 240 * MIB, workers: 4 };

Deno.test("over the cluster's bound the largest namespace adds nothing, others do", () => {
  const [a, b] = [ingress("small", "a", paths("a", 100)), ingress("large", "b", paths("b", 1_500))];
  const before = run(cluster([a, b]), null, { memory: SMALL });
  assert.deepEqual(routesOf(before), { small: 100, large: 1_500 });
  const more = [
    a,
    b,
    ingress("large", "c", paths("c", 900)),
    ingress("large", "d", paths("d", 900)),
    ingress("small", "e", paths("e", 50)),
    ingress("new", "f", paths("f", 50)),
  ];
  const after = run(cluster(more, "10.0.0.2"), before.snapshot, { memory: SMALL });
  assert.deepEqual(routesOf(after), { small: 150, large: 1_500, new: 50 });
  assert.deepEqual(refused(after), ["large/c", "large/d"]);
  const [problem] = after.problems.filter(({ reason }) => reason === "ClusterLimitExceeded");
  assert.match(problem.message, /240 MiB of memory and 4 workers hold, .* it is not served$/);
  for (const { addresses } of after.snapshot.upstreams) {
    assert.deepEqual(
      addresses.kind === "endpoints" && addresses.endpoints.map(({ address }) => address),
      ["10.0.0.2"],
      "endpoints are as they are now",
    );
  }
  const smaller = run(cluster(more.filter((each) => each !== b)), after.snapshot, {
    memory: SMALL,
  });
  assert.deepEqual(routesOf(smaller), { small: 150, large: 1_800, new: 50 }, "there is room again");
});

Deno.test("which Ingresses are rejected does not depend on their order", () => {
  const all = ["a", "b", "c", "d"].flatMap((namespace) =>
    [1, 2].map((i) => ingress(namespace, `i${i}`, paths(`${i}`, 1_000)))
  );
  const one = run(cluster(all), null, { memory: SMALL });
  const other = run(cluster(all.toReversed()), null, { memory: SMALL });
  assert.ok(refused(one).length > 0 && one.snapshot.routes.length > 0);
  assert.deepEqual(refused(one), refused(other));
  assert.deepEqual(one.snapshot, other.snapshot);
});

Deno.test("a changed Ingress of a full namespace that adds nothing is served", () => {
  const [a, b] = [ingress("large", "a", paths("a", 2_000)), ingress("large", "b", paths("b", 900))];
  const before = run(cluster([a]), null, { memory: SMALL });
  const renamed = ingress("large", "a", [...paths("a", 1_999), "/other"]);
  const after = run(cluster([renamed, b]), before.snapshot, { memory: SMALL });
  assert.deepEqual(refused(after), ["large/b"]);
  assert.ok(after.snapshot.routes.some(({ match }) => match.path.value === "/other"));
});

for (const limit of [512, 768, 1024]) {
  Deno.test(`the published configuration fits proxies of ${limit} MiB, and uses most of the memory`, () => {
    const memory: ProxyMemory = { limit: limit * MIB, workers: 4 };
    const wanted = Array.from(
      { length: 25 },
      (_, i) => ingress(`team-${i}`, "app", paths("p", 2_000 + i)),
    );
    const { snapshot } = run(cluster(wanted), null, { memory });
    const budget = snapshotBudget(memory, PUBLISHED_SHARE);
    const used = snapshotMemory(snapshot, memory.workers);
    assert.ok(used <= budget, `${used} of ${budget}`);
    assert.ok(used >= budget * 0.7, `${used} of ${budget}`);
  });
}

Deno.test("more random paths than ConfigMaps hold do not prevent other namespaces from publishing", () => {
  const random = (count: number) =>
    Array.from(
      { length: count },
      () => `/${crypto.getRandomValues(new Uint8Array(750)).toBase64({ alphabet: "base64url" })}`,
    );
  const tenants = ["a", "b", "c", "d"].map((namespace) => ingress(namespace, "app", random(2_900)));
  const all = cluster([...tenants, ingress("small", "app", ["/"])]);
  const unbounded = { publishedBytes: Infinity, keyBytes: Infinity, lineBytes: Infinity };
  const frozen = run(all, null, unbounded);
  assert.equal(layPublishedSet(frozen.snapshot).ok, false, "without the bound");
  const bounded = run(all, null, {});
  assert.equal(layPublishedSet(bounded.snapshot).ok, true);
  assert.equal(routesOf(bounded).small, 1);
  assert.ok(refused(bounded).length > 0 && refused(bounded).length < 4);
});

/** As `cluster`, with so many endpoints behind each namespace's Service. */
function withEndpoints(
  ingresses: readonly Ingress[],
  counts: Readonly<Record<string, number>>,
): Resources {
  const { endpointSlices, ...rest } = cluster(ingresses);
  const addresses = (count: number) =>
    Array.from({ length: count }, (_, i) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
  return {
    ...rest,
    endpointSlices: endpointSlices.map((slice) => ({
      ...slice,
      endpoints: addresses(counts[slice.metadata!.namespace!]).map((address) => ({
        addresses: [address],
        conditions: { ready: true },
      })),
    })),
  };
}

/** By namespace. */
function endpointsOf({ snapshot }: Translation): Record<string, number> {
  return Object.fromEntries(
    snapshot.upstreams.map(({ id, addresses }) => [
      id.split("/")[0],
      addresses.kind === "endpoints" ? addresses.endpoints.length : 0,
    ]),
  );
}

Deno.test("endpoints of 20 namespaces at their bound fit proxies of 1 GiB, and a small one keeps all of its own", () => {
  const memory: ProxyMemory = { limit: 1024 * MIB, workers: 4 };
  const large = Array.from({ length: 20 }, (_, i) => `large-${i}`);
  const ingresses = [...large, "small"].map((name) => ingress(name, "web", ["/"]));
  const counts = { ...Object.fromEntries(large.map((name) => [name, 20_000])), small: 50 };
  const first = run(withEndpoints(ingresses, counts), null, { memory });
  const fits = ({ snapshot }: Translation) =>
    snapshotMemory(snapshot, memory.workers) <= snapshotBudget(memory, PUBLISHED_SHARE);
  assert.ok(fits(first));
  const served = endpointsOf(first);
  assert.equal(served.small, 50);
  const sizes = new Set(large.map((name) => served[name]));
  assert.equal(sizes.size, 1, "all large ones get as many");
  assert.ok([...sizes][0] > 5_000);
  // What endpoints take above their share yields to routes.
  const more = [...ingresses, ingress("small", "more", paths("m", 5_000))];
  const second = run(withEndpoints(more, counts), first.snapshot, { memory });
  assert.deepEqual(refused(second), []);
  assert.equal(routesOf(second).small, 5_001);
  assert.ok(fits(second));
  assert.equal(endpointsOf(second).small, 50);
  const one = [...ingresses, ingress("small", "one", ["/one"])];
  const third = run(withEndpoints(one, counts), first.snapshot, { memory });
  assert.deepEqual(
    third.snapshot.upstreams,
    first.snapshot.upstreams,
    "a route changes no backend",
  );
  assert.ok(endpointsOf(second)["large-0"] < served["large-0"]);
});

Deno.test("with more 4,096-bit keys than Secrets hold, the largest namespace adds none, others do", () => {
  const base64 = (length: number) => btoa("x".repeat(length));
  const data = { "tls.crt": base64(1_800), "tls.key": base64(3_272) };
  const counts = { large: 1_000, b: 800, c: 800, d: 800 };
  const withTls = Object.entries(counts).map(([namespace, count]): Ingress => {
    const { metadata, spec } = ingress(namespace, "web", ["/"]);
    const tls = Array.from({ length: count }, (_, i) => ({
      hosts: [`h${i}.${namespace}.example.com`],
      secretName: `s${i}`,
    }));
    return { metadata, spec: { ...spec, tls } };
  });
  const secrets = Object.entries(counts).flatMap(([namespace, count]) =>
    Array.from({ length: count }, (_, i) => ({
      metadata: { namespace, name: `s${i}` },
      type: "kubernetes.io/tls",
      data,
    }))
  );
  const result = run({ ...cluster(withTls), secrets }, null, { memory: null });
  assert.deepEqual(refused(result), ["large/web"]);
  const [problem] = result.problems.filter(({ reason }) => reason === "ClusterLimitExceeded");
  assert.match(problem.message, /more than the Secrets with private keys hold/);
  assert.deepEqual(Object.keys(routesOf(result)).sort(), ["b", "c", "d"]);
});
