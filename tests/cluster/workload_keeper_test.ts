/** What keeps the proxy workload as planned, against a real API server. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { fieldOf } from "../../controller/base/json.ts";
import { clusterTest } from "./support/cluster_case.ts";
import {
  AUTOSCALED,
  HOST_PORT,
  KINDS,
  LOAD_BALANCER,
  NAME,
  WorkloadScene,
} from "./support/workload_scene.ts";

clusterTest(
  "the workload is created once, and unchanged while it is as planned",
  async (cluster) => {
    using scene = await WorkloadScene.create(cluster);
    deepEqual(await scene.done(AUTOSCALED), [
      "applied Service",
      "applied Deployment",
      "applied PodDisruptionBudget",
      "applied HorizontalPodAutoscaler",
    ]);
    scene.calls();
    deepEqual(await scene.done(AUTOSCALED), []);
    // A rollout writes the status again and again.
    for (const pods of [1, 2, 3]) await scene.finishRollout("Deployment", pods);
    await scene.edit("Deployment", { metadata: { annotations: { "example.com/note": "seen" } } });
    deepEqual(await scene.done(AUTOSCALED), []);
    deepEqual(scene.calls().filter((call) => call !== "get secrets"), []);
    equal(fieldOf((await scene.must("Deployment")).metadata, "ownerReferences"), undefined);
    // A new leader looks for itself, and says nothing where it changes nothing.
    scene.keeper.reset();
    deepEqual(await scene.done(AUTOSCALED), []);
  },
);

clusterTest(
  "another image is one change of the template, a larger set of configurations none",
  async (cluster) => {
    using scene = await WorkloadScene.create(cluster);
    await scene.done(HOST_PORT);
    const { metadata: { generation } } = await scene.must("DaemonSet");
    await cluster.apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "pingress-config-v2-7", namespace: scene.namespace },
    });
    deepEqual(await scene.done(HOST_PORT), []);
    equal((await scene.must("DaemonSet")).metadata.generation, generation);
    deepEqual(await scene.done({ ...HOST_PORT, image: "proxy:2" }), ["applied DaemonSet"]);
    equal((await scene.must("DaemonSet")).spec.template.spec.containers[0].image, "proxy:2");
  },
);

const FOREIGN = {
  "arguments": ["Deployment", {
    spec: { template: { spec: { containers: [{ name: NAME, args: ["--help"] }] } } },
  }],
  "a label": ["Deployment", { metadata: { labels: { "app.kubernetes.io/part-of": "mine" } } }],
  "the number of replicas": ["Deployment", { spec: { replicas: 0 } }],
  "a volume that is gone": ["Deployment", {
    spec: {
      template: {
        spec: {
          containers: [{
            name: NAME,
            volumeMounts: [{ mountPath: "/etc/pingress", $patch: "delete" }],
          }],
          volumes: [{ name: "config", $patch: "delete" }],
        },
      },
    },
  }],
  "the Service's type": ["Service", { spec: { type: "NodePort" } }],
  "the Service's selector": ["Service", { spec: { selector: { app: "mine" } } }],
  "another node selector": ["Deployment", {
    spec: { template: { spec: { nodeSelector: { pool: "none" } } } },
  }],
  "the budget": ["PodDisruptionBudget", { spec: { maxUnavailable: "100%" } }],
} as const;

for (const [name, [kind, patch]] of Object.entries(FOREIGN)) {
  clusterTest(`a foreign change is reverted: ${name}`, async (cluster) => {
    using scene = await WorkloadScene.create(cluster);
    await scene.done(LOAD_BALANCER);
    const before = await scene.must(kind);
    await scene.edit(kind, patch);
    deepEqual(await scene.done(LOAD_BALANCER), [`put back ${kind}`]);
    const { spec, metadata } = await scene.must(kind);
    // The API server chooses it anew for a Service that was of another type.
    const { healthCheckNodePort: _port, ...chosen } = spec;
    const { healthCheckNodePort: _portBefore, ...chosenBefore } = before.spec;
    deepEqual([chosen, metadata.labels], [chosenBefore, before.metadata.labels]);
  });
}

clusterTest("fields added by others stay", async (cluster) => {
  using scene = await WorkloadScene.create(cluster);
  await scene.done(LOAD_BALANCER);
  await scene.edit("Deployment", {
    metadata: { labels: { team: "edge" } },
    spec: {
      template: {
        metadata: { annotations: { "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z" } },
        spec: { containers: [{ name: "sidecar", image: "side:1" }] },
      },
    },
  });
  await scene.edit("Service", { spec: { sessionAffinity: "ClientIP" } });
  deepEqual(await scene.done(LOAD_BALANCER), []);
  await scene.edit("Deployment", { spec: { minReadySeconds: 1 } });
  deepEqual(await scene.done(LOAD_BALANCER), ["put back Deployment"]);
  const { metadata, spec } = await scene.must("Deployment");
  equal(metadata.labels?.team, "edge");
  equal(spec.template.spec.containers.length, 2);
  ok(spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]);
});

clusterTest(
  "a deleted object is recreated, but not while its deletion is in progress",
  async (cluster) => {
    using scene = await WorkloadScene.create(cluster);
    await scene.done(HOST_PORT);
    const before = await scene.must("DaemonSet");
    await scene.edit("DaemonSet", { metadata: { finalizers: ["example.com/wait"] } });
    await cluster.delete("apps/v1", "DaemonSet", NAME, scene.namespace);
    deepEqual(await scene.done({ ...HOST_PORT, image: "proxy:2" }), []);
    await scene.edit("DaemonSet", { metadata: { finalizers: null } });
    equal(await scene.get("DaemonSet"), null);
    deepEqual(await scene.done({ ...HOST_PORT, image: "proxy:2" }), ["applied DaemonSet"]);
    ok((await scene.must("DaemonSet")).metadata.uid !== before.metadata.uid);
  },
);

clusterTest(
  "a value that the API server normalises is not a foreign change",
  async (cluster) => {
    using scene = await WorkloadScene.create(cluster);
    const options = {
      ...HOST_PORT,
      podTemplate: {
        spec: {
          containers: [{ name: NAME, resources: { requests: { cpu: "0.50", memory: "1024Mi" } } }],
        },
      },
    };
    await scene.done(options);
    const { spec } = await scene.must("DaemonSet");
    equal(spec.template.spec.containers[0].resources.requests.cpu, "500m");
    scene.calls();
    deepEqual(await scene.done(options), []);
    deepEqual(scene.calls(), []);
  },
);

clusterTest("a repeated foreign change is reverted at growing intervals", async (cluster) => {
  using scene = await WorkloadScene.create(cluster);
  await scene.done(HOST_PORT);
  let putBack = 0;
  for (let second = 0; second < 60; second++) {
    scene.now += 1000;
    await scene.edit("DaemonSet", { spec: { minReadySeconds: 1 + second % 2 } });
    const { changes, retryAfter } = await scene.sync(HOST_PORT);
    putBack += changes.length;
    if (changes.length === 0) ok(retryAfter !== null && retryAfter > 0);
  }
  ok(putBack >= 3 && putBack <= 7, `put back ${putBack} times in a minute`);
});

clusterTest("nothing is written without leadership", async (cluster) => {
  using scene = await WorkloadScene.create(cluster);
  scene.leads = false;
  await scene.sync(LOAD_BALANCER);
  for (const kind of KINDS) equal(await scene.get(kind), null);
  scene.leads = true;
  await scene.done(LOAD_BALANCER);
  scene.leads = false;
  await scene.look();
  await scene.keeper.remove({ service: true });
  await scene.sync({ ...LOAD_BALANCER, image: "proxy:2" });
  equal((await scene.must("Deployment")).spec.template.spec.containers[0].image, "proxy:1");
});

clusterTest("an autoscaler starts with the existing number of replicas", async (cluster) => {
  using scene = await WorkloadScene.create(cluster);
  await scene.done({ ...LOAD_BALANCER, replicas: 7 });
  deepEqual(await scene.done(AUTOSCALED), [
    "applied Deployment",
    "applied HorizontalPodAutoscaler",
  ]);
  equal((await scene.must("Deployment")).spec.replicas, 7);
  // As the autoscaler, or kubectl scale.
  await scene.edit("Deployment", { spec: { replicas: 4 } }, "scale");
  deepEqual(await scene.done(AUTOSCALED), []);
  deepEqual(await scene.done({ ...AUTOSCALED, image: "proxy:2" }), ["applied Deployment"]);
  equal((await scene.must("Deployment")).spec.replicas, 4);
  deepEqual(await scene.done({ ...LOAD_BALANCER, image: "proxy:2" }), [
    "deleted HorizontalPodAutoscaler",
    "applied Deployment",
  ]);
  equal((await scene.must("Deployment")).spec.replicas, 2);
  equal(await scene.get("HorizontalPodAutoscaler"), null);
});

clusterTest(
  "a new Deployment with an autoscaler starts with the minimum",
  async (cluster) => {
    using scene = await WorkloadScene.create(cluster);
    await scene.done(AUTOSCALED);
    equal((await scene.must("Deployment")).spec.replicas, 3);
    // From then on it is the autoscaler's.
    await scene.edit("Deployment", { spec: { replicas: 5 } }, "scale");
    await scene.done(AUTOSCALED);
    equal((await scene.must("Deployment")).spec.replicas, 5);
  },
);

clusterTest("a backend is removed only when its replacement is ready", async (cluster) => {
  using scene = await WorkloadScene.create(cluster);
  await scene.done(HOST_PORT);
  await scene.finishRollout("DaemonSet");
  await scene.done(LOAD_BALANCER);
  await scene.done(LOAD_BALANCER);
  ok(await scene.get("DaemonSet"), "the Deployment has no pod yet");
  await scene.finishRollout("Deployment");
  deepEqual(await scene.done(LOAD_BALANCER), ["deleted DaemonSet"]);
  // And back; the address of the Service stays, and leads to the DaemonSet's pods.
  await scene.done(HOST_PORT);
  ok(await scene.get("Deployment"));
  await scene.finishRollout("DaemonSet");
  deepEqual(await scene.done(HOST_PORT), [
    "deleted PodDisruptionBudget",
    "deleted Deployment",
  ]);
  ok(await scene.get("Service"));
  deepEqual(await scene.done({ ...HOST_PORT, cleanupService: true }), ["deleted Service"]);
});

clusterTest("everything is removed, the Service only on request", async (cluster) => {
  using scene = await WorkloadScene.create(cluster);
  await scene.done(AUTOSCALED);
  await scene.look();
  await scene.keeper.remove({ service: false });
  await scene.look();
  const left = await Promise.all(KINDS.map(async (kind) => await scene.get(kind) && kind));
  deepEqual(left.filter((kind) => kind !== null), ["Service"]);
  await scene.keeper.remove({ service: true });
  equal(await scene.get("Service"), null);
  // And it comes back when there is an Ingress again.
  equal((await scene.done(AUTOSCALED)).length, 4);
});

clusterTest("somebody else's object of that name is not deleted", async (cluster) => {
  using scene = await WorkloadScene.create(cluster);
  await cluster.apply({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: NAME, namespace: scene.namespace },
    spec: { ports: [{ port: 80 }] },
  });
  await scene.look();
  await scene.keeper.remove({ service: true });
  ok(await scene.get("Service"));
});

const TYPES = ["LoadBalancer", "NodePort", "ClusterIP"] as const;

for (const from of TYPES) {
  for (const to of TYPES.filter((type) => type !== from)) {
    clusterTest(`a Service of type ${from} becomes one of type ${to}`, async (cluster) => {
      using scene = await WorkloadScene.create(cluster);
      await scene.done({ ...LOAD_BALANCER, serviceType: from });
      const before = await scene.must("Service");
      deepEqual(await scene.done({ ...LOAD_BALANCER, serviceType: to }), ["applied Service"]);
      const { spec } = await scene.must("Service");
      deepEqual([spec.type, spec.clusterIP], [to, before.spec.clusterIP]);
      equal(spec.externalTrafficPolicy, to === "ClusterIP" ? undefined : "Local");
      deepEqual(await scene.done({ ...LOAD_BALANCER, serviceType: to }), []);
    });
  }
}
