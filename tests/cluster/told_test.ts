/** What users see of the whole controller: addresses of Ingresses, and Events. */
import assert from "node:assert/strict";
import type { KubeObject } from "./support/api_client.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene } from "./support/controller_scene.ts";
import { heldUntil } from "./support/gateway_answers.ts";
import type { LiveIngress } from "./support/writing_scene.ts";

async function addresses(scene: ControllerScene, name: string): Promise<string[]> {
  const { cluster, app } = scene;
  const ingress = await cluster.get<LiveIngress>("networking.k8s.io/v1", "Ingress", name, app);
  const shown = ingress?.status?.loadBalancer?.ingress ?? [];
  return shown.map(({ ip, hostname }) => ip ?? hostname ?? "");
}

async function shows(scene: ControllerScene, name: string, wanted: readonly string[]) {
  await eventually(
    `${name} with ${wanted.join(", ") || "no address"}`,
    async () => (await addresses(scene, name)).join() === wanted.join(),
  );
}

/** A metric over all values of its labels. */
async function total({ controller }: ControllerScene, name: string): Promise<number> {
  const { text } = await controller.admin("/metrics");
  return text.split("\n").filter((line) => line.startsWith(name))
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

/** What no kubelet is there for: a pod that runs and is ready. */
async function readyProxy(scene: ControllerScene, name: string, nodeName: string): Promise<void> {
  const { cluster, system: namespace } = scene;
  await cluster.create({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { "app.kubernetes.io/name": "pingress-proxy-server" } },
    spec: { nodeName, containers: [{ name: "proxy", image: "proxy:1" }] },
  }, namespace);
  await writeStatus(scene, "v1", "Pod", name, namespace, {
    phase: "Running",
    conditions: [{ type: "Ready", status: "True" }],
  });
}

async function writeStatus(
  { cluster }: ControllerScene,
  apiVersion: string,
  kind: string,
  name: string,
  namespace: string | undefined,
  status: unknown,
): Promise<void> {
  const path = await cluster.pathOf(apiVersion, kind, name, namespace);
  const type = "application/merge-patch+json";
  const answer = await cluster.request("PATCH", `${path}/status`, { status }, type);
  assert.equal(answer.status, 200, answer.text);
}

clusterTest(
  "--publish-address is in the status of every Ingress as long as it is served",
  async (cluster) => {
    await using scene = await ControllerScene.start(cluster, {
      args: ["--publish-address=203.0.113.1", "--publish-address=lb.example.com"],
    });
    await scene.service("web");
    await scene.ingress("shop");
    await scene.ingress("foreign", { ingressClassName: "nginx" });
    await shows(scene, "shop", ["203.0.113.1", "lb.example.com"]);
    assert.deepEqual(await addresses(scene, "foreign"), []);
    await scene.ingress("shop", { ingressClassName: "nginx" });
    await shows(scene, "shop", []);
  },
);

clusterTest("a status write causes no translation", async (cluster) => {
  await using scene = await ControllerScene.start(cluster, {
    args: ["--publish-address=203.0.113.1"],
    gateway: true,
  });
  await scene.service("web");
  await scene.ingress("shop");
  await shows(scene, "shop", ["203.0.113.1"]);
  await scene.eventuallyRouted("shop.example.com Prefix /");
  const runs = () => total(scene, "pingress_controller_reconciles_total");
  const waiting = () => total(scene, "pingress_controller_changes_waiting_seconds");
  await eventually("quiet controller", async () => await waiting() === 0);
  const before = await runs();
  const writes = () => scene.gateway!.recorded({ resource: "ingresses", subresource: "status" });
  const written = writes().length;
  const foreign = { loadBalancer: { ingress: [{ ip: "198.51.100.7" }] } };
  await writeStatus(scene, "networking.k8s.io/v1", "Ingress", "shop", scene.app, foreign);
  // It has seen the write, since it puts it right.
  await eventually("the status put back", () => writes().length > written);
  await shows(scene, "shop", ["203.0.113.1"]);
  assert.deepEqual([await waiting(), await runs()], [0, before]);
});

