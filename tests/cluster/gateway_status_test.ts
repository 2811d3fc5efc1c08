/** The status of GatewayClasses, Gateways and HTTPRoutes, as the leader writes it. */
import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { CLASS_FINALIZER } from "../../controller/outputs/gateway_status/class_finalizer.ts";
import { GATEWAY_INTERVALS } from "../../controller/outputs/gateway_status/writer.ts";
import { GATEWAY_CONTROLLER } from "../../controller/translate/gateway/objects/gateway_class.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { failure } from "./support/gateway_answers.ts";
import { GatewayStatusScene, shown, V1 } from "./support/gateway_status_scene.ts";
import type { TestCluster } from "./support/cluster.ts";

/** A pod of the proxies that is ready, or not. @returns its UID. */
async function proxyPod(
  cluster: TestCluster,
  namespace: string,
  name: string,
  isReady = true,
): Promise<string> {
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { "app.kubernetes.io/name": "pingress-proxy-server" } },
    spec: { containers: [{ name: "proxy", image: "proxy" }] },
  };
  await cluster.apply(pod, { namespace });
  const conditions = [{ type: "Ready", status: isReady ? "True" : "False" }];
  const path = await cluster.pathOf("v1", "Pod", name, namespace);
  await cluster.request(
    "PATCH",
    `${path}/status`,
    { status: { phase: "Running", conditions } },
    "application/merge-patch+json",
  );
  return (await cluster.get("v1", "Pod", name, namespace))!.metadata.uid!;
}

clusterTest(
  "a class, a Gateway and a route show that they are accepted and programmed",
  async (cluster) => {
    await using scene = await GatewayStatusScene.create(cluster);
    const { namespace } = scene;
    const uid = await proxyPod(cluster, namespace, "proxy-a");
    await scene.route("shop", "web");
    const replica = await scene.replica();
    replica.acknowledge(uid);
    await scene.shows("GatewayClass", namespace, "Accepted", "True/Accepted@1");
    await scene.shows("Gateway", "web", "Accepted", "True/Accepted@1");
    await scene.shows("Gateway", "web", "Programmed", "True/Programmed@1");
    await scene.parents("shop", "ours web");
    equal(
      await scene.condition("GatewayClass", namespace, "SupportedVersion"),
      "Unknown/Pending@1",
    );
    const { addresses, listeners = [] } = await scene.status("Gateway", "web");
    deepEqual(addresses, [{ type: "IPAddress", value: "203.0.113.1" }]);
    deepEqual(listeners.map(({ name }) => name), ["http"]);
    await eventually(
      "one attached route",
      async () => (await scene.status("Gateway", "web")).listeners?.[0].attachedRoutes === 1,
    );
    equal(shown(listeners[0].conditions, "Programmed"), "True/Programmed@1");
    const { parents = [] } = await scene.status("HTTPRoute", "shop");
    equal(shown(parents[0].conditions, "Accepted"), "True/Accepted@1");
    equal(shown(parents[0].conditions, "ResolvedRefs"), "True/ResolvedRefs@1");
  },
);

clusterTest(
  "a Gateway is programmed when every ready proxy has its generation, not before",
  async (cluster) => {
    await using scene = await GatewayStatusScene.create(cluster);
    const { namespace } = scene;
    const [a, b] = [
      await proxyPod(cluster, namespace, "proxy-a"),
      await proxyPod(cluster, namespace, "proxy-b"),
    ];
    await proxyPod(cluster, namespace, "proxy-unready", false);
    const replica = await scene.replica();
    await replica.knows("proxy-a", "proxy-b");
    await scene.shows("Gateway", "web", "Accepted", "True/Accepted@1");
    replica.acknowledge(a);
    await scene.route("shop", "web");
    await eventually(
      "a later status",
      async () => (await scene.status("Gateway", "web")).listeners?.[0].attachedRoutes === 1,
    );
    // Nothing, or what the CRD has as default.
    const before = await scene.condition("Gateway", "web", "Programmed");
    ok(before === null || before.startsWith("Unknown"), before ?? "");
    replica.acknowledge(a, b);
    await scene.shows("Gateway", "web", "Programmed", "True/Programmed@1");
    // A newer generation is on its way: what stands is of the one before.
    await scene.listeners("http", "more");
    await scene.shows("Gateway", "web", "Accepted", "True/Accepted@2");
    equal(await scene.condition("Gateway", "web", "Programmed"), "True/Programmed@1");
    const { listeners = [] } = await scene.status("Gateway", "web");
    deepEqual(listeners.map(({ conditions }) => shown(conditions, "Programmed")), [
      "True/Programmed@1",
      null,
    ]);
    replica.acknowledge(a, b);
    await scene.shows("Gateway", "web", "Programmed", "True/Programmed@2");
    await scene.listeners("more");
    await eventually(
      "one listener",
      async () =>
        (await scene.status("Gateway", "web")).listeners?.map(({ name }) => name).join() === "more",
    );
  },
);

