/** The list-watch against a real API server, on good days and on bad ones. */
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { CONFIG_MAPS } from "../../controller/kube/types.ts";
import type { TestCluster } from "./support/cluster.ts";
import { startCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { startFaultProxy } from "./support/fault_proxy.ts";
import { startGateway } from "./support/api_gateway.ts";
import {
  failure,
  gone,
  goneInWatch,
  tooManyRequests,
  watchThatSays,
} from "./support/gateway_answers.ts";
import { configMap, FAST, InformerScene } from "./support/informer_scene.ts";

/** A list of this page only, if there is one. */
const OF_PAGES = { verb: "list", resource: "configmaps" } as const;

async function createAll(cluster: TestCluster, namespace: string, names: readonly string[]) {
  for (let i = 0; i < names.length; i += 20) {
    const some = names.slice(i, i + 20);
    await Promise.all(some.map((name) => cluster.create(configMap(namespace, name, { n: name }))));
  }
}

async function arrives(
  cluster: TestCluster,
  namespace: string,
  scene: InformerScene,
  name: string,
) {
  await cluster.apply(configMap(namespace, name));
  await eventually(`${name} in the store`, () => scene.names.includes(name));
}

clusterTest("a list of 1,200 objects is read in pages, completely", async (cluster) => {
  const namespace = await cluster.newNamespace();
  const names = Array.from({ length: 1_200 }, (_, i) => `map-${String(i).padStart(4, "0")}`);
  await createAll(cluster, namespace, names);
  await using gateway = await startGateway(cluster);
  const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
  await using scene = new InformerScene(kubeconfig, { namespaces: [namespace] });
  await scene.informer.synced;
  assert.deepEqual(scene.names, names);
  const pages = gateway.recorded(OF_PAGES);
  assert.deepEqual(pages.map(({ query }) => query.get("limit")), ["50", "500", "500", "500"]);
  assert.deepEqual(pages.map(({ query }) => query.has("resourceVersion")), [
    false,
    false,
    false,
    false,
  ]);
  assert.equal(scene.informer.stats.objects, 1_200);
});

clusterTest("added, changed and deleted objects reach the store", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await cluster.apply(configMap(namespace, "first", { a: "1" }));
  await using scene = new InformerScene(cluster.kubeconfig, { namespaces: [namespace] });
  const { informer } = scene;
  await informer.synced;
  assert.deepEqual(scene.names, ["first"]);
  const [added] = await cluster.apply(configMap(namespace, "second", { a: "1" }));
  await eventually("second", () => informer.store.get(namespace, "second"));
  assert.equal(informer.seen, added.metadata.resourceVersion);
  assert.equal(informer.store.versionOf(namespace, "second"), added.metadata.resourceVersion);
  await cluster.apply(configMap(namespace, "second", { a: "2" }));
  await eventually("a change", () => informer.store.get(namespace, "second")?.data?.a === "2");
  await cluster.delete("v1", "ConfigMap", "first", namespace);
  await eventually("a deletion", () => informer.store.get(namespace, "first") === null);
  assert.deepEqual(scene.gone, ["first"]);
  assert.equal(informer.stats.state, "watching");
  assert.deepEqual(scene.logged, []);
});

clusterTest(
  "a change of ignored fields is not a change, but its version is recorded",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    await cluster.apply(configMap(namespace, "one"));
    await using scene = new InformerScene(cluster.kubeconfig, { namespaces: [namespace] });
    const { informer } = scene;
    await informer.synced;
    const before = informer.store.get(namespace, "one");
    const path = `/api/v1/namespaces/${namespace}/configmaps/one`;
    const patch = { metadata: { labels: { a: "b" } } };
    const { body } = await cluster.request("PATCH", path, patch, "application/merge-patch+json");
    const version = body.metadata!.resourceVersion;
    await eventually("the version", () => informer.store.versionOf(namespace, "one") === version);
    assert.equal(informer.store.get(namespace, "one"), before);
    assert.equal(scene.changes.length, 1);
  },
);