clusterTest(
  "on host ports, Ingresses have the addresses of nodes with a ready proxy",
  async (cluster) => {
    await using scene = await ControllerScene.start(cluster);
    const [outside, inside] = [`outside-${scene.app}`, `inside-${scene.app}`];
    for (
      const [name, types] of [[outside, ["InternalIP", "ExternalIP"]], [inside, ["InternalIP"]]]
    ) {
      const node = { apiVersion: "v1", kind: "Node", metadata: { name: String(name) } };
      await cluster.create(node as Partial<KubeObject>);
      await writeStatus(scene, "v1", "Node", String(name), undefined, {
        addresses: [...types].map((type, i) => ({
          type,
          address: `${type === "ExternalIP" ? "203.0.113" : "10.9.0"}.${i + String(name).length}`,
        })),
      });
    }
    await scene.service("web");
    await scene.ingress("shop");
    await scene.eventuallyRouted("shop.example.com Prefix /");
    assert.deepEqual(await addresses(scene, "shop"), []);
    await readyProxy(scene, "proxy-a", outside);
    await shows(scene, "shop", [`203.0.113.${1 + outside.length}`]);
    await readyProxy(scene, "proxy-b", inside);
    await shows(scene, "shop", [`10.9.0.${inside.length}`, `203.0.113.${1 + outside.length}`]);
  },
);

clusterTest(
  "behind a load balancer, Ingresses have the addresses assigned by the cloud",
  async (cluster) => {
    await using scene = await ControllerScene.start(cluster, { args: ["--backend=LoadBalancer"] });
    await scene.service("web");
    await scene.ingress("shop");
    const name = "pingress-proxy-server";
    await eventually("Service", () => cluster.get("v1", "Service", name, scene.system));
    assert.deepEqual(await addresses(scene, "shop"), []);
    const ingress = [{ hostname: "a.elb.example.com" }, { ip: "203.0.113.9" }];
    await writeStatus(scene, "v1", "Service", name, scene.system, { loadBalancer: { ingress } });
    await shows(scene, "shop", ["203.0.113.9", "a.elb.example.com"]);
  },
);

clusterTest("an error in an Ingress or a Secret is an Event on it", async (cluster) => {
  await using scene = await ControllerScene.start(cluster);
  await scene.ingress("shop", { tls: [{ hosts: ["shop.example.com"], secretName: "shop-tls" }] });
  await scene.tlsSecret(
    "shop-tls",
    { "tls.crt": "no certificate", "tls.key": "s3cr3t-key-text" },
    "Opaque",
  );
  const reasons = async (name: string) => {
    const events = await cluster.list<KubeObject & { reason: string; message: string }>(
      "v1",
      "Event",
      { namespace: scene.app, fieldSelector: `involvedObject.name=${name}` },
    );
    for (const { message } of events) assert.doesNotMatch(message, /s3cr3t/);
    return events.map(({ reason }) => reason);
  };
  const has = (name: string, reason: string) =>
    eventually(`${reason} on ${name}`, async () => (await reasons(name)).includes(reason));
  await has("shop", "ServiceNotFound");
  await has("shop", "SecretInvalid");
  await has("shop-tls", "SecretInvalid");
  assert.equal(await scene.controller.stop(), 0);
});

clusterTest(
  "Ingresses blocked by the Rust controller's finalizer can be deleted",
  async (cluster) => {
    await using scene = await ControllerScene.start(cluster);
    const metadata = { finalizers: ["kinorca.com/pingress-controller"] };
    await scene.ingress("foreign", { ingressClassName: "nginx" }, metadata);
    await scene.remove("Ingress", "foreign");
    await eventually("no Ingress", async () => {
      return await cluster.get("networking.k8s.io/v1", "Ingress", "foreign", scene.app) === null;
    });
  },
);

