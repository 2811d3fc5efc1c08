/** The API server ends, and comes back. In: a scene. Out: what failed meanwhile: nothing. */
import { ingressFor } from "../cluster/app/application.ts";
import { Finding, inWords } from "./finding.ts";
import { type Form, linesOf, mixedStreams, noteLoad, type Scene } from "./scene.ts";

const RATE = 100;

export async function apiServerGone(scene: Scene, form: Form): Promise<Finding> {
  const away = form === "long" ? 120_000 : 15_000;
  const finding = new Finding("API server gone");
  await scene.within("offline", async (namespace) => {
    const host = "offline.test";
    const { cluster } = scene;
    await scene.application({ namespace, replicas: 2, host });
    const sockets = [{ name: "sockets", count: 4, interval: 500, host, path: "/socket" }];
    await using load = await scene.load({ streams: mixedStreams(host, RATE), sockets });
    await load.lasts(1_000);
    await cluster.stopApiServer("SIGKILL");
    await load.lasts(away);
    await cluster.startApiServer();
    const began = performance.now();
    await cluster.apply(ingressFor({ name: "later", host: `later.${host}`, service: "app" }), {
      namespace,
    });
    await scene.served(`later.${host}`);
    const took = performance.now() - began;
    await load.lasts(2_000);
    noteLoad(finding, await load.stop());
    finding.note("without an API server", inWords(away));
    finding.count("failed", load.failures.length, 0, linesOf(load.failures));
    finding.count("WebSockets that ended", load.ends.length, 0);
    finding.note("a change is served after it is back", inWords(took));
    await scene.watchAnew();
  });
  return finding;
}