clusterTest(
  "a quiet watch is renewed from its bookmark, without a list",
  async (cluster) => {
    const [namespace, other] = [await cluster.newNamespace(), await cluster.newNamespace()];
    await using gateway = await startGateway(cluster);
    const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
    await using scene = new InformerScene(kubeconfig, { namespaces: [namespace] });
    const { informer } = scene;
    await informer.synced;
    const { seen } = informer;
    // A bookmark tells of what happens after its watch has begun.
    await eventually("a watch", () => informer.stats.state === "watching");
    const [{ metadata }] = await cluster.apply(configMap(other, "elsewhere"));
    let i = 0;
    await eventually("a bookmark", async () => {
      await cluster.apply(configMap(other, "elsewhere", { i: String(i++) }));
      return BigInt(informer.revision) >= BigInt(metadata.resourceVersion!);
    });
    assert.equal(informer.seen, seen);
    const later = await eventually("a watch from there", () => {
      const revisions = gateway.recorded({ verb: "watch" })
        .map(({ query }) => query.get("resourceVersion")!);
      return revisions.find((revision) => BigInt(revision) >= BigInt(metadata.resourceVersion!));
    });
    assert.notEqual(later, seen);
    assert.equal(gateway.recorded(OF_PAGES).length, 1);
    assert.deepEqual(scene.logged, []);
  },
);

Deno.test("objects of an etcd restored from a backup are accepted, although their revisions are older", async () => {
  const cluster = await startCluster();
  if (cluster === null) return;
  await using _ = cluster;
  await using scene = new InformerScene(cluster.kubeconfig, { namespaces: ["default"] });
  await scene.informer.synced;
  await createAll(cluster, "default", ["a", "b", "c"]);
  await eventually("all", () => scene.names.length === 3);
  const before = BigInt(scene.informer.revision);
  await Promise.all([cluster.stopApiServer("SIGKILL"), cluster.stopEtcd()]);
  await eventually("failures", () => scene.informer.failures.length > 0);
  await Deno.remove(join(dirname(cluster.caFile), "etcd"), { recursive: true });
  await cluster.startEtcd();
  await cluster.startApiServer();
  await eventually("what is lost to go", () => scene.names.length === 0);
  assert.ok(BigInt(scene.informer.revision) < before);
  await arrives(cluster, "default", scene, "new");
});

Deno.test("after an API server restart the watch resumes without a list", async () => {
  const cluster = await startCluster({ apiServerFlags: ["--watch-cache=false"] });
  if (cluster === null) return;
  await using _ = cluster;
  await using gateway = await startGateway(cluster);
  const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
  await using scene = new InformerScene(kubeconfig, { namespaces: ["default"] });
  await scene.informer.synced;
  await arrives(cluster, "default", scene, "before");
  await cluster.restartApiServer();
  await arrives(cluster, "default", scene, "after");
  // After an outage one object is asked for, to see how far the server has got.
  const lists = gateway.recorded({ ...OF_PAGES, namespace: "default" });
  assert.equal(lists.filter(({ query }) => query.get("limit") !== "1").length, 1);
  assert.deepEqual(scene.gone, []);
});

clusterTest(
  "after an etcd compaction everything is listed, and nothing is removed",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    await createAll(cluster, namespace, ["a", "b", "c"]);
    await using scene = new InformerScene(cluster.kubeconfig, { namespaces: [namespace] });
    const { informer } = scene;
    await informer.synced;
    const before = informer.store.get(namespace, "a");
    const expiring = cluster.expireWatches();
    await expiring;
    await arrives(cluster, namespace, scene, "d");
    assert.ok(informer.stats.restarts.expired > 0, JSON.stringify(informer.stats));
    assert.deepEqual(scene.gone, []);
    assert.deepEqual(scene.names, ["a", "b", "c", "d"]);
    assert.equal(informer.store.get(namespace, "a"), before);
  },
);