clusterTest("metrics count the watched Secrets, users' and our own", async (cluster) => {
  await using scene = await ControllerScene.start(cluster, { gateway: true });
  for (const name of ["a", "b"]) {
    await scene.cluster.apply(
      { apiVersion: "v1", kind: "Secret", metadata: { name } },
      { namespace: scene.app },
    );
  }
  const { controller } = scene;
  const objects = `pingress_controller_objects{resource="secrets"}`;
  await eventually("two Secrets", async () => await controller.metric(objects) === 2);
  const before = await total(scene, "pingress_controller_watch_restarts_total");
  scene.gateway!.endStreams({ resource: "secrets", namespace: scene.app });
  await eventually(
    "restart of their watch",
    async () => await total(scene, "pingress_controller_watch_restarts_total") > before,
  );
});

clusterTest("a controller shows its CPU time, memory, start and delay", async (cluster) => {
  await using scene = await ControllerScene.start(cluster);
  const { controller } = scene;
  assert.ok((await controller.metric("process_cpu_seconds_total"))! > 0);
  assert.ok((await controller.metric("process_resident_memory_bytes"))! > 1024 * 1024);
  assert.ok((await controller.metric("process_start_time_seconds"))! > 0);
  assert.ok((await controller.metric("pingress_controller_event_loop_delay_seconds"))! >= 0);
});

clusterTest("a proxy that is not ready for five minutes is a problem", async (cluster) => {
  await using scene = await ControllerScene.start(cluster);
  const { system } = scene;
  await scene.service("web");
  await scene.ingress("shop");
  const daemonSet = await eventually(
    "DaemonSet",
    () => cluster.get("apps/v1", "DaemonSet", "pingress-proxy-server", system),
  );
  await cluster.create({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "proxy-a", labels: { "app.kubernetes.io/name": "pingress-proxy-server" } },
    spec: { nodeName: "a", containers: [{ name: "proxy", image: "proxy:1" }] },
  }, system);
  // The five minutes end some seconds from now, when nothing changes any more.
  const since = new Date(Date.now() - 280_000).toISOString();
  await writeStatus(scene, "v1", "Pod", "proxy-a", system, {
    phase: "Running",
    conditions: [{ type: "Ready", status: "False", lastTransitionTime: since }],
  });
  await writeStatus(scene, "apps/v1", "DaemonSet", "pingress-proxy-server", system, {
    observedGeneration: daemonSet.metadata.generation,
    currentNumberScheduled: 1,
    desiredNumberScheduled: 1,
    numberMisscheduled: 0,
    numberReady: 0,
  });
  await eventually(
    "problem",
    async () => (await scene.problems()).some(({ reason }) => reason === "ProxiesNotReady"),
    60_000,
  );
});

clusterTest(
  "pod addresses are not written while those of nodes are pending",
  async (cluster) => {
    await using scene = await ControllerScene.prepare(cluster, { gateway: true });
    await cluster.create({ apiVersion: "v1", kind: "Node", metadata: { name: "late" } });
    await writeStatus(scene, "v1", "Node", "late", undefined, {
      addresses: [{ type: "ExternalIP", address: "203.0.113.77" }],
    });
    await readyProxy(scene, "proxy-late", "late");
    await writeStatus(scene, "v1", "Pod", "proxy-late", scene.system, { hostIP: "10.9.9.9" });
    await scene.service("web");
    await scene.ingress("shop");
    const released = Promise.withResolvers<void>();
    scene.gateway!.inject({ verb: "list", resource: "nodes" }, heldUntil(released.promise), 1);
    // Addresses of nodes are no backends: nothing is translated, and nobody ready, before the list.
    const controller = await scene.spawnController();
    const asked = () => scene.gateway!.requests.map(({ verb, resource }) => `${verb} ${resource}`);
    await eventually(
      "other kinds",
      () => ["ingresses", "pods", "services"].every((kind) => asked().includes(`watch ${kind}`)),
    );
    assert.equal((await controller.admin("/readyz")).status, 503);
    const from = scene.gateway!.requests.length;
    released.resolve();
    await controller.ready();
    await shows(scene, "shop", ["203.0.113.77"]);
    const writes = scene.gateway!.requests.filter(({ resource, subresource }) =>
      resource === "ingresses" && subresource === "status"
    );
    assert.equal(writes.length, 1);
    assert.ok(scene.gateway!.requests.indexOf(writes[0]) >= from);
  },
);
