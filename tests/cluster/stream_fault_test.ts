/** A real proxy on a real controller's stream, with a bad network between them or a wrong clock. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene, rule } from "./support/controller_scene.ts";
import { type FaultProxy, startFaultProxy } from "./support/fault_proxy.ts";
import { shownProxies, streamPort } from "./support/stream_scene.ts";
import { answerOf, startStreamedProxy } from "./support/streamed_proxy.ts";

/** As many as one Ingress may have paths: a change of them is many reads of a socket. */
const HOSTS = 1000;
const ROUNDS = 12;

/** Debian's package `faketime`. */
const FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

async function prepare(
  cluster: Parameters<typeof ControllerScene.prepare>[0],
): Promise<ControllerScene> {
  const scene = await ControllerScene.prepare(cluster, { args: ["--stream-name=127.0.0.1"] });
  await scene.service("web", []);
  await scene.ingress("kept");
  await scene.startController();
  return scene;
}

/** Every host of it has another path, so that all of it is sent anew. */
async function writeMany(scene: ControllerScene, round: number): Promise<void> {
  const rules = Array.from(
    { length: HOSTS },
    (_, i) => rule(`h${i}.example.com`, i === 0 ? `/round-${round}` : `/${round}`, "web"),
  );
  await scene.ingress("many", { rules });
}

clusterTest(
  "streams that break within lines end with the controller's snapshot",
  async (cluster) => {
    await using scene = await prepare(cluster);
    const { controller } = scene;
    await using network: FaultProxy = await startFaultProxy(await streamPort(controller));
    await using proxy = await startStreamedProxy(scene, { port: network.port });
    await eventually(
      "the first route",
      async () => await answerOf(proxy, "kept.example.com") === 503,
    );
    network.delay(20);
    for (let round = 1; round <= ROUNDS; round++) {
      await writeMany(scene, round);
      await sleep(90 + round * 10);
      if (round % 2 === 0) {
        network.reset();
      } else network.cut();
      assert.equal(await answerOf(proxy, "kept.example.com"), 503);
    }
    network.delay(0);
    await writeMany(scene, ROUNDS + 1);
    await eventually(
      "the last change",
      async () => await answerOf(proxy, `h0.example.com`, `/round-${ROUNDS + 1}`) === 503,
    );
    assert.equal(await answerOf(proxy, "h0.example.com", `/round-${ROUNDS}`), 404);
    await eventually("the same", async () => {
      const { hash, proxies: [shown] } = await shownProxies(controller);
      return shown?.hash === hash && shown.refused === null;
    });
    const ended = controller.lines.filter(({ message }) => message === "Proxy disconnected").length;
    assert.ok(ended >= ROUNDS / 4, `${ended} streams ended`);
    assert.deepEqual(controller.noise, []);
  },
);

clusterTest(
  "a silent network makes the controller count as dead, and later as alive again",
  async (cluster) => {
    await using scene = await prepare(cluster);
    await using network: FaultProxy = await startFaultProxy(await streamPort(scene.controller));
    await using proxy = await startStreamedProxy(scene, { port: network.port });
    await eventually(
      "the first route",
      async () => await answerOf(proxy, "kept.example.com") === 503,
    );
    network.stall(true);
    await scene.ingress("later");
    const { reason } = await proxy.line("No stream from the controller");
    assert.equal(reason, "the controller has said nothing for 5 s");
    assert.equal(await answerOf(proxy, "kept.example.com"), 503);
    assert.equal(await answerOf(proxy, "later.example.com"), 404);
    network.stall(false);
    await eventually("the change", async () => await answerOf(proxy, "later.example.com") === 503);
    assert.equal((await shownProxies(scene.controller)).connected, 1);
  },
);

for (const offset of ["+1h", "-1h"]) {
  clusterTest(`a proxy whose clock is ${offset} off follows its controller`, async (cluster) => {
    const isHere = await Deno.stat(FAKETIME).then(() => true, () => false);
    if (!isHere) return console.log("skipped: Debian's package faketime is not installed");
    await using scene = await prepare(cluster);
    await using proxy = await startStreamedProxy(scene, {
      wrapper: [
        "env",
        `LD_PRELOAD=${FAKETIME}`,
        `FAKETIME=${offset}`,
        "FAKETIME_DONT_FAKE_MONOTONIC=1",
      ],
    });
    const { time } = await proxy.line("Ready");
    const hours = Math.round((Date.parse(String(time)) - Date.now()) / 3_600_000);
    assert.equal(`${hours}h`, offset.replace("+", ""));
    await eventually("the route", async () => await answerOf(proxy, "kept.example.com") === 503);
    await scene.ingress("later");
    await eventually("the change", async () => await answerOf(proxy, "later.example.com") === 503);
    const { proxies } = await shownProxies(scene.controller);
    assert.deepEqual(proxies.map(({ refused }) => refused), [null]);
  });
}
