import assert from "node:assert/strict";
import { startCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";

clusterTest("applied objects can be read, listed and deleted", async (cluster) => {
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

clusterTest("expired resourceVersions are gone", async (cluster) => {
  const namespace = await cluster.newNamespace();
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  for (const name of ["one", "two"]) {
    await cluster.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace } });
  }
  const first = await cluster.request("GET", `${path}?limit=1`);
  const { resourceVersion, continue: rest } = first.body.metadata!;
  const watchFrom = `${path}?watch=true&timeoutSeconds=1&resourceVersion=${resourceVersion}`;
  assert.equal((await cluster.request("GET", watchFrom)).text, "");
  await cluster.expireWatches();
  const continued = await cluster.request("GET", `${path}?limit=1&continue=${rest}`);
  assert.equal(continued.status, 410);
  const watched = await cluster.request("GET", watchFrom);
  assert.match(watched.text, /"code":410/);
});

clusterTest("a suspended API server does not respond until it resumes", async (cluster) => {
  cluster.pause();
  try {
    await assert.rejects(
      fetch(`${cluster.server}/readyz`, { signal: AbortSignal.timeout(200) }),
    );
  } finally {
    cluster.resume();
  }
  await cluster.waitUntilReady();
});

Deno.test("a test's own flags override those of the harness", async () => {
  const cluster = await startCluster({
    name: "flags of a test's own",
    apiServerFlags: ["--authorization-mode=AlwaysAllow", "--watch-cache=false"],
  });
  if (cluster === null) return;
  await using _ = cluster;
  const account = cluster.as(await cluster.serviceAccountToken("default", "anybody"));
  assert.equal((await account.request("GET", "/api/v1/secrets")).status, 200);
  const { body } = await cluster.request("GET", "/api/v1/namespaces/default/configmaps");
  const path = "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=1" +
    `&resourceVersion=${body.metadata!.resourceVersion}`;
  await cluster.newNamespace();
  await cluster.compactEtcd();
  assert.match((await cluster.request("GET", path)).text, /"code":410/);
});

Deno.test("a test that is killed leaves no server running", async () => {
  const script = `
    import { startCluster } from ${JSON.stringify(import.meta.resolve("./support/cluster.ts"))};
    const cluster = await startCluster({ name: "a test that is killed" });
    if (cluster !== null) console.log(cluster.server);
    setInterval(() => {}, 1000);
  `;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["eval", `--config=${import.meta.dirname}/../../deno.json`, script],
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const said: string[] = [];
  for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
    said.push(part);
    if (part.includes("\n")) break;
  }
  child.kill("SIGKILL");
  await child.status;
  if (said.join("").startsWith("skipped")) return console.log(said.join("").trimEnd());
  const port = Number(new URL(said.join("").trim()).port);
  await eventually("end of the API server", async () => {
    try {
      (await Deno.connect({ port })).close();
      return false;
    } catch (error) {
      return error instanceof Deno.errors.ConnectionRefused;
    }
  });
});
