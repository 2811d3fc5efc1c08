/** What the API server may refuse of the proxy workload, and which rights it takes. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { workloadObjects } from "../../controller/outputs/workload/objects.ts";
import { fieldOf } from "../../controller/base/json.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { AUTOSCALED, HOST_PORT, NAME, WorkloadScene } from "./support/workload_scene.ts";

/** All that the keeper needs in the proxies' namespace, watches aside. */
const RULES = [
  {
    apiGroups: ["apps"],
    resources: ["daemonsets", "deployments"],
    verbs: ["get", "create", "patch", "delete"],
  },
  { apiGroups: [""], resources: ["services"], verbs: ["get", "create", "patch", "delete"] },
  {
    apiGroups: ["policy"],
    resources: ["poddisruptionbudgets"],
    verbs: ["get", "create", "patch", "delete"],
  },
  {
    apiGroups: ["autoscaling"],
    resources: ["horizontalpodautoscalers"],
    verbs: ["get", "create", "patch", "delete"],
  },
  { apiGroups: [""], resources: ["secrets"], verbs: ["get"] },
];

clusterTest(
  "these permissions are sufficient for both backends, and each is needed",
  async (cluster) => {
    const account = await cluster.newNamespace("account");
    const kubeconfig = await cluster.serviceAccountKubeconfig(account, "controller");
    const rules = RULES.flatMap(({ apiGroups, resources, verbs }) =>
      resources.flatMap((resource) => verbs.map((verb) => ({ apiGroups, resource, verb })))
    );
    /** Both backends and the removal of all; what was forbidden. */
    const run = async (granted: typeof rules) => {
      using scene = await WorkloadScene.create(cluster, { kubeconfig });
      const metadata = { name: "controller", namespace: scene.namespace };
      await cluster.apply([
        {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "Role",
          metadata,
          rules: granted.map(({ apiGroups, resource, verb }) => ({
            apiGroups,
            resources: [resource],
            verbs: [verb],
          })),
        },
        {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "RoleBinding",
          metadata,
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "controller" },
          subjects: [{ kind: "ServiceAccount", name: "controller", namespace: account }],
        },
      ]);
      const results = [await scene.sync(HOST_PORT)];
      if (await scene.get("DaemonSet")) await scene.finishRollout("DaemonSet");
      results.push(await scene.sync(HOST_PORT), await scene.sync(AUTOSCALED));
      await scene.look();
      results.push(await scene.keeper.remove({ service: true }));
      return results.flatMap(({ failures }) => failures.map(({ error }) => error.reason));
    };
    deepEqual(await run(rules), []);
    for (const one of rules) {
      const reasons = await run(rules.filter((rule) => rule !== one));
      ok(reasons.includes("Forbidden"), `${one.verb} ${one.resource} is not needed`);
    }
  },
);

/** What is refused, and what a user reads of it. */
async function refused(scene: WorkloadScene, options = HOST_PORT) {
  const { problems, failures, retryAfter } = await scene.sync(options);
  equal(problems.length, 1, JSON.stringify({ problems, failures }));
  ok(retryAfter !== null && retryAfter > 0);
  const [problem] = problems;
  deepEqual([problem.object?.kind, problem.severity], ["DaemonSet", "error"]);
  return problem;
}

clusterTest(
  "an unknown field of a pod is a problem that names it, and is not retried all the time",
  async (cluster) => {
    using scene = await WorkloadScene.create(cluster);
    const wrong = { ...HOST_PORT, podTemplate: { spec: { dnsPolcy: "None" } } };
    const problem = await refused(scene, wrong);
    equal(problem.reason, "InvalidWorkload");
    match(problem.message, /dnsPolcy/);
    match(problem.remedy, /--proxy-pod-template/);
    scene.calls();
    deepEqual(await refused(scene, wrong), problem);
    deepEqual(scene.calls(), []);
    // A correction does not wait.
    deepEqual(await scene.done(HOST_PORT), ["applied DaemonSet"]);
  },
);

clusterTest(
  "a value that the API server rejects is a problem, and the pods stay",
  async (cluster) => {
    using scene = await WorkloadScene.create(cluster);
    await scene.done(HOST_PORT);
    const problem = await refused(scene, {
      ...HOST_PORT,
      podTemplate: { spec: { containers: [{ name: NAME, imagePullPolicy: "Sometimes" }] } },
    });
    equal(problem.reason, "InvalidWorkload");
    match(problem.message, /imagePullPolicy.*Sometimes/);
    equal((await scene.must("DaemonSet")).spec.template.spec.containers[0].image, "proxy:1");
  },
);

clusterTest("somebody else's selector is a problem with a remedy", async (cluster) => {
  using scene = await WorkloadScene.create(cluster);
  const labels = { app: "mine" };
  await cluster.apply({
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: NAME, namespace: scene.namespace },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "a", image: "a" }] } },
    },
  });
  const problem = await refused(scene);
  equal(problem.reason, "ImmutableField");
});

clusterTest("a quota is a problem", async (cluster) => {
  using scene = await WorkloadScene.create(cluster);
  const hard = { "count/daemonsets.apps": "0" };
  const quota = {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: "none", namespace: scene.namespace },
    spec: { hard },
  };
  await cluster.apply(quota);
  // What the controller of quotas would count.
  await cluster.apply({ ...quota, spec: undefined, status: { hard, used: { ...hard } } }, {
    subresource: "status",
  });
  const problem = await refused(scene);
  equal(problem.reason, "QuotaExceeded");
});

clusterTest("a permission that the controller lacks is a problem", async (cluster) => {
  const namespace = await cluster.newNamespace("account");
  const kubeconfig = await cluster.serviceAccountKubeconfig(namespace, "nobody");
  using scene = await WorkloadScene.create(cluster, { kubeconfig });
  const problem = await refused(scene);
  equal(problem.reason, "NotPermitted");
  match(problem.message, /cannot get resource "daemonsets"/);
});

clusterTest("a missing namespace is a problem", async (cluster) => {
  using scene = await WorkloadScene.create(cluster);
  await removeNamespace(cluster, scene.namespace);
  const problem = await refused(scene);
  equal(problem.reason, "NamespaceNotFound");
});

/** With nobody there to finish it. */
async function removeNamespace(cluster: TestCluster, name: string): Promise<void> {
  await cluster.delete("v1", "Namespace", name);
  const there = await cluster.get("v1", "Namespace", name);
  await cluster.request("PUT", `/api/v1/namespaces/${name}/finalize`, {
    ...there,
    spec: { finalizers: [] },
  });
  equal(await cluster.get("v1", "Namespace", name), null);
}

clusterTest(
  "an unreachable API server is not a user's problem, and is waited for",
  async (cluster) => {
    using scene = await WorkloadScene.create(cluster);
    await scene.look();
    await cluster.stopApiServer();
    const away = await scene.keeper.sync(planOf(scene));
    deepEqual(away.problems, []);
    equal(fieldOf(away.failures[0]?.error, "reason"), "Unreachable");
    ok(away.retryAfter !== null && away.retryAfter > 0);
    await cluster.startApiServer();
    scene.now += away.retryAfter;
    deepEqual(await scene.done(HOST_PORT), ["applied DaemonSet"]);
  },
);

function planOf(scene: WorkloadScene) {
  return workloadObjects(scene.here(HOST_PORT));
}
