import assert from "node:assert/strict";
import { ApiClient } from "./support/api_client.ts";
import { startGateway } from "./support/api_gateway.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { startFaultProxy } from "./support/fault_proxy.ts";
import {
  delayed,
  doneButFailed,
  emptyList,
  failure,
  gone,
  goneInWatch,
  heldUntil,
  tooManyRequests,
  truncatedList,
  watchThatSays,
} from "./support/gateway_answers.ts";

async function withGateway(cluster: TestCluster) {
  const namespace = await cluster.newNamespace();
  const gateway = await startGateway(cluster);
  const client = new ApiClient(gateway.server, cluster.caPem, cluster.adminToken);
  const configMap = (name: string) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace },
  });
  return {
    namespace,
    gateway,
    client,
    configMap,
    path: `/api/v1/namespaces/${namespace}/configmaps`,
    async [Symbol.asyncDispose]() {
      client.close();
      await gateway.close();
    },
  };
}

clusterTest("a gateway forwards requests and records them", async (cluster) => {
  await using scene = await withGateway(cluster);
  const { gateway, client, namespace, configMap } = scene;
  await client.apply(configMap("one"), { fieldManager: "somebody" });
  assert.equal((await cluster.list("v1", "ConfigMap", { namespace })).length, 1);
  const [write] = gateway.recorded({ resource: "configmaps", verb: ["patch", "create"] });
  assert.equal(write.name, "one");
  assert.equal(write.query.get("fieldManager"), "somebody");
  assert.equal(JSON.parse(write.body).kind, "ConfigMap");
  assert.equal(write.status, 201);
  assert.equal(write.token, cluster.adminToken);
  assert.match(write.userAgent, /Deno/);
  assert.ok(write.answered! >= write.time);
  assert.equal(gateway.recorded({ namespace, verb: "delete" }).length, 0);
});

clusterTest("a gateway sends other responses, as often as configured", async (cluster) => {
  await using scene = await withGateway(cluster);
  const { gateway, client, path, configMap } = scene;
  await client.apply(["a", "b", "c"].map(configMap));
  const lists = { verb: "list", resource: "configmaps" } as const;
  const count = async () => (await client.request("GET", path)).body.items?.length;
  const slow = gateway.inject(lists, tooManyRequests(7), 1);
  const response = await client.open("GET", path);
  assert.equal(response.headers.get("retry-after"), "7");
  assert.equal((await response.json()).code, 429);
  assert.equal(slow.hits, 1);
  assert.equal(await count(), 3);
  gateway.inject(lists, emptyList(), 1);
  assert.equal(await count(), 0);
  gateway.inject(lists, truncatedList(2), 1);
  assert.equal(await count(), 2);
  gateway.inject(lists, delayed(10), 1);
  assert.equal(await count(), 3);
  const failing = gateway.inject(lists, failure(500));
  assert.equal((await client.request("GET", path)).status, 500);
  assert.equal((await client.request("GET", path)).body.reason, "InternalError");
  failing.remove();
  assert.equal(await count(), 3);
  gateway.inject({ verb: "watch" }, gone(), 1);
  assert.equal((await client.request("GET", `${path}?watch=1`)).status, 410);
  gateway.inject({ verb: "watch" }, goneInWatch(), 1);
  assert.match((await client.request("GET", `${path}?watch=1`)).text, /"ERROR".*"code":410/);
  gateway.inject({ verb: "watch" }, watchThatSays('{"type":"ADD'), 1);
  assert.equal((await client.request("GET", `${path}?watch=1`)).text, '{"type":"ADD');
  gateway.inject({ verb: "create" }, doneButFailed(), 1);
  await assert.rejects(client.create(configMap("d")), /500/);
  assert.equal(await count(), 4);
  const release = Promise.withResolvers<void>();
  gateway.inject(lists, heldUntil(release.promise), 1);
  const held = count();
  await eventually("held request", () => gateway.recorded(lists).at(-1)?.status === null);
  release.resolve();
  assert.equal(await held, 4);
});

clusterTest("a watch streams through a gateway, which can end it", async (cluster) => {
  await using scene = await withGateway(cluster);
  const { gateway, client, path, configMap } = scene;
  for (const how of ["end", "abort"] as const) {
    const response = await client.open("GET", `${path}?watch=true`);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    await cluster.apply(configMap(how));
    assert.match((await reader.read()).value!, /"ADDED"/);
    assert.equal(gateway.recorded({ verb: "watch" }).at(-1)!.isOpen, true);
    assert.equal(gateway.endStreams({ verb: "watch" }, how), 1);
    const rest = (async () => {
      while (!(await reader.read()).done);
    })();
    if (how === "end") await rest;
    else await assert.rejects(rest);
    assert.equal(gateway.recorded({ verb: "watch" }).at(-1)!.isOpen, false);
  }
});

clusterTest("a gateway notices that a watcher has closed", async (cluster) => {
  await using scene = await withGateway(cluster);
  const { gateway, client, path } = scene;
  const response = await client.open("GET", `${path}?watch=true`);
  await response.body!.cancel();
  await eventually("end of the watch", () => !gateway.recorded({ verb: "watch" })[0].isOpen);
});

clusterTest("kubeconfigs of gateways and fault proxies work with clients", async (cluster) => {
  await using scene = await withGateway(cluster);
  await using proxy = await startFaultProxy(scene.gateway.port);
  const direct = await scene.gateway.kubeconfigFor(cluster.adminToken);
  const proxied = await cluster.writeFile(
    cluster.kubeconfigFor(cluster.adminToken, proxy.server),
  );
  const { kubectl } = cluster.programs;
  if (kubectl === null) {
    console.log("skipped: kubeconfigs: kubectl is missing (remedy: unset KUBEBUILDER_ASSETS)");
    return;
  }
  for (const kubeconfig of [cluster.kubeconfig, direct, proxied]) {
    const { success, stdout } = await new Deno.Command(kubectl, {
      args: ["--kubeconfig", kubeconfig, "get", "namespace", scene.namespace, "-o", "name"],
    }).output();
    assert.equal(success, true);
    assert.equal(new TextDecoder().decode(stdout), `namespace/${scene.namespace}\n`);
  }
  assert.equal(scene.gateway.recorded({ resource: "namespaces", verb: "get" }).length, 2);
});
