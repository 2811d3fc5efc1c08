/** A DaemonSet of the Pingress Controller in Rust becomes ours, and nothing of the old one stays. */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import {
  HOST_PORT,
  type Live,
  LOAD_BALANCER,
  NAME,
  WorkloadScene,
} from "./support/workload_scene.ts";

const OLD_MANAGER = "kinorca.com/pingress-controller";
const OLD_SECRET = "pingress-tls-secret";

/** Applies what that controller applies, as it does. */
async function installPredecessor(cluster: TestCluster, namespace: string): Promise<void> {
  const labels = {
    "app.kubernetes.io/managed-by": "pingress-controller",
    "kinorca.com/pingress-controller-type": "host-port",
  };
  const selector = { "app.kubernetes.io/name": NAME };
  await cluster.apply([
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: OLD_SECRET, namespace, labels },
      type: "Opaque",
      data: { "example.com.crt": "YQ==", "example.com.key": "Yg==" },
    },
    {
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: { name: NAME, namespace, labels },
      spec: {
        selector: { matchLabels: selector },
        template: {
          metadata: { labels: selector },
          spec: {
            containers: [{
              name: NAME,
              image: "ghcr.io/kinorca/pingress-proxy-server:latest",
              command: [
                "/usr/local/bin/pingress-proxy-server",
                "--config=/etc/pingress/config/proxy.json",
                "--listen-http=0.0.0.0:8080",
                "--listen-https=0.0.0.0:8443",
              ],
              ports: [
                { containerPort: 8080, hostPort: 80, name: "http", protocol: "TCP" },
                { containerPort: 8443, hostPort: 443, name: "https", protocol: "TCP" },
              ],
              securityContext: { readOnlyRootFilesystem: true },
              volumeMounts: [
                { mountPath: "/etc/pingress/config", name: "pingress-config", readOnly: true },
                { mountPath: "/etc/pingress/keys", name: OLD_SECRET, readOnly: true },
              ],
            }],
            imagePullSecrets: [{ name: "old" }],
            nodeSelector: { "example.com/old": "true" },
            volumes: [
              { name: OLD_SECRET, secret: { defaultMode: 0o700, secretName: OLD_SECRET } },
              { name: "pingress-config", configMap: { name: "pingress-config" } },
            ],
          },
        },
      },
    },
  ], { fieldManager: OLD_MANAGER });
}

async function secret(scene: WorkloadScene): Promise<Live | null> {
  return await scene.cluster.get("v1", "Secret", OLD_SECRET, scene.namespace);
}

clusterTest(
  "the old DaemonSet becomes ours: same object, nothing left of its pods",
  async (cluster) => {
    using scene = await WorkloadScene.create(cluster);
    await installPredecessor(cluster, scene.namespace);
    const before = await scene.must("DaemonSet");
    deepEqual(await scene.done(HOST_PORT), ["taken over DaemonSet", "applied DaemonSet"]);
    const { metadata, spec } = await scene.must("DaemonSet");
    equal(metadata.uid, before.metadata.uid);
    equal(metadata.labels?.["kinorca.com/pingress-controller-type"], undefined);
    const pod = spec.template.spec;
    deepEqual(pod.volumes.map(({ name }: { name: string }) => name), ["config"]);
    deepEqual(pod.containers[0].volumeMounts, [
      { name: "config", mountPath: "/etc/pingress", readOnly: true },
    ]);
    equal(pod.containers[0].command, undefined);
    equal(pod.imagePullSecrets, undefined);
    deepEqual(pod.nodeSelector, { "kubernetes.io/os": "linux" });
    const managers = metadata.managedFields?.map((entry) => (entry as { manager: string }).manager);
    deepEqual([...new Set(managers)], ["pingress-controller"]);
    // Once: what is ours is not taken over again.
    deepEqual(await scene.done({ ...HOST_PORT, image: "proxy:2" }), ["applied DaemonSet"]);
  },
);

clusterTest(
  "an apply without the takeover would leave the old volumes in the pods",
  async (cluster) => {
    using scene = await WorkloadScene.create(cluster);
    await installPredecessor(cluster, scene.namespace);
    const labels = { "app.kubernetes.io/name": NAME };
    const [{ spec }] = await cluster.apply<Live>({
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: { name: NAME, namespace: scene.namespace },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: NAME, image: "proxy:1" }] },
        },
      },
    }, { fieldManager: "pingress-controller" });
    equal(spec.template.spec.volumes.length, 2);
  },
);

clusterTest("the old Secret is removed when no pod can mount it any more", async (cluster) => {
  using scene = await WorkloadScene.create(cluster);
  await installPredecessor(cluster, scene.namespace);
  // Complete, but with old pods.
  await scene.finishRollout("DaemonSet");
  await scene.done(HOST_PORT);
  await scene.done(HOST_PORT);
  ok(await secret(scene), "old pods are still there");
  await scene.finishRollout("DaemonSet");
  deepEqual(await scene.done(HOST_PORT), ["deleted Secret"]);
  equal(await secret(scene), null);
  await scene.done(HOST_PORT);
  scene.calls();
  await scene.done(HOST_PORT);
  deepEqual(scene.calls(), [], "it is not asked for again and again");
});

clusterTest(
  "the old Secret is removed with the old DaemonSet if the new proxies are a Deployment",
  async (cluster) => {
    using scene = await WorkloadScene.create(cluster);
    await installPredecessor(cluster, scene.namespace);
    await scene.finishRollout("DaemonSet");
    await scene.done(LOAD_BALANCER);
    ok(await scene.get("DaemonSet"));
    await scene.finishRollout("Deployment");
    deepEqual(await scene.done(LOAD_BALANCER), ["deleted DaemonSet"]);
    deepEqual(await scene.done(LOAD_BALANCER), ["deleted Secret"]);
  },
);

clusterTest("a user's Secret of that name stays", async (cluster) => {
  using scene = await WorkloadScene.create(cluster);
  await cluster.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: OLD_SECRET, namespace: scene.namespace },
  });
  await scene.done(HOST_PORT);
  await scene.finishRollout("DaemonSet");
  deepEqual(await scene.done(HOST_PORT), []);
  ok(await secret(scene));
});

clusterTest(
  "with the last Ingress everything of the old controller is removed too",
  async (cluster) => {
    using scene = await WorkloadScene.create(cluster);
    await installPredecessor(cluster, scene.namespace);
    await scene.look();
    await scene.keeper.remove({ service: false });
    await scene.look();
    await scene.keeper.remove({ service: false });
    equal(await scene.get("DaemonSet"), null);
    equal(await secret(scene), null);
  },
);

clusterTest("the old controller cannot take the DaemonSet back", async (cluster) => {
  using scene = await WorkloadScene.create(cluster);
  await installPredecessor(cluster, scene.namespace);
  await scene.done(HOST_PORT);
  const path = await cluster.pathOf("apps/v1", "DaemonSet", NAME, scene.namespace);
  // It applies without force.
  const answer = await cluster.request(
    "PATCH",
    `${path}?fieldManager=${encodeURIComponent(OLD_MANAGER)}`,
    {
      apiVersion: "apps/v1",
      kind: "DaemonSet",
      metadata: { name: NAME },
      spec: {
        template: {
          spec: { containers: [{ name: NAME, image: "ghcr.io/kinorca/pingress-proxy-server" }] },
        },
      },
    },
    "application/apply-patch+yaml",
  );
  equal(answer.status, 409, answer.text);
});
