/** Format 1 beside format 2 on a real API server, as an upgrade leaves them. */
import { deepEqual, equal } from "node:assert/strict";
import { format1Set } from "../support/format1_set.ts";
import { largeSnapshot } from "../support/published_scene.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { type Live, PublishScene } from "./support/publish_scene.ts";
import type { TestCluster } from "./support/cluster.ts";

const BEFORE = largeSnapshot({ routes: 300, certificates: 800 });
/** Other endpoints and fewer certificates. */
const AFTER = largeSnapshot({ routes: 300, certificates: 100, seed: 2, seen: "2" });
const labels = { "pingress.io/published": "snapshot" };

/** Puts what the version before has published there. */
async function upgraded(cluster: TestCluster): Promise<PublishScene> {
  const scene = await PublishScene.create(cluster);
  const { configMaps, secrets } = format1Set(BEFORE);
  const objects = [
    ...configMaps.map((one) => ({ kind: "ConfigMap", ...one })),
    ...secrets.map((one) => ({ kind: "Secret", type: "Opaque", ...one })),
  ].map((one) => ({ apiVersion: "v1", ...one, metadata: { name: one.metadata!.name!, labels } }));
  await cluster.apply(objects, { namespace: scene.namespace, fieldManager: "pingress-controller" });
  await scene.noticed();
  return scene;
}

function format1Of(objects: readonly Live[]): readonly unknown[] {
  return objects.filter(({ metadata: { name } }) => /^pingress-config(-\d)?$/.test(name))
    .map(({ metadata, data, binaryData }) => [metadata.resourceVersion, data, binaryData]);
}

clusterTest(
  "an upgrade publishes beside format 1, which stays unchanged with its keys",
  async (cluster) => {
    await using scene = await upgraded(cluster);
    const before = format1Of(await scene.list());
    const keys = (objects: readonly Live[]) =>
      objects.filter(({ kind }) => kind === "Secret")
        .flatMap(({ data }) => Object.keys(data ?? {})).sort();
    const held = keys(await scene.list());
    equal(before.length, 3);
    equal(held.length, 800);
    deepEqual(scene.publisher.published().version, BEFORE.version);

    await scene.done(AFTER);
    await scene.expectPublished(AFTER);
    scene.now = 10 * 60_000;
    scene.restart();
    await scene.done(AFTER);
    scene.now = 20 * 60_000;
    deepEqual(await scene.done(AFTER), []);
    deepEqual(format1Of(await scene.list()), before);
    deepEqual([...new Set(keys(await scene.list()))], held);
  },
);

clusterTest("keys are removed once format 1 has been deleted manually", async (cluster) => {
  await using scene = await upgraded(cluster);
  await scene.done(AFTER);
  for (const name of ["pingress-config", "pingress-config-1", "pingress-config-2"]) {
    await scene.delete("ConfigMap", name);
  }
  await scene.noticed();
  await scene.done(AFTER);
  scene.now = 10 * 60_000;
  await scene.done(AFTER);
  const names = (await scene.list()).map(({ metadata }) => metadata.name);
  deepEqual(names, ["pingress-config-v2", "pingress-keys"]);
  equal(Object.keys((await scene.must("Secret", "pingress-keys")).data!).length, 100);
});

clusterTest("a removal removes both formats", async (cluster) => {
  await using scene = await upgraded(cluster);
  await scene.done(AFTER);
  equal((await scene.publisher.remove()).ok, true);
  deepEqual((await scene.list()).map(({ metadata }) => metadata.name), []);
});