for (const [how, answer] of [["status", gone()], ["event", goneInWatch()]] as const) {
  clusterTest(
    `410 as ${how}: objects deleted meanwhile are removed, and nothing else`,
    async (cluster) => {
      const namespace = await cluster.newNamespace();
      await createAll(cluster, namespace, ["a", "b"]);
      await using gateway = await startGateway(cluster);
      const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
      await using scene = new InformerScene(kubeconfig, { namespaces: [namespace] });
      await scene.informer.synced;
      await eventually("a watch", () => scene.informer.stats.state === "watching");
      const watches = { verb: "watch", resource: "configmaps" } as const;
      const once = gateway.inject(watches, answer, 1);
      const held = gateway.inject(OF_PAGES, failure(500), 2);
      gateway.endStreams(watches);
      await cluster.delete("v1", "ConfigMap", "b", namespace);
      await eventually("b to go", () => scene.gone.includes("b"));
      assert.deepEqual(scene.gone, ["b"]);
      assert.deepEqual(scene.names, ["a"]);
      // Whatever ended the watch first, the deletion may have come by an event before the 410.
      await eventually("an expired watch", () => once.hits === 1 && held.hits === 2);
      await arrives(cluster, namespace, scene, "c");
      assert.deepEqual(scene.gone, ["b"]);
    },
  );
}

clusterTest(
  "a continue token that expires during a list restarts the whole list",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    const names = Array.from({ length: 60 }, (_, i) => `map-${i + 100}`);
    await createAll(cluster, namespace, names);
    await using gateway = await startGateway(cluster);
    gateway.inject(OF_PAGES, async (request, forward) => {
      if (!request.query.has("continue")) return await forward();
      return await gone()(request, forward);
    });
    const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
    await using scene = new InformerScene(kubeconfig, { namespaces: [namespace] });
    await scene.informer.synced;
    assert.deepEqual(scene.names, names);
    assert.deepEqual(gateway.recorded(OF_PAGES).map(({ query }) => query.get("limit")), [
      "50",
      "500",
      null,
    ]);
  },
);

clusterTest("a list that fails halfway removes nothing", async (cluster) => {
  const namespace = await cluster.newNamespace();
  const names = Array.from({ length: 600 }, (_, i) => `map-${i + 1000}`);
  await createAll(cluster, namespace, names);
  await using gateway = await startGateway(cluster);
  const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
  await using scene = new InformerScene(kubeconfig, { namespaces: [namespace] });
  await scene.informer.synced;
  const half = gateway.inject(OF_PAGES, async (request, forward) => {
    const response = await forward();
    if (!request.query.has("continue")) return response;
    const text = await response.text();
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text.slice(0, text.length / 2)));
        controller.error(new Error("broken off"));
      },
    });
    return new Response(body, { headers: { "content-type": "application/json" } });
  });
  const result = await scene.informer.relist();
  assert.equal(result.ok, false);
  assert.deepEqual(scene.gone, []);
  assert.equal(scene.names.length, 600);
  half.remove();
  await arrives(cluster, namespace, scene, "later");
  assert.deepEqual(await scene.informer.relist(), { ok: true });
  assert.deepEqual(scene.gone, []);
  assert.deepEqual(scene.names, [...names, "later"].sort());
});

clusterTest("relist shows changes that a watch has missed", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await using gateway = await startGateway(cluster);
  const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
  gateway.inject({ verb: "watch" }, failure(500));
  await using scene = new InformerScene(kubeconfig, { namespaces: [namespace] });
  await scene.informer.synced;
  const [{ metadata }] = await cluster.apply(configMap(namespace, "one"));
  const results = await Promise.all([scene.informer.relist(), scene.informer.relist()]);
  assert.deepEqual(results, [{ ok: true }, { ok: true }]);
  assert.deepEqual(scene.names, ["one"]);
  assert.ok(BigInt(scene.informer.seen) >= BigInt(metadata.resourceVersion!));
});

