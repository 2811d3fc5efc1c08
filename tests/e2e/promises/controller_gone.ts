/**
 * All replicas of the controller are killed, and come back. In: a scene. Out: what failed meanwhile:
 * nothing, and how soon what was changed meanwhile is served then.
 */
import { ingressFor } from "../cluster/app/application.ts";
import { eventually } from "../../cluster/support/condition.ts";
import { isReady } from "../cluster/node_cluster.ts";
import { removeControllers, scaleControllers } from "./absent_controllers.ts";
import { Finding, inWords } from "./finding.ts";
import { type Form, linesOf, mixedStreams, noteLoad, type Scene } from "./scene.ts";

const RATE = 100;
const REPLICAS = 2;

export async function controllerGone(scene: Scene, form: Form): Promise<Finding> {
  const away = form === "long" ? 300_000 : 20_000;
  const finding = new Finding("controller gone");
  await scene.within("alone", async (namespace) => {
    const host = "alone.test";
    const { cluster } = scene;
    await scene.application({ namespace, replicas: REPLICAS, host });
    const sockets = [{ name: "sockets", count: 4, interval: 500, host, path: "/socket" }];
    await using load = await scene.load({ streams: mixedStreams(host, RATE), sockets });
    const replicas = await removeControllers(scene);
    await load.lasts(away);
    // Nobody tells the proxies of it for now.
    const later = ingressFor({ name: "later", host: `later.${host}`, service: "app" });
    await cluster.apply(later, { namespace });
    const began = performance.now();
    await scaleControllers(scene, replicas);
    const controllerReady = eventually("ready controller", async () => {
      return (await scene.pingress.controllers()).some(isReady);
    }, 120_000);
    const [ready, caughtUp] = await Promise.all(
      [controllerReady, scene.served(`later.${host}`)].map(async (done) => {
        await done;
        return performance.now();
      }),
    );
    await scene.pingress.waitForControllers();
    await load.lasts(2_000);
    noteLoad(finding, await load.stop());
    finding.note("without any controller", inWords(away));
    finding.count("failed", load.failures.length, 0, linesOf(load.failures));
    finding.count("WebSockets that ended", load.ends.length, 0);
    finding.note("from its creation until a controller was ready", inWords(ready - began));
    finding.time("caught up after one was ready", Math.max(0, caughtUp - ready), 2_000);
  });
  return finding;
}
