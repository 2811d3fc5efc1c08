/**
 * Ten pods of an application are replaced under load. In: a scene. Out: what failed: nothing; and for
 * comparison what fails where pods end at once when they are told to, which nobody promises.
 */
import { Finding, inWords } from "./finding.ts";
import { type Form, linesOf, mixedStreams, noteLoad, type Scene } from "./scene.ts";

const REPLICAS = 10;
const RATE = 500;

export async function applicationRollout(scene: Scene, form: Form): Promise<Finding> {
  const rollouts = form === "long" ? 5 : 1;
  const finding = new Finding("application rollout");
  const { failures, took, report } = await underLoad(scene, rollouts);
  finding.note("pods replaced", rollouts * REPLICAS);
  finding.note("a rollout took", inWords(took));
  noteLoad(finding, report);
  finding.count("failed", failures.length, 0, linesOf(failures));
  if (form === "long") {
    const careless = await underLoad(scene, rollouts, 0);
    const total = careless.report.streams.reduce((sum, { answered }) => sum + answered, 0);
    finding.note(
      "failed where pods end at once on SIGTERM",
      `${careless.failures.length} of ${total}`,
    );
  }
  return finding;
}

/** @param linger is for how long a pod goes on after SIGTERM, in s. */
async function underLoad(scene: Scene, rollouts: number, linger?: number) {
  return await scene.within("rollout", async (namespace) => {
    const host = `${namespace}.test`;
    const application = await scene.application({ namespace, replicas: REPLICAS, host, linger });
    await using load = await scene.load({ streams: mixedStreams(host, RATE) });
    await load.lasts(2_000);
    const began = performance.now();
    for (let index = 0; index < rollouts; index++) await application.rollOut();
    const took = (performance.now() - began) / rollouts;
    await load.lasts(2_000);
    return { report: await load.stop(), failures: load.failures, took };
  });
}