clusterTest("a watch on a dead connection is renewed", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await using proxy = await startFaultProxy(cluster.port);
  const kubeconfig = await cluster.writeFile(
    cluster.kubeconfigFor(cluster.adminToken, proxy.server),
  );
  // Watches that the server would not end: only silence tells.
  const timing = { ...FAST, watchSeconds: [3, 3] as const, grace: 500 };
  await using scene = new InformerScene(kubeconfig, { namespaces: [namespace], timing });
  const { informer } = scene;
  await informer.synced;
  await eventually("a watch", () => informer.stats.state === "watching");
  proxy.stall(true);
  await cluster.apply(configMap(namespace, "unheard"));
  await eventually("silence to be noticed", () => informer.stats.restarts.silent > 0);
  assert.equal(informer.store.get(namespace, "unheard"), null);
  proxy.reset();
  proxy.stall(false);
  await eventually("what was missed", () => informer.store.get(namespace, "unheard"));
  assert.equal(informer.stats.restarts.expired, 0);
});

clusterTest(
  "random resets for 20 s leave the store equal to the API server",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    await using proxy = await startFaultProxy(cluster.port);
    const kubeconfig = await cluster.writeFile(
      cluster.kubeconfigFor(cluster.adminToken, proxy.server),
    );
    await using scene = new InformerScene(kubeconfig, { namespaces: [namespace] });
    await scene.informer.synced;
    const end = performance.now() + 20_000;
    const chaos = (async () => {
      while (performance.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 1_500));
        if (Math.random() < 0.5) proxy.reset();
        else proxy.cut();
      }
    })();
    const kept = new Set<string>();
    for (let i = 0; performance.now() < end; i++) {
      const name = `map-${Math.floor(Math.random() * 30)}`;
      if (kept.has(name) && Math.random() < 0.4) {
        kept.delete(name);
        await cluster.delete("v1", "ConfigMap", name, namespace);
      } else {
        kept.add(name);
        await cluster.apply(configMap(namespace, name, { i: String(i) }));
      }
    }
    await chaos;
    await arrives(cluster, namespace, scene, "last");
    const there = await cluster.list("v1", "ConfigMap", { namespace });
    const content = (objects: readonly { metadata: { name: string }; data?: unknown }[]) =>
      Object.fromEntries(objects.map(({ metadata, data }) => [metadata.name, data ?? {}]));
    assert.deepEqual(content(scene.informer.store.list()), content(there as never));
  },
);

clusterTest(
  "while the API server is down everything stays, and it is logged once",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    await createAll(cluster, namespace, ["a", "b"]);
    await using scene = new InformerScene(cluster.kubeconfig, { namespaces: [namespace] });
    const { informer } = scene;
    await informer.synced;
    await cluster.stopApiServer("SIGKILL");
    try {
      await eventually("failures", () => informer.stats.restarts.refused >= 3);
      assert.deepEqual(scene.names, ["a", "b"]);
      assert.equal((await informer.relist()).ok, false);
      const warnings = scene.logged.filter(({ level }) => level === "warn");
      assert.equal(warnings.length, 1, JSON.stringify(warnings));
      assert.equal(warnings[0].message, "Cannot watch");
      assert.equal(warnings[0].fields.resource, "configmaps");
    } finally {
      await cluster.startApiServer();
    }
    await arrives(cluster, namespace, scene, "c");
    await eventually("a word", () => scene.logged.at(-1)?.message === "Watching again");
    assert.deepEqual(scene.gone, []);
    assert.deepEqual(informer.failures, []);
  },
);

