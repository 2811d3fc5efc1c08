/** Ten pods of an application are replaced under load. In: a scene. Out: what failed: nothing. */
import { Finding, inWords } from "./finding.ts";
import { type Form, linesOf, mixedStreams, noteLoad, type Scene } from "./scene.ts";

const REPLICAS = 10;
const RATE = 500;

export async function applicationRollout(scene: Scene, form: Form): Promise<Finding> {
  const rollouts = form === "long" ? 5 : 1;
  const finding = new Finding("application rollout");
  await scene.within("rollout", async (namespace) => {
    const host = "rollout.test";
    const application = await scene.application({ namespace, replicas: REPLICAS, host });
    await using load = await scene.load({ streams: mixedStreams(host, RATE) });
    await load.lasts(2_000);
    const began = performance.now();
    for (let index = 0; index < rollouts; index++) await application.rollOut();
    const took = (performance.now() - began) / rollouts;
    await load.lasts(2_000);
    const report = await load.stop();
    finding.note("pods replaced", rollouts * REPLICAS);
    finding.note("a rollout took", inWords(took));
    noteLoad(finding, report);
    finding.count("failed", load.failures.length, 0, linesOf(load.failures));
  });
  return finding;
}
