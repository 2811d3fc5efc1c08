/**
 * Clusters that lose their memory: etcd put back to a backup, or made anew, under a controller and a
 * proxy that remember. Resource versions begin again below what both have seen.
 */
import assert from "node:assert/strict";
import type { KubeObject } from "./support/api_client.ts";
import { startCluster, type TestCluster } from "./support/cluster.ts";
import { eventually } from "./support/condition.ts";
import { ControllerProcess } from "./support/controller_process.ts";
import { ControllerScene } from "./support/controller_scene.ts";
import { EtcdBackup, wipeEtcd } from "./support/etcd_backup.ts";
import { KubeletVolume } from "./support/kubelet_volume.ts";
import { shownProxies } from "./support/stream_scene.ts";
import { answerOf, proxyCredentials, startStreamedProxy } from "./support/streamed_proxy.ts";
import { freePort } from "../support/ports.ts";

const ARGS = ["--stream-name=127.0.0.1"];

/** More than a controller and its API server write in the minute that a test takes. */
const WRITES = 1500;

/** Has the clock of resource versions run on. */
async function write(cluster: TestCluster, count: number): Promise<void> {
  let left = count;
  const data = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "written" } };
  await cluster.apply(data as Partial<KubeObject>, { namespace: "default" });
  await Promise.all(Array.from({ length: 16 }, async (_, i) => {
    while (left-- > 0) {
      const metadata = { name: `written-${i}-${left}` };
      await cluster.create({ apiVersion: "v1", kind: "ConfigMap", metadata }, "default");
    }
  }));
}

Deno.test("after an etcd restore proxies keep their snapshot, which is reported, until they are restarted", async () => {
  const cluster = await startCluster({ name: "an etcd that is put back" });
  if (cluster === null) return;
  await using _ = cluster;
  await using scene = await ControllerScene.prepare(cluster, {
    args: [...ARGS, `--stream=127.0.0.1:${freePort()}`],
  });
  await scene.service("web", []);
  await scene.ingress("kept");
  const first = await scene.startController();
  await first.line("The stream has a new certificate");
  await scene.eventuallyRouted("kept.example.com");
  const backup = await EtcdBackup.take(cluster);
  await write(cluster, WRITES);
  await scene.ingress("lost");
  const published = await scene.eventuallyRouted("lost.example.com");
  {
    await using proxy = await startStreamedProxy(scene, { snapshot: published });
    await eventually("a stream", async () => (await shownProxies(first)).inSync === 1);
    // One that lives through it counts on from what it has published, where it is soon enough.
    await first.kill();
    await backup.restore();
    const next = await scene.startController();
    await scene.ingress("later");
    await eventually("a refusal", async () => {
      const { proxies: [shown] } = await shownProxies(next);
      return shown?.refused?.code === "older";
    });
    // Replicas that catch up are given half a minute.
    const { object, message } = await eventually(
      "a problem",
      async () => (await scene.problems()).find(({ reason }) => reason === "ConfigurationRejected"),
      60_000,
    );
    assert.equal(object, `DaemonSet ${scene.system}/pingress-proxy-server`);
    assert.match(message, /\(older\).*seen less of the cluster.*the previous one stays active/);
    const told = await scene.eventuallyEvent("ConfigurationRejected");
    assert.match(told, /restoring etcd from a backup; if so, restart the proxies/);
    assert.equal(await answerOf(proxy, "lost.example.com"), 503);
    assert.equal(await answerOf(proxy, "later.example.com"), 404);
  }
  await scene.eventuallyRouted("later.example.com");
  await using volume = new KubeletVolume(cluster, scene.system, "snapshot.json");
  const files = await volume.files();
  await using proxy = await startStreamedProxy(scene, {
    publish: (folder) => volume.mount(folder, files),
  });
  assert.equal(await answerOf(proxy, "later.example.com"), 503);
  assert.equal(await answerOf(proxy, "lost.example.com"), 404);
  await scene.ingress("latest");
  await eventually(
    "the next change",
    async () => await answerOf(proxy, "latest.example.com") === 503,
  );
  await eventually("end of the problem", async () => {
    const reasons = (await scene.problems()).map(({ reason }) => reason);
    return !reasons.includes("ConfigurationRejected");
  });
});

Deno.test("a recreated cluster empties no proxy, and replaces the snapshot with its first route", async () => {
  const cluster = await startCluster({ name: "a cluster that is made anew" });
  if (cluster === null) return;
  await using _ = cluster;
  await using scene = await ControllerScene.prepare(cluster, { args: ARGS });
  const { kubeconfig, flags, system, app } = scene;
  await scene.service("web", []);
  await scene.ingress("kept");
  const first = await scene.startController();
  const { stream } = await first.line("Listening");
  const credentials = await proxyCredentials(scene);
  await using proxy = await startStreamedProxy(scene, { credentials });
  await eventually("the route", async () => await answerOf(proxy, "kept.example.com") === 503);
  const refusedAs = (controller: ControllerProcess, code: string) =>
    eventually(`refusal as ${code}`, async () => {
      const { proxies: [shown] } = await shownProxies(controller);
      return shown?.refused?.code === code;
    });

  await wipeEtcd(cluster);
  await refusedAs(first, "older");
  await write(cluster, WRITES);
  await refusedAs(first, "empty");
  assert.equal(await answerOf(proxy, "kept.example.com"), 503);
  assert.equal(await first.stop(), 0);

  for (const name of [system, app]) {
    await cluster.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  await using next = await ControllerProcess.start({
    kubeconfig,
    args: [...flags, `--stream=${stream}`],
  });
  const fresh = await proxyCredentials(scene);
  await Deno.copyFile(fresh.token, credentials.token);
  await Deno.copyFile(fresh.ca, credentials.ca);
  await refusedAs(next, "empty");
  assert.equal(await answerOf(proxy, "kept.example.com"), 503);
  await scene.service("web", []);
  await scene.ingress("new");
  await eventually("the new route", async () => await answerOf(proxy, "new.example.com") === 503);
  assert.equal(await answerOf(proxy, "kept.example.com"), 404);
});