clusterTest(
  "when the server responds to others again, a watch does not finish its backoff",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    await using proxy = await startFaultProxy(cluster.port);
    const kubeconfig = await cluster.writeFile(
      cluster.kubeconfigFor(cluster.adminToken, proxy.server),
    );
    const timing = { ...FAST, backoff: { first: 600_000, last: 600_000 } };
    await using scene = new InformerScene(kubeconfig, { namespaces: [namespace], timing });
    await scene.informer.synced;
    await eventually("a watch", () => scene.informer.stats.state === "watching");
    proxy.refuse(true);
    proxy.reset();
    await eventually("a pause", () => scene.informer.stats.state === "waiting");
    proxy.refuse(false);
    assert.equal((await scene.client.get(CONFIG_MAPS, namespace, "none")).ok, false);
    await arrives(cluster, namespace, scene, "a");
  },
);

clusterTest(
  "when the server no longer rejects everything, a watch does not finish its backoff either",
  async (cluster) => {
    await Promise.all([500, 429, 403].map(async (status) => {
      const namespace = await cluster.newNamespace();
      await using gateway = await startGateway(cluster);
      const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
      const timing = { ...FAST, backoff: { first: 600_000, last: 600_000 } };
      await using scene = new InformerScene(kubeconfig, { namespaces: [namespace], timing });
      await scene.informer.synced;
      await eventually("a watch", () => scene.informer.stats.state === "watching");
      const began = performance.now();
      const bad = gateway.inject({}, failure(status));
      gateway.endStreams({}, "abort");
      const ask = () => scene.client.get(CONFIG_MAPS, namespace, "none");
      await eventually("a pause", () => scene.informer.stats.state === "waiting");
      await eventually("the end of an outage", async () => {
        await ask();
        return performance.now() - began > 6_000;
      });
      bad.remove();
      await ask();
      await arrives(cluster, namespace, scene, "a");
    }));
  },
);

clusterTest(
  "a watch that alone is rejected is not retried because others succeed",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    await using gateway = await startGateway(cluster);
    const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
    const timing = { ...FAST, backoff: { first: 600_000, last: 600_000 } };
    await using scene = new InformerScene(kubeconfig, { namespaces: [namespace], timing });
    await scene.informer.synced;
    await eventually("a watch", () => scene.informer.stats.state === "watching");
    const bad = gateway.inject({ verb: ["watch", "list"] }, failure(500));
    gateway.endStreams({}, "abort");
    await eventually("a pause", () => scene.informer.stats.state === "waiting");
    // The broken connection is over with the first answer to anybody; what comes then is refused.
    await scene.client.get(CONFIG_MAPS, namespace, "none");
    await eventually("a refusal", () => bad.hits > 0 && scene.informer.stats.state === "waiting");
    const began = performance.now();
    const from = gateway.requests.length;
    await eventually("the end of some seconds", async () => {
      await scene.client.list(CONFIG_MAPS, { namespace: null });
      await scene.client.get(CONFIG_MAPS, namespace, "none");
      return performance.now() - began > 6_000;
    });
    assert.deepEqual(gateway.recorded({ namespace, verb: ["watch", "list"] }, from), []);
  },
);

clusterTest(
  "a server that restarts and expires versions repeatedly does not make a watch wait",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    await using gateway = await startGateway(cluster);
    await using proxy = await startFaultProxy(gateway.port);
    const kubeconfig = await cluster.writeFile(
      cluster.kubeconfigFor(cluster.adminToken, proxy.server),
    );
    // No watch lives long enough for what was before to be forgotten.
    const timing = { ...FAST, steady: 600_000 };
    await using scene = new InformerScene(kubeconfig, { namespaces: [namespace], timing });
    await scene.informer.synced;
    const refusals: number[] = [];
    scene.informer.onFailures(() => {
      refusals.push(...scene.informer.failures.map(({ code }) => code));
    });
    for (const name of ["a", "b"]) {
      await eventually("a watch", () => scene.informer.stats.state === "watching");
      const forgotten = gateway.inject({ verb: "watch" }, gone(), 1);
      const from = refusals.length;
      proxy.refuse(true);
      proxy.reset();
      await eventually("a failure", () => refusals.length > from);
      proxy.refuse(false);
      await eventually("an expired watch", () => forgotten.hits === 1);
      await arrives(cluster, namespace, scene, name);
    }
    // With 410 a failure, its pause would be as long as the outage made it.
    assert.deepEqual([...new Set(refusals)], [0]);
  },
);

