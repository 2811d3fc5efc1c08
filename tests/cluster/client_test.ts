/** Calls to a real API server: what comes back, and what failure looks like. */
import assert from "node:assert/strict";
import { type CallReport, KubeClient } from "../../controller/kube/client.ts";
import type { CredentialSource } from "../../controller/kube/credential_source.ts";
import { loadCredentials } from "../../controller/kube/credentials.ts";
import { CONFIG_MAPS, type KubeObject, NAMESPACES, SECRETS } from "../../controller/kube/types.ts";
import { startGateway } from "./support/api_gateway.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { startFaultProxy } from "./support/fault_proxy.ts";
import { heldUntil, tooManyRequests } from "./support/gateway_answers.ts";

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

class ClientScene implements Disposable {
  readonly client: KubeClient;
  readonly calls: CallReport[] = [];

  constructor(source: string | CredentialSource) {
    const reading = loadCredentials(
      typeof source === "string" ? { kind: "kubeconfig", file: source, context: null } : source,
    );
    if (!reading.ok) throw new Error(reading.message);
    this.client = new KubeClient(reading.credentials, (call) => this.calls.push(call));
  }

  [Symbol.dispose](): void {
    this.client.close();
  }
}

/** The reason that a call failed for. */
function reasonOf(result: { ok: true } | { ok: false; error: { reason: string } }): string {
  return result.ok ? "none" : result.error.reason;
}

clusterTest("an object is applied, read, patched, replaced and deleted", async (cluster) => {
  const namespace = await cluster.newNamespace();
  using scene = new ClientScene(cluster.kubeconfig);
  const { client, calls } = scene;
  const object: ConfigMap = { metadata: { namespace, name: "one" }, data: { a: "1" } };
  const applied = await client.apply<ConfigMap>(CONFIG_MAPS, object);
  assert.ok(applied.ok);
  assert.deepEqual(applied.value.data, { a: "1" });
  const patched = await client.patch<ConfigMap>(CONFIG_MAPS, namespace, "one", {
    data: { b: "2" },
  }, { type: "merge" });
  assert.ok(patched.ok);
  assert.deepEqual(patched.value.data, { a: "1", b: "2" });
  const { metadata } = patched.value;
  assert.ok((await client.update(CONFIG_MAPS, { ...object, metadata })).ok);
  const read = await client.get<ConfigMap>(CONFIG_MAPS, namespace, "one");
  assert.ok(read.ok);
  assert.deepEqual(read.value.data, { a: "1" });
  assert.ok((await client.delete(CONFIG_MAPS, namespace, "one")).ok);
  assert.equal(reasonOf(await client.get(CONFIG_MAPS, namespace, "one")), "NotFound");
  assert.deepEqual(calls.map(({ verb, resource, code }) => `${verb} ${resource} ${code}`), [
    "apply configmaps 201",
    "patch configmaps 200",
    "update configmaps 200",
    "get configmaps 200",
    "delete configmaps 200",
    "get configmaps 404",
  ]);
});

clusterTest("writes with a stale resourceVersion are rejected", async (cluster) => {
  const namespace = await cluster.newNamespace();
  using scene = new ClientScene(cluster.kubeconfig);
  const { client } = scene;
  const object: ConfigMap = { metadata: { namespace, name: "one" } };
  const made = await client.create<ConfigMap>(CONFIG_MAPS, object);
  assert.ok(made.ok);
  const { uid, resourceVersion } = made.value.metadata;
  assert.equal(reasonOf(await client.create(CONFIG_MAPS, object)), "AlreadyExists");
  const changed = { ...object, data: { a: "1" } };
  assert.equal(
    reasonOf(await client.apply(CONFIG_MAPS, changed, { resourceVersion: "1" })),
    "Conflict",
  );
  assert.ok((await client.apply(CONFIG_MAPS, changed, { resourceVersion })).ok);
  for (const precondition of [{ uid: crypto.randomUUID() }, { resourceVersion }]) {
    assert.equal(
      reasonOf(await client.delete(CONFIG_MAPS, namespace, "one", precondition)),
      "Conflict",
    );
  }
  assert.ok((await client.delete(CONFIG_MAPS, namespace, "one", { uid })).ok);
});

clusterTest("a dry run stores nothing", async (cluster) => {
  const namespace = await cluster.newNamespace();
  using scene = new ClientScene(cluster.kubeconfig);
  const object = { metadata: { namespace, name: "one" } };
  assert.ok((await scene.client.apply(CONFIG_MAPS, object, { dryRun: true })).ok);
  assert.equal(reasonOf(await scene.client.get(CONFIG_MAPS, namespace, "one")), "NotFound");
});

