/**
 * What Pingress promises, tried on a real cluster of two nodes in a short form; each prints its
 * figures. `deno task e2e:long` has the long forms.
 */
import assert from "node:assert/strict";
import { startNodeCluster } from "./cluster/node_cluster.ts";
import { PROMISES } from "./promises/promises.ts";
import { Scene } from "./promises/scene.ts";

Deno.test("promises", async (t) => {
  const cluster = await startNodeCluster("promises", { nodes: 2 });
  if (cluster === null) return;
  await using _ = cluster;
  const scene = await cluster.explain(() => Scene.open(cluster));
  for (const { title, run } of PROMISES) {
    await t.step(title, () =>
      cluster.explain(async () => {
        const finding = await run(scene, "short");
        console.log(String(finding));
        assert.deepEqual(finding.broken, []);
      }));
  }
});
