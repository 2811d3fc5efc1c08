/** A real proxy on the stream of real controllers: from kubectl's answer to a request's. */
import assert from "node:assert/strict";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerProcess } from "./support/controller_process.ts";
import { ControllerScene, rule } from "./support/controller_scene.ts";
import { FAST_ELECTION } from "./support/elections.ts";
import { IS_FULL } from "./support/fault_scene.ts";
import { shownProxies, streamPort } from "./support/stream_scene.ts";
import { answerOf, startStreamedProxy } from "./support/streamed_proxy.ts";

const CHANGES = IS_FULL ? 200 : 50;

clusterTest(
  "a proxy serves an Ingress milliseconds after it was written",
  async (cluster) => {
    await using scene = await ControllerScene.prepare(cluster, {
      args: ["--stream-name=127.0.0.1"],
    });
    await scene.service("web", []);
    await scene.ingress("first");
    const controller = await scene.startController();
    await using proxy = await startStreamedProxy(scene);
    await eventually("first route", async () => await answerOf(proxy, "first.example.com") === 503);
    const times: number[] = [];
    for (let i = 0; i < CHANGES; i++) {
      const host = `h${i}.example.com`;
      assert.equal(await answerOf(proxy, host), 404);
      await scene.ingress("second", { rules: [rule(host, "/", "web")] });
      const written = performance.now();
      while (await answerOf(proxy, host) === 404) {
        assert.ok(performance.now() - written < 30_000, host);
      }
      times.push(performance.now() - written);
    }
    times.sort((a, b) => a - b);
    const shown = await eventually("programmed", async () => {
      const shown = await shownProxies(controller);
      return shown.programmed ? shown : null;
    });
    assert.equal(shown.proxies.length, 1);
    assert.equal(shown.proxies[0].hash, shown.hash);
    const at = (share: number) => Math.round(times[Math.floor(share * (times.length - 1))]);
    console.log(
      `${CHANGES} changes were served after p50 ${at(0.5)} ms, p99 ${
        at(0.99)
      } ms, of which 50 ms ` +
        "are --gather-time",
    );
  },
);

clusterTest(
  "a proxy keeps serving without a controller, and gets the next one's updates at once",
  async (cluster) => {
    await using scene = await ControllerScene.prepare(cluster, {
      args: ["--stream-name=127.0.0.1", ...FAST_ELECTION],
    });
    await scene.service("web", []);
    await scene.ingress("first");
    const first = await scene.startController();
    await using proxy = await startStreamedProxy(scene);
    await eventually("first route", async () => await answerOf(proxy, "first.example.com") === 503);
    const port = await streamPort(first);
    await first.kill();
    await scene.ingress("second");
    assert.equal(await answerOf(proxy, "first.example.com"), 503);
    assert.equal(await answerOf(proxy, "second.example.com"), 404);
    const { kubeconfig, flags } = scene;
    await using _next = await ControllerProcess.start({
      kubeconfig,
      args: [...flags, `--stream=127.0.0.1:${port}`],
    });
    await eventually(
      "second route",
      async () => await answerOf(proxy, "second.example.com") === 503,
    );
    assert.equal(await answerOf(proxy, "first.example.com"), 503);
  },
);