clusterTest("an invalid name reaches no other object", async (cluster) => {
  const namespace = await cluster.newNamespace();
  using scene = new ClientScene(cluster.kubeconfig);
  for (const name of ["a/b", "../../namespaces", "a?watch=1", "%2e%2e", "a#b", "ä"]) {
    const result = await scene.client.get(CONFIG_MAPS, namespace, name);
    assert.ok(!result.ok, name);
    assert.ok([400, 404].includes(result.error.code), `${name}: ${result.error.code}`);
  }
});

clusterTest(
  "a call without a response ends at its timeout or when it is cancelled",
  async (cluster) => {
    await using gateway = await startGateway(cluster);
    using scene = new ClientScene(await gateway.kubeconfigFor(cluster.adminToken));
    const { promise, resolve } = Promise.withResolvers<void>();
    gateway.inject({ resource: "configmaps" }, heldUntil(promise));
    const { client } = scene;
    const late = client.get(CONFIG_MAPS, "default", "one", { deadline: 200 });
    assert.equal(reasonOf(await late), "Deadline");
    const stop = new AbortController();
    const given = client.get(CONFIG_MAPS, "default", "one", { signal: stop.signal });
    await eventually(
      "the request",
      () => gateway.recorded({ resource: "configmaps" }).length === 2,
    );
    stop.abort();
    assert.equal(reasonOf(await given), "Aborted");
    const before = await client.get(CONFIG_MAPS, "default", "one", { signal: stop.signal });
    assert.equal(reasonOf(before), "Aborted");
    resolve();
  },
);

clusterTest(
  "dead connections cost one call its timeout, and the next opens a new one",
  async (cluster) => {
    await using proxy = await startFaultProxy(cluster.port);
    const file = await cluster.writeFile(cluster.kubeconfigFor(cluster.adminToken, proxy.server));
    using scene = new ClientScene(file);
    const read = (deadline: number) => scene.client.get(NAMESPACES, null, "default", { deadline });
    // Several at a time leave as many idle connections.
    const warm = await Promise.all(Array.from({ length: 6 }, () => read(10_000)));
    assert.ok(warm.every(({ ok }) => ok));
    const { accepted } = proxy;
    proxy.stall(true);
    assert.equal(reasonOf(await read(300)), "Deadline");
    proxy.stall(false);
    assert.ok((await read(10_000)).ok);
    assert.equal(proxy.accepted, accepted + 1);
  },
);

clusterTest(
  "a missing or foreign server is an error with its reason",
  async (cluster) => {
    await using proxy = await startFaultProxy(cluster.port);
    const file = await cluster.writeFile(cluster.kubeconfigFor(cluster.adminToken, proxy.server));
    using scene = new ClientScene(file);
    let recoveries = 0;
    scene.client.onRecovery(() => recoveries++);
    const read = () => scene.client.get(NAMESPACES, null, "default");
    assert.ok((await read()).ok);
    proxy.refuse(true);
    proxy.reset();
    assert.equal(reasonOf(await read()), "Unreachable");
    assert.equal(reasonOf(await read()), "Unreachable");
    assert.equal(recoveries, 0);
    proxy.refuse(false);
    assert.ok((await read()).ok);
    assert.ok((await read()).ok);
    assert.equal(recoveries, 1);
    const other = await cluster.authority.issue({ names: ["example.com"] });
    const foreign = JSON.parse(cluster.kubeconfigFor(cluster.adminToken));
    foreign.clusters[0].cluster["certificate-authority-data"] = btoa(other.chain);
    using stranger = new ClientScene(await cluster.writeFile(JSON.stringify(foreign)));
    const result = await stranger.client.get(NAMESPACES, null, "default");
    assert.ok(!result.ok);
    assert.equal(result.error.code, 0);
    assert.match(result.error.message, /cert/i);
  },
);

clusterTest("a truncated response is an error", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await cluster.apply({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace, name: "large" },
    data: { text: "x".repeat(500_000) },
  });
  await using gateway = await startGateway(cluster);
  gateway.inject({ resource: "configmaps" }, async (_request, forward) => {
    const bytes = await (await forward()).bytes();
    return new Response(bytes.subarray(0, 1000), {
      headers: { "content-type": "application/json" },
    });
  });
  using scene = new ClientScene(await gateway.kubeconfigFor(cluster.adminToken));
  const result = await scene.client.get(CONFIG_MAPS, namespace, "large");
  assert.ok(!result.ok);
  assert.equal(result.error.reason, "Garbled");
  assert.ok(!result.error.message.includes("xxx"));
});