clusterTest("after ten seconds the message names the proxy that is behind", async (cluster) => {
  await using scene = await GatewayStatusScene.create(cluster);
  const a = await proxyPod(cluster, scene.namespace, "proxy-a");
  const b = await proxyPod(cluster, scene.namespace, "proxy-b");
  const replica = await scene.replica();
  await replica.knows("proxy-a", "proxy-b");
  replica.acknowledge(a);
  await scene.shows("Gateway", "web", "Programmed", "False/Pending@1");
  const { conditions = [] } = await scene.status("Gateway", "web");
  equal(
    conditions.find(({ type }) => type === "Programmed")?.message,
    "1 of 2 proxies have it; waiting for proxy-b.",
  );
  replica.acknowledge(a, b);
  await scene.shows("Gateway", "web", "Programmed", "True/Programmed@1");
});

clusterTest(
  "entries of other controllers stay, and entries of ours go with their parents",
  async (cluster) => {
    await using scene = await GatewayStatusScene.create(cluster);
    const foreign = (name: string) => ({
      parentRef: { name },
      controllerName: "example.com/controller",
      conditions: [{
        ...{ type: "Accepted", status: "False", reason: "Theirs", message: "kept" },
        lastTransitionTime: "2026-01-01T00:00:00Z",
      }],
    });
    await scene.route("shop", "theirs", "web");
    await scene.writeAs("HTTPRoute", "shop", { parents: [foreign("theirs")] });
    await scene.replica();
    await scene.parents("shop", "example.com/controller theirs", "ours web");
    // The other one writes too, before and behind ours.
    const { parents = [] } = await scene.status("HTTPRoute", "shop");
    await scene.writeAs("HTTPRoute", "shop", { parents: [...parents, foreign("late")] });
    const written = (await scene.status("HTTPRoute", "shop")).parents!;
    await scene.route("shop", "theirs", "late");
    await scene.parents("shop", "example.com/controller theirs", "example.com/controller late");
    const kept = (await scene.status("HTTPRoute", "shop")).parents!;
    deepEqual(kept, written.filter(({ controllerName }) => controllerName !== GATEWAY_CONTROLLER));
    // The last one of all.
    await scene.route("alone", "web");
    await scene.parents("alone", "ours web");
    await cluster.delete(V1, "Gateway", "web", scene.namespace);
    await scene.parents("alone");
  },
);

clusterTest("an equal status is not written, not even by a new leader", async (cluster) => {
  await using scene = await GatewayStatusScene.create(cluster);
  const { namespace } = scene;
  const uid = await proxyPod(cluster, namespace, "proxy-a");
  for (let i = 0; i < 5; i++) await scene.route(`shop-${i}`, "web");
  const replica = await scene.replica();
  replica.acknowledge(uid);
  await scene.shows("Gateway", "web", "Programmed", "True/Programmed@1");
  for (let i = 0; i < 5; i++) await scene.parents(`shop-${i}`, "ours web");
  await eventually(
    "the count",
    async () => (await scene.status("Gateway", "web")).listeners?.[0].attachedRoutes === 5,
  );
  await eventually(
    "the finalizer",
    async () => (await scene.get("GatewayClass", namespace))?.metadata.finalizers?.length === 1,
  );
  await eventually("no backlog", () => replica.output.backlog === 0);
  const before = scene.calls;
  replica.translate();
  replica.lead(false);
  const next = await scene.replica();
  next.acknowledge(uid);
  next.translate();
  // What is written after that is all that could be.
  await scene.route("last", "web");
  await scene.parents("last", "ours web");
  await eventually("no backlog", () => next.output.backlog === 0);
  deepEqual(scene.writes("HTTPRoute", before).map(({ name }) => name), ["last"]);
  deepEqual(scene.writes("GatewayClass", before), []);
});

clusterTest("every generation of a route is shown at once", async (cluster) => {
  await using scene = await GatewayStatusScene.create(cluster);
  await scene.route("shop", "web");
  await scene.replica();
  await scene.parents("shop", "ours web");
  const generation = async () => {
    const { parents = [] } = await scene.status("HTTPRoute", "shop");
    return parents[0].conditions.map(({ observedGeneration }) => observedGeneration).join();
  };
  const since = (await scene.status("HTTPRoute", "shop")).parents![0].conditions[0];
  for (let i = 2; i <= 5; i++) {
    await cluster.apply({
      apiVersion: V1,
      kind: "HTTPRoute",
      metadata: { name: "shop" },
      spec: { parentRefs: [{ name: "web" }], hostnames: [`${i}.example.com`] },
    }, { namespace: scene.namespace });
    await eventually(`generation ${i}`, async () => await generation() === `${i},${i}`);
  }
  const { conditions } = (await scene.status("HTTPRoute", "shop")).parents![0];
  equal(conditions[0].lastTransitionTime, since.lastTransitionTime);
  // The first, and one for each generation.
  equal(scene.writes("HTTPRoute").length, 5);
});