clusterTest("429 is retried no sooner than the server's Retry-After", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await using gateway = await startGateway(cluster);
  const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
  const lists = gateway.inject(OF_PAGES, tooManyRequests(2), 2);
  await using scene = new InformerScene(kubeconfig, { namespaces: [namespace] });
  await scene.informer.synced;
  assert.equal(lists.hits, 2);
  const times = gateway.recorded(OF_PAGES).map(({ time }) => time);
  assert.equal(times.length, 3);
  assert.ok(times[1] - times[0] >= 2_000 && times[2] - times[1] >= 2_000, times.join());
  assert.equal(scene.informer.stats.restarts.refused, 2);
});

const BAD_WATCHES: Readonly<Record<string, string>> = {
  "ends at once": "",
  "sends what is no JSON": "<html>oops</html>\n",
  "sends half an event": '{"type":"ADDED","object":{"metadata":{"name":"x"',
  "sends no objects": '{"type":"ADDED","object":7}\n',
};

for (const [what, text] of Object.entries(BAD_WATCHES)) {
  clusterTest(`a watch that ${what} is retried with growing delays`, async (cluster) => {
    const namespace = await cluster.newNamespace();
    await createAll(cluster, namespace, ["a"]);
    await using gateway = await startGateway(cluster);
    const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
    const bad = gateway.inject({ verb: "watch" }, watchThatSays(text));
    const timing = { ...FAST, backoff: { first: 200, last: 10_000 } };
    await using scene = new InformerScene(kubeconfig, { namespaces: [namespace], timing });
    await eventually("some watches", () => bad.hits >= 5);
    const times = gateway.recorded({ verb: "watch" }).map(({ time }) => time);
    // The first failure may be followed at once.
    const pauses = times.slice(2, 5).map((time, i) => time - times[i + 1]);
    for (const [i, pause] of pauses.entries()) {
      assert.ok(pause >= 195 * 2 ** i, `${i}: ${times.join()}`);
    }
    bad.remove();
    assert.deepEqual(scene.names, ["a"]);
    await arrives(cluster, namespace, scene, "b");
    assert.deepEqual(scene.gone, []);
  });
}

clusterTest("a token that the server no longer accepts is read again at once", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await using gateway = await startGateway(cluster);
  const tokenFile = await cluster.writeFile("first");
  const kubeconfig = await cluster.writeFile(
    cluster.kubeconfigFor({ tokenFile }, gateway.server),
  );
  await Deno.writeTextFile(tokenFile, cluster.adminToken);
  await using scene = new InformerScene(kubeconfig, { namespaces: [namespace] });
  await scene.informer.synced;
  const { metadata } = await cluster.create({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: "default", namespace }],
  });
  const token = await cluster.serviceAccountToken(namespace, "default");
  gateway.inject({ token: cluster.adminToken }, failure(401, "Unauthorized"));
  await Deno.writeTextFile(tokenFile, token);
  gateway.endStreams({ verb: "watch" });
  await arrives(cluster, namespace, scene, "after");
  assert.deepEqual(scene.logged, []);
  assert.equal(gateway.recorded({ token }).some(({ verb }) => verb === "watch"), true);
  await cluster.delete("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", metadata.name);
});