clusterTest(
  "a client that stops ends its reads, but no write and no call with a deadline",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    await cluster.apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace, name: "one" },
    });
    await using gateway = await startGateway(cluster);
    const released = Promise.withResolvers<void>();
    const held = gateway.inject({ resource: "configmaps" }, heldUntil(released.promise));
    using scene = new ClientScene(await gateway.kubeconfigFor(cluster.adminToken));
    const { client } = scene;
    const reads = [
      client.get(CONFIG_MAPS, namespace, "one"),
      client.list(CONFIG_MAPS, { namespace }),
    ];
    const others = [
      client.get(CONFIG_MAPS, namespace, "one", { deadline: 30_000 }),
      client.patch(CONFIG_MAPS, namespace, "one", { data: { a: "1" } }, { type: "merge" }),
    ];
    await eventually("four calls", () => held.hits === 4 || null);
    let ended = 0;
    for (const other of others) other.then(() => ended++);
    client.abandonReads();
    for (const read of reads) assert.equal(reasonOf(await read), "Aborted");
    assert.equal(reasonOf(await client.get(CONFIG_MAPS, namespace, "one")), "Aborted");
    assert.equal(ended, 0);
    released.resolve();
    for (const other of others) assert.equal(reasonOf(await other), "none");
  },
);

clusterTest(
  "questions whether the API server has or allows something are no failed calls",
  async (cluster) => {
    using admin = new ClientScene(cluster.kubeconfig);
    const missing = await admin.client.discover("example.com", null);
    assert.equal(missing.ok || missing.error.code, 404);
    assert.equal((await admin.client.discover("apps", "v1")).ok, true);
    assert.deepEqual(admin.calls.map(({ code }) => code), [200]);
    const namespace = await cluster.newNamespace();
    using nobody = new ClientScene(await cluster.serviceAccountKubeconfig(namespace, "nobody"));
    const list = (isOptional: boolean) =>
      nobody.client.list(SECRETS, { namespace }, { isOptional });
    for (const denied of [await list(true), await list(false)]) {
      assert.equal(denied.ok || denied.error.code, 403);
    }
    assert.deepEqual(nobody.calls.map(({ code }) => code), [403]);
  },
);

clusterTest("Retry-After of the server is reported", async (cluster) => {
  await using gateway = await startGateway(cluster);
  gateway.inject({ resource: "secrets" }, tooManyRequests(7));
  using scene = new ClientScene(await gateway.kubeconfigFor(cluster.adminToken));
  const result = await scene.client.get(SECRETS, "default", "one");
  assert.ok(!result.ok);
  assert.deepEqual([result.error.code, result.error.retryAfter], [429, 7_000]);
});

clusterTest(
  "a service account's token is read again when the server rejects it",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    await cluster.apply([{
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: namespace },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "cluster-admin",
      },
      subjects: [{ kind: "ServiceAccount", name: "default", namespace }],
    }]);
    const folder = await Deno.makeTempDir();
    try {
      await Deno.writeTextFile(`${folder}/ca.crt`, cluster.caPem);
      await Deno.writeTextFile(`${folder}/token`, "expired\n");
      using scene = new ClientScene({
        kind: "service-account",
        host: "127.0.0.1",
        port: String(cluster.port),
        folder,
      });
      assert.equal(reasonOf(await scene.client.get(NAMESPACES, null, "default")), "Unauthorized");
      const token = await cluster.serviceAccountToken(namespace, "default");
      await Deno.writeTextFile(`${folder}/token`, `${token}\n`);
      assert.ok((await scene.client.get(NAMESPACES, null, "default")).ok);
      await Deno.remove(`${folder}/token`);
      await Deno.writeTextFile(`${folder}/token`, "expired\n");
      assert.ok((await scene.client.get(NAMESPACES, null, "default")).ok, "read within a minute");
    } finally {
      await Deno.remove(folder, { recursive: true });
      await cluster.delete("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", namespace);
    }
  },
);

clusterTest("an empty list of metadata is a list", async (cluster) => {
  const namespace = await cluster.newNamespace();
  using scene = new ClientScene(cluster.kubeconfig);
  const selection = { namespace, metadataOnly: true };
  const list = await scene.client.list(SECRETS, selection);
  assert.ok(list.ok);
  assert.deepEqual(list.value.items, []);
});