clusterTest("a status is written again after a conflict", async (cluster) => {
  await using scene = await GatewayStatusScene.create(cluster);
  const conflicts = scene.gateway.inject(
    { verb: ["patch"], resource: "httproutes" },
    failure(409, "Conflict"),
    2,
  );
  await scene.route("shop", "web");
  await scene.replica();
  await scene.parents("shop", "ours web");
  equal(conflicts.hits, 2);
});

clusterTest("a write names the version that it was made for", async (cluster) => {
  await using scene = await GatewayStatusScene.create(cluster);
  await scene.route("shop", "web");
  await scene.replica();
  await scene.parents("shop", "ours web");
  for (const kind of ["HTTPRoute", "Gateway", "GatewayClass"] as const) {
    const writes = scene.writes(kind);
    ok(writes.length > 0);
    for (const { body } of writes) {
      const { metadata } = JSON.parse(String(body));
      notEqual(metadata.resourceVersion ?? "", "", kind);
    }
  }
});

clusterTest(
  "two controllers that write the same status do not write in a loop",
  async (cluster) => {
    await using scene = await GatewayStatusScene.create(cluster);
    await scene.route("shop", "web");
    const replica = await scene.replica();
    await scene.parents("shop", "ours web");
    let isOver = false;
    const other = (async () => {
      while (!isOver) {
        const { parents = [] } = await scene.status("HTTPRoute", "shop");
        if (parents.length > 0) await scene.writeAs("HTTPRoute", "shop", { parents: [] });
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    })();
    try {
      await eventually(
        "the warning",
        () => replica.warnings.includes("Another controller also writes our part of a status"),
        60_000,
      );
    } finally {
      isOver = true;
      await other;
    }
    // One for the first, one after ten seconds.
    equal(scene.writes("HTTPRoute").length, 2);
  },
);

clusterTest(
  "the status of a thousand routes takes one write each, and few of their Gateway",
  async (cluster) => {
    await using scene = await GatewayStatusScene.create(cluster);
    const uid = await proxyPod(cluster, scene.namespace, "proxy-a");
    const replica = await scene.replica();
    replica.acknowledge(uid);
    await scene.shows("Gateway", "web", "Programmed", "True/Programmed@1");
    const before = scene.calls;
    const acks = setInterval(() => replica.acknowledge(uid), 20);
    const started = performance.now();
    try {
      const names = Array.from({ length: 1_000 }, (_, i) => `shop-${i}`);
      const creator = async () => {
        for (let name = names.pop(); name !== undefined; name = names.pop()) {
          const spec = { parentRefs: [{ name: "web" }] };
          const route = { apiVersion: V1, kind: "HTTPRoute", metadata: { name }, spec };
          await cluster.create(route, scene.namespace);
        }
      };
      await Promise.all(Array.from({ length: 16 }, creator));
      await eventually(
        "all attached",
        async () => (await scene.status("Gateway", "web")).listeners?.[0].attachedRoutes === 1_000,
        60_000,
      );
      await eventually("all written", () => replica.output.backlog === 0, 60_000);
    } finally {
      clearInterval(acks);
    }
    const gateways = scene.writes("Gateway", before).length;
    // A slow machine takes longer than a few intervals.
    const intervals = (performance.now() - started) / GATEWAY_INTERVALS.mostOfCounts;
    ok(gateways <= Math.max(20, intervals + 5), `${gateways} writes of the Gateway`);
    // A watch that is behind by more than a write's pause shows the version before: its write is refused.
    const routes = scene.writes("HTTPRoute", before).filter(({ status }) => status !== 409);
    equal(new Set(routes.map(({ name }) => name)).size, 1_000);
    equal(routes.length, 1_000);
    equal(await scene.condition("Gateway", "web", "Programmed"), "True/Programmed@1");
  },
);

clusterTest("a class has its finalizer while a Gateway uses it", async (cluster) => {
  await using scene = await GatewayStatusScene.create(cluster);
  const { namespace } = scene;
  await scene.replica();
  const finalizers = async () => (await scene.get("GatewayClass", namespace))?.metadata.finalizers;
  await eventually("the finalizer", async () => (await finalizers())?.join() === CLASS_FINALIZER);
  await cluster.delete(V1, "GatewayClass", namespace);
  // It waits for the Gateway.
  await scene.listeners("http", "more");
  await scene.shows("Gateway", "web", "Accepted", "True/Accepted@2");
  notEqual(await scene.get("GatewayClass", namespace), null);
  await cluster.delete(V1, "Gateway", "web", namespace);
  await eventually(
    "the end of the class",
    async () => await scene.get("GatewayClass", namespace) === null,
  );
});

clusterTest("nothing is written without the lease", async (cluster) => {
  await using scene = await GatewayStatusScene.create(cluster);
  await scene.route("shop", "web");
  const follower = await scene.replica();
  follower.lead(false);
  const leader = await scene.replica();
  const before = scene.calls;
  await scene.route("more", "web");
  await scene.parents("more", "ours web");
  // Each once, by one of the two.
  equal(scene.writes("HTTPRoute", before).filter(({ name }) => name === "more").length, 1);
  await leader.close();
  await scene.route("after", "web");
  follower.lead(true);
  await scene.parents("after", "ours web");
});