clusterTest(
  "permissions revoked and restored: nothing is lost, and the log has the remedy",
  async (cluster) => {
    const namespace = await cluster.newNamespace();
    const kubeconfig = await cluster.serviceAccountKubeconfig(namespace, "watcher");
    const api = "rbac.authorization.k8s.io";
    const binding = {
      apiVersion: `${api}/v1`,
      kind: "RoleBinding",
      metadata: { name: "watcher", namespace },
      roleRef: { apiGroup: api, kind: "Role", name: "watcher" },
      subjects: [{ kind: "ServiceAccount", name: "watcher", namespace }],
    };
    await cluster.apply([
      {
        apiVersion: `${api}/v1`,
        kind: "Role",
        metadata: { name: "watcher", namespace },
        rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"] }],
      },
      binding,
      configMap(namespace, "a"),
    ]);
    await using scene = new InformerScene(kubeconfig, { namespaces: [namespace] });
    await scene.informer.synced;
    scene.logged.length = 0;
    await cluster.delete(`${api}/v1`, "RoleBinding", "watcher", namespace);
    const complaint = await eventually("a complaint", () => scene.logged[0]);
    assert.match(String(complaint.fields.reason), /forbidden/);
    assert.match(String(complaint.fields.remedy), /list and watch on configmaps, in a Role in/);
    assert.equal(scene.informer.failures[0].code, 403);
    assert.equal((await scene.informer.relist()).ok, false);
    assert.deepEqual(scene.names, ["a"]);
    await cluster.apply(binding);
    await arrives(cluster, namespace, scene, "b");
    await eventually("a word", () => scene.logged.at(-1)?.message === "Watching again");
    assert.equal(scene.logged.length, 2);
    assert.deepEqual(scene.gone, []);
  },
);

clusterTest("several namespaces are watched, and no others", async (cluster) => {
  const [one, two, other] = [
    await cluster.newNamespace(),
    await cluster.newNamespace(),
    await cluster.newNamespace(),
  ];
  await cluster.apply([configMap(one, "a"), configMap(two, "b"), configMap(other, "c")]);
  await using scene = new InformerScene(cluster.kubeconfig, { namespaces: [one, two] });
  const { informer } = scene;
  await informer.synced;
  assert.deepEqual(scene.names, ["a", "b"]);
  const [added] = await cluster.apply(configMap(two, "d"));
  await eventually("d", () => informer.store.get(two, "d"));
  assert.equal(informer.seen, added.metadata.resourceVersion);
  assert.ok(BigInt(informer.revision) <= BigInt(informer.seen));
  await cluster.delete("v1", "ConfigMap", "b", two);
  assert.deepEqual(await informer.relist(), { ok: true });
  assert.deepEqual(scene.names, ["a", "d"]);
});

clusterTest("for metadata only, nothing else is transferred", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await cluster.apply(configMap(namespace, "one", { secret: "hidden-value" }));
  await using gateway = await startGateway(cluster);
  let text = "";
  gateway.inject({ resource: "configmaps" }, async (_request, forward) => {
    const response = await forward();
    const [seen, passed] = response.body!.tee();
    seen.pipeThrough(new TextDecoderStream()).pipeTo(
      new WritableStream({ write: (chunk) => void (text += chunk) }),
    ).catch(() => {});
    return new Response(passed, response);
  });
  const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
  await using scene = new InformerScene(kubeconfig, {
    namespaces: [namespace],
    metadataOnly: true,
  });
  await scene.informer.synced;
  await cluster.apply(configMap(namespace, "two", { secret: "hidden-value" }));
  await eventually("two", () => scene.names.length === 2);
  assert.ok(text.includes('"name":"one"') && text.includes('"name":"two"'), text);
  assert.ok(!text.includes("hidden-value"));
});

clusterTest("stop ends watches and delays, and the store stays", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await cluster.apply(configMap(namespace, "a"));
  const scene = new InformerScene(cluster.kubeconfig, { namespaces: [namespace] });
  await scene.informer.synced;
  await scene[Symbol.asyncDispose]();
  assert.equal(scene.informer.stats.state, "stopped");
  assert.deepEqual(scene.names, ["a"]);
  assert.equal((await scene.informer.relist()).ok, false);
  const failing = new InformerScene(cluster.kubeconfig, {
    resource: { ...CONFIG_MAPS, plural: "nothings" },
  });
  await eventually("a failure", () => failing.informer.failures.length > 0);
  await failing[Symbol.asyncDispose]();
});
