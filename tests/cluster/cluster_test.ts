import assert from "node:assert/strict";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";

clusterTest("what is applied can be read, listed and deleted", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await cluster.apply(
    `
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
data: {a: b}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: ${namespace}}
spec: {controller: example.com/c}
`,
    { namespace },
  );
  const found = await cluster.get("v1", "ConfigMap", "one", namespace);
  assert.deepEqual(found?.data, { a: "b" });
  const list = await cluster.list("v1", "ConfigMap", { namespace });
  assert.deepEqual(list.map(({ kind, metadata }) => [kind, metadata.name]), [["ConfigMap", "one"]]);
  assert.notEqual(await cluster.get("networking.k8s.io/v1", "IngressClass", namespace), null);
  assert.equal(await cluster.delete("v1", "ConfigMap", "one", namespace), true);
  assert.equal(await cluster.delete("v1", "ConfigMap", "one", namespace), false);
  assert.equal(await cluster.get("v1", "ConfigMap", "one", namespace), null);
});

clusterTest("a service account may do what RBAC grants, and nothing else", async (cluster) => {
  const namespace = await cluster.newNamespace();
  const token = await cluster.serviceAccountToken(namespace, "reader");
  const account = cluster.as(token);
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  assert.equal((await account.request("GET", path)).status, 403);
  await cluster.apply([{
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name: "reader", namespace },
    rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }],
  }, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "reader", namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
    subjects: [{ kind: "ServiceAccount", name: "reader", namespace }],
  }]);
  await eventually("grant", async () => (await account.request("GET", path)).status === 200);
  assert.equal((await account.request("DELETE", `${path}/any`)).status, 403);
  assert.equal((await account.request("GET", "/api/v1/configmaps")).status, 403);
});

clusterTest("a stopped API server comes back with its data", async (cluster) => {
  const namespace = await cluster.newNamespace();
  await cluster.restartApiServer();
  assert.notEqual(await cluster.get("v1", "Namespace", namespace), null);
  await cluster.stopEtcd();
  await cluster.stopApiServer("SIGKILL");
  await assert.rejects(cluster.request("GET", "/readyz"));
  await cluster.startEtcd();
  await cluster.startApiServer();
  assert.notEqual(await cluster.get("v1", "Namespace", namespace), null);
});
