import assert from "node:assert/strict";
import { FinalizerRemover, OLD_FINALIZER } from "../../controller/outputs/status/finalizers.ts";
import { type After, systemAfter } from "../../controller/outputs/write/queue.ts";
import { ManualClock } from "../../shared/clock.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { failure } from "./support/gateway_answers.ts";
import { WritingScene } from "./support/writing_scene.ts";

const OTHER = "example.com/other";

async function hasFinalizers(scene: WritingScene, name: string, wanted: readonly string[]) {
  await eventually(`${name} with ${wanted.join(", ") || "no finalizer"}`, async () => {
    const { finalizers = [] } = (await scene.get(name))!.metadata;
    return JSON.stringify(finalizers) === JSON.stringify(wanted);
  });
}

clusterTest(
  "the old finalizer is removed from Ingresses of every class, and no other finalizer is",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    await scene.ingress("ours", "pingress", { finalizers: [OLD_FINALIZER] });
    await scene.ingress("foreign", "nginx", { finalizers: [OTHER, OLD_FINALIZER] });
    await scene.ingress("clean", "pingress", { finalizers: [OTHER] });
    const replica = await scene.replica();
    const remover = replica.owns(
      new FinalizerRemover({
        ...replica,
        ingresses: replica.ingresses.store,
      }),
    );
    await hasFinalizers(scene, "ours", []);
    await hasFinalizers(scene, "foreign", [OTHER]);
    for (const name of ["ours", "foreign"]) await replica.caughtUp(scene, name);
    // One that comes later.
    await scene.ingress("late", "pingress", { finalizers: [OLD_FINALIZER, OTHER] });
    await hasFinalizers(scene, "late", [OTHER]);
    await replica.caughtUp(scene, "late");
    assert.equal(remover.backlog, 0);
    const writes = scene.writes().map(({ name, subresource }) => `${name}/${subresource}`);
    assert.deepEqual(writes.sort(), ["foreign/status", "late/status", "ours/status"]);
    assert.deepEqual((await scene.get("clean"))!.metadata.finalizers, [OTHER]);
  },
);

clusterTest(
  "an Ingress whose deletion is blocked by the old finalizer is deleted",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    await scene.ingress("web", "nginx", { finalizers: [OLD_FINALIZER] });
    await cluster.delete("networking.k8s.io/v1", "Ingress", "web", scene.namespace);
    assert.notEqual((await scene.get("web"))!.metadata.deletionTimestamp, undefined);
    const replica = await scene.replica();
    replica.owns(new FinalizerRemover({ ...replica, ingresses: replica.ingresses.store }));
    await eventually("no Ingress", async () => await scene.get("web") === null);
  },
);

clusterTest("a list of finalizers that changed meanwhile loses no other one", async (cluster) => {
  await using scene = await WritingScene.create(cluster);
  await scene.ingress("web", "pingress", { finalizers: [OLD_FINALIZER] });
  const replica = await scene.replica();
  const [stale] = replica.ingresses.store.list();
  await scene.ingress("web", "pingress", { finalizers: [OTHER] });
  await hasFinalizers(scene, "web", [OTHER]);
  let view = stale;
  const ingresses = {
    list: () => [view],
    get: () => view,
    subscribe: () => () => {},
  } as unknown as typeof replica.ingresses.store;
  const remover = replica.owns(new FinalizerRemover({ ...replica, ingresses }));
  await eventually("a refusal", () => scene.writes().some(({ status }) => status === 422));
  view = (await scene.get("web"))!;
  await eventually("an end", () => remover.backlog === 0);
  assert.deepEqual((await scene.get("web"))!.metadata.finalizers, [OTHER]);
});

clusterTest(
  "while the old controller restores it, it is removed once in ten seconds",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    await scene.ingress("web", "pingress", { finalizers: [OLD_FINALIZER] });
    const replica = await scene.replica();
    const clock = new ManualClock();
    // Looks often at a clock that only this test moves.
    const after: After = (_ms, run) => systemAfter(5, run);
    const ingresses = replica.ingresses.store;
    const remover = replica.owns(new FinalizerRemover({ ...replica, ingresses, clock, after }));
    for (let round = 1; round <= 3; round++) {
      await hasFinalizers(scene, "web", []);
      assert.equal(scene.writes().length, round);
      await scene.ingress("web", "pingress", { finalizers: [OLD_FINALIZER] });
      await replica.caughtUp(scene, "web");
      clock.advance(9_999);
      await eventually("a decision to wait", () => remover.backlog === 0);
      assert.equal(scene.writes().length, round);
      clock.advance(1);
    }
    await hasFinalizers(scene, "web", []);
  },
);

clusterTest(
  "a replica that does not lead removes nothing, and a failed removal is retried",
  async (cluster) => {
    await using scene = await WritingScene.create(cluster);
    await scene.ingress("web", "pingress", { finalizers: [OLD_FINALIZER] });
    const replica = await scene.replica();
    replica.fence.leads = false;
    const ingresses = replica.ingresses.store;
    const remover = replica.owns(new FinalizerRemover({ ...replica, ingresses }));
    assert.equal(remover.backlog, 1);
    scene.gateway.inject({ verb: "patch" }, failure(500), 2);
    replica.fence.leads = true;
    await hasFinalizers(scene, "web", []);
    assert.deepEqual(await scene.statuses(), [500, 500, 200]);
  },
);
