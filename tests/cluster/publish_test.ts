/** What is published against a real API server: order, repair, conflicts, ends between two writes. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { largeSnapshot } from "../support/published_scene.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { PublishScene } from "./support/publish_scene.ts";

const SMALL = largeSnapshot({ routes: 20, certificates: 3 });
const FEWER = { ...SMALL, certificates: SMALL.certificates.slice(1) };
const LARGE = largeSnapshot({ routes: 300, certificates: 800 });
const LATER = largeSnapshot({ routes: 300, certificates: 800, seed: 2, seen: "2" });

const FIRST = "ConfigMap pingress-config-v2";

clusterTest("a configuration is published completely, and only once", async (cluster) => {
  await using scene = await PublishScene.create(cluster);
  deepEqual(await scene.done(SMALL), ["Secret pingress-keys", FIRST]);
  await scene.expectPublished(SMALL);
  deepEqual(await scene.done(SMALL), []);
  await scene.settled();
  deepEqual(await scene.done(SMALL), []);
  deepEqual(await scene.done({ ...SMALL, version: { epoch: "x", seen: { Ingress: "9" } } }), []);
  const secret = await scene.must("Secret", "pingress-keys");
  equal(secret.type, "Opaque");
  deepEqual(secret.metadata.labels, {
    "app.kubernetes.io/managed-by": "pingress-controller",
    "app.kubernetes.io/part-of": "pingress",
    "pingress.io/published": "snapshot",
  });
  deepEqual(secret.metadata.managedFields?.map(({ manager }) => manager), ["pingress-controller"]);
});

clusterTest(
  "parts and their index: the index is written last, beside the parts in use",
  async (cluster) => {
    await using scene = await PublishScene.create(cluster);
    deepEqual(await scene.done(LARGE), [
      "Secret pingress-keys",
      "Secret pingress-keys-1",
      "Secret pingress-keys-2",
      "Secret pingress-keys-3",
      "ConfigMap pingress-config-v2-1",
      "ConfigMap pingress-config-v2-2",
      FIRST,
    ]);
    await scene.expectPublished(LARGE);
    deepEqual(await scene.done(LATER), [
      "ConfigMap pingress-config-v2-3",
      "ConfigMap pingress-config-v2-4",
      FIRST,
    ]);
    await scene.expectPublished(LATER);
  },
);

clusterTest(
  "whichever write is the last one, the published configuration is complete, and is updated later",
  async (cluster) => {
    await using scene = await PublishScene.create(cluster);
    const steps = [LARGE, LATER, SMALL, LARGE, FEWER, LATER];
    await scene.done(SMALL);
    let before = SMALL;
    for (const next of steps) {
      for (let writes = 0;; writes++) {
        scene.leave = writes;
        const result = await scene.sync(next);
        if (result.ok) break;
        if (result.kind === "conflict") {
          // The watch was late with a write of the publisher before; the controller runs again too.
          await scene.expectPublished(before);
          await scene.settled();
          writes--;
          continue;
        }
        equal(result.kind, "stopped");
        // Nothing but one of the two, whole, ever stands there.
        await scene.expectPublished(before);
        // The next leader knows nothing of this one.
        scene.restart();
      }
      scene.leave = Infinity;
      await scene.expectPublished(next);
      before = next;
    }
  },
);

clusterTest("superseded parts stay for two minutes, and are then removed", async (cluster) => {
  await using scene = await PublishScene.create(cluster);
  await scene.done(LARGE);
  const first = await scene.sync(SMALL);
  ok(first.ok);
  deepEqual(first.removed, []);
  equal(first.again, 120_000);
  const names = async () => (await scene.list()).map(({ metadata }) => metadata.name);
  ok((await names()).includes("pingress-config-v2-2"));
  ok((await names()).includes("pingress-keys-1"));
  await scene.settled();
  scene.now = 119_999;
  const early = await scene.sync(SMALL);
  deepEqual([early.ok && early.written, early.ok && early.again], [[], 1]);
  scene.now = 120_000;
  const late = await scene.sync(SMALL);
  ok(late.ok);
  deepEqual(late.removed.map(({ name }) => name), [
    "pingress-config-v2-1",
    "pingress-config-v2-2",
    "pingress-keys-1",
    "pingress-keys-2",
    "pingress-keys-3",
  ]);
  equal(late.again, null);
  deepEqual(await names(), ["pingress-config-v2", "pingress-keys"]);
  await scene.expectPublished(SMALL);
  equal(Object.keys((await scene.must("Secret", "pingress-keys")).data!).length, 3);
});

clusterTest("a replica that leads again restarts the two minutes", async (cluster) => {
  await using scene = await PublishScene.create(cluster);
  await scene.done(SMALL);
  await scene.done(FEWER);
  await scene.settled();
  scene.now = 119_000;
  scene.publisher.reset();
  const result = await scene.sync(FEWER);
  equal(result.ok && result.again, 120_000);
});

clusterTest("an unused key is deleted eventually", async (cluster) => {
  await using scene = await PublishScene.create(cluster);
  await scene.done(SMALL);
  deepEqual(await scene.done(FEWER), [FIRST]);
  equal(Object.keys((await scene.must("Secret", "pingress-keys")).data!).length, 3);
  await scene.settled();
  scene.now = 120_000;
  deepEqual(await scene.done(FEWER), ["Secret pingress-keys"]);
  equal(Object.keys((await scene.must("Secret", "pingress-keys")).data!).length, 2);
  await scene.expectPublished(FEWER);
});

clusterTest("parts alternate, however often they change", async (cluster) => {
  await using scene = await PublishScene.create(cluster);
  for (let turn = 0; turn < 6; turn++) {
    scene.now += 1000;
    const next = turn % 2 === 0 ? LARGE : LATER;
    scene.leave = Infinity;
    await scene.done(next);
    await scene.expectPublished(next);
  }
  ok((await scene.list()).length <= 12);
});

clusterTest("foreign changes are reverted", async (cluster, context) => {
  const hash = SMALL.certificates.length > 0 ? "f".repeat(64) : "";
  const cases: [says: string, change: (scene: PublishScene) => Promise<void>][] = [
    [
      "the index is edited",
      (scene) => scene.edit("ConfigMap", "pingress-config-v2", { data: { "proxy-v2.json": "{}" } }),
    ],
    ["the index is deleted", (scene) => scene.delete("ConfigMap", "pingress-config-v2")],
    ["a key is edited", async (scene) => {
      const { data } = await scene.must("Secret", "pingress-keys");
      const [key] = Object.keys(data!);
      await scene.edit("Secret", "pingress-keys", { data: { [key]: btoa("another") } });
    }],
    ["a key is removed", async (scene) => {
      const { data } = await scene.must("Secret", "pingress-keys");
      const [key] = Object.keys(data!);
      await scene.edit("Secret", "pingress-keys", { data: { [key]: null } });
    }],
    ["the keys are deleted", (scene) => scene.delete("Secret", "pingress-keys")],
    [
      "a file is added that would hide the index",
      (scene) => scene.edit("Secret", "pingress-keys", { data: { "proxy-v2.json": btoa("{}") } }),
    ],
    [
      "something is added under a hash",
      (scene) => scene.edit("Secret", "pingress-keys", { data: { [hash]: btoa("x") } }),
    ],
    [
      "something is added beside the index",
      (scene) =>
        scene.edit("ConfigMap", "pingress-config-v2", {
          data: { note: "x" },
          binaryData: { b: "eA==" },
        }),
    ],
    ["the index becomes bytes", (scene) =>
      scene.edit("ConfigMap", "pingress-config-v2", {
        data: { "proxy-v2.json": null },
        binaryData: { "proxy-v2.json": btoa("{}") },
      })],
    [
      "it becomes immutable",
      (scene) =>
        scene.edit("ConfigMap", "pingress-config-v2", { data: { more: "x" }, immutable: true }),
    ],
    ["a label is changed", (scene) =>
      scene.edit("Secret", "pingress-keys", {
        metadata: { labels: { "app.kubernetes.io/part-of": "x" } },
      })],
    [
      "the label by which it is found is taken away",
      (scene) =>
        scene.edit("ConfigMap", "pingress-config-v2", {
          metadata: { labels: { "pingress.io/published": null } },
        }),
    ],
  ];
  for (const [says, change] of cases) {
    await context.step(says, async () => {
      await using scene = await PublishScene.create(cluster);
      await scene.done(SMALL);
      const [config, keys] = await scene.contents();
      await scene.settled();
      await change(scene);
      await scene.noticed();
      await eventually("repair", async () => (await scene.sync(SMALL)).ok);
      deepEqual(await scene.contents(), [config, keys]);
      await scene.expectPublished(SMALL);
    });
  }
});

clusterTest(
  "labels and annotations added by others stay",
  async (cluster) => {
    await using scene = await PublishScene.create(cluster);
    await scene.done(SMALL);
    await scene.settled();
    await scene.edit("ConfigMap", "pingress-config-v2", {
      metadata: { labels: { team: "a" }, annotations: { note: "b" } },
    });
    await scene.noticed();
    deepEqual(await scene.done(SMALL), []);
    const { metadata } = await scene.must("ConfigMap", "pingress-config-v2");
    equal(metadata.labels?.team, "a");
  },
);

clusterTest("the Rust controller's ConfigMap is taken over", async (cluster) => {
  await using scene = await PublishScene.create(cluster);
  await cluster.apply({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "pingress-config-v2" },
    data: { "proxy-v2.json": '{"rules":[]}' },
  }, { namespace: scene.namespace, fieldManager: "kinorca.com/pingress-controller" });
  deepEqual(await scene.done(SMALL), ["Secret pingress-keys", FIRST]);
  await scene.expectPublished(SMALL);
});

clusterTest(
  "a concurrent write by somebody else is a conflict, and nothing of it is lost",
  async (cluster) => {
    await using scene = await PublishScene.create(cluster);
    await using other = await PublishScene.create(cluster, scene.namespace);
    await scene.done(SMALL);
    await scene.settled();
    await other.settled();
    scene.freeze();
    await other.done(FEWER);
    const result = await scene.sync({ ...SMALL, routes: SMALL.routes.slice(1) });
    ok(!result.ok && result.kind === "conflict", JSON.stringify(result));
    equal(result.object.name, "pingress-config-v2");
    await other.expectPublished(FEWER);
    scene.thaw();
    await scene.settled();
    ok((await scene.sync(SMALL)).ok);
    await scene.expectPublished(SMALL);
  },
);

clusterTest(
  "without leadership nothing is written, and a correct state needs no leadership",
  async (cluster) => {
    await using scene = await PublishScene.create(cluster);
    scene.leave = 0;
    deepEqual(await scene.sync(SMALL), { ok: false, kind: "stopped" });
    deepEqual(await scene.list(), []);
    scene.leave = Infinity;
    await scene.done(SMALL);
    scene.leave = 0;
    ok((await scene.sync(SMALL)).ok);
    deepEqual(await scene.publisher.remove(), { ok: false, kind: "stopped" });
  },
);

clusterTest(
  "a configuration that does not fit is a problem, and the published one stays",
  async (cluster) => {
    await using scene = await PublishScene.create(cluster);
    await scene.done(SMALL);
    const result = await scene.sync(largeSnapshot({ certificates: 6000, keyBytes: 100 }));
    ok(!result.ok && result.kind === "too-large");
    equal(result.problem.reason, "ConfigurationTooLarge");
    await scene.expectPublished(SMALL);
  },
);

clusterTest("the API server accepts a configuration that is almost too large", async (cluster) => {
  await using scene = await PublishScene.create(cluster);
  const huge = largeSnapshot({ routes: 10_000, certificates: 4000, keyBytes: 3200 });
  const result = await scene.sync(huge);
  ok(result.ok, JSON.stringify(result));
  await scene.expectPublished(huge);
});

clusterTest(
  "a removal deletes everything of ours and nothing else, the index first",
  async (cluster) => {
    await using scene = await PublishScene.create(cluster);
    await scene.done(LARGE);
    await cluster.create({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "another", labels: { "pingress.io/published": "snapshot" } },
    }, scene.namespace);
    await scene.settled();
    const result = await scene.publisher.remove();
    ok(result.ok);
    deepEqual(result.removed.map(({ name }) => name), [
      "pingress-config-v2",
      "pingress-config-v2-1",
      "pingress-config-v2-2",
      "pingress-keys",
      "pingress-keys-1",
      "pingress-keys-2",
      "pingress-keys-3",
    ]);
    deepEqual((await scene.list()).map(({ metadata }) => metadata.name), ["another"]);
    await scene.settled();
    equal(scene.publisher.published().snapshot, null);
    deepEqual(await scene.done(SMALL), ["Secret pingress-keys", FIRST]);
    await scene.expectPublished(SMALL);
  },
);

clusterTest(
  "certificates of the published configuration are kept, even if somebody damages it",
  async (cluster) => {
    await using scene = await PublishScene.create(cluster);
    await scene.done(LARGE);
    await scene.settled();
    await scene.edit("ConfigMap", "pingress-config-v2-1", {
      binaryData: { "proxy-v2.json": btoa("x") },
    });
    await scene.noticed();
    const { snapshot, digest, problem } = scene.publisher.published();
    equal(snapshot?.certificates.length, 800);
    equal(digest, null);
    equal(
      problem,
      "ConfigMap pingress-config-v2-1 is not the part that ConfigMap pingress-config-v2 names",
    );
  },
);

clusterTest("no key is in results and logs", async (cluster) => {
  await using scene = await PublishScene.create(cluster);
  const results = [await scene.sync(LARGE), await scene.sync(SMALL)];
  const said = JSON.stringify([results, scene.lines, scene.publisher.published()]);
  ok(!said.includes("PRIVATE"));
  ok(!said.includes(btoa("-----BEGIN PRIVATE").slice(0, 20)));
});
