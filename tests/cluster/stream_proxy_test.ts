/** A real proxy on the stream of real controllers: from kubectl's answer to a request's. */
import assert from "node:assert/strict";
import { dirname } from "node:path";
import type { Snapshot } from "../../shared/snapshot.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerProcess } from "./support/controller_process.ts";
import { ControllerScene, rule } from "./support/controller_scene.ts";
import { FAST_ELECTION, IS_FULL } from "./support/fault_scene.ts";
import { proxyToken, shownProxies, streamPort, streamTrust } from "./support/stream_scene.ts";

const CHANGES = IS_FULL ? 200 : 30;

const EMPTY: Snapshot = {
  format: 1,
  version: { epoch: "file", seen: {} },
  routes: [],
  defaultAction: null,
  upstreams: [],
  certificates: [],
  defaultCertificate: null,
};

/** A proxy that knows nothing but where the controller is. */
async function startProxy(
  scene: ControllerScene,
  controller: ControllerProcess,
): Promise<ProxyProcess> {
  const { cluster, system } = scene;
  const token = await cluster.writeFile(await proxyToken(cluster, system));
  const ca = await cluster.writeFile(await streamTrust(cluster, system));
  assert.equal(dirname(token), dirname(ca));
  return await ProxyProcess.start({
    snapshot: EMPTY,
    args: [
      `--controller=https://127.0.0.1:${await streamPort(controller)}`,
      `--controller-ca=${ca}`,
      `--controller-token=${token}`,
    ],
  });
}

/** 404 for a host that has no route, 503 for one whose Service has no endpoint. */
async function statusOf(proxy: ProxyProcess, host: string): Promise<number> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: proxy.httpPort });
  await connection.write(
    new TextEncoder().encode(`GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`),
  );
  const text = await new Response(connection.readable).text();
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
}

clusterTest(
  "an Ingress is served by a proxy milliseconds after it was written",
  async (cluster) => {
    await using scene = await ControllerScene.prepare(cluster, {
      args: ["--stream-name=127.0.0.1"],
    });
    await scene.service("web", []);
    await scene.ingress("first");
    const controller = await scene.startController();
    await using proxy = await startProxy(scene, controller);
    await eventually("first route", async () => await statusOf(proxy, "first.example.com") === 503);
    const times: number[] = [];
    for (let i = 0; i < CHANGES; i++) {
      const host = `h${i}.example.com`;
      assert.equal(await statusOf(proxy, host), 404);
      await scene.ingress("second", { rules: [rule(host, "/", "web")] });
      const written = performance.now();
      while (await statusOf(proxy, host) === 404) {
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
    console.log(
      `${CHANGES} changes were served after p50 ${Math.round(times[times.length >> 1])} ms, max ` +
        `${Math.round(times.at(-1)!)} ms, of which 50 ms are --gather-time`,
    );
  },
);

clusterTest(
  "a proxy goes on while no controller is there, and has the next one's word at once",
  async (cluster) => {
    await using scene = await ControllerScene.prepare(cluster, {
      args: ["--stream-name=127.0.0.1", ...FAST_ELECTION],
    });
    await scene.service("web", []);
    await scene.ingress("first");
    const first = await scene.startController();
    await using proxy = await startProxy(scene, first);
    await eventually("first route", async () => await statusOf(proxy, "first.example.com") === 503);
    const port = await streamPort(first);
    await first.kill();
    await scene.ingress("second");
    assert.equal(await statusOf(proxy, "first.example.com"), 503);
    assert.equal(await statusOf(proxy, "second.example.com"), 404);
    const { kubeconfig, flags } = scene;
    await using _next = await ControllerProcess.start({
      kubeconfig,
      args: [...flags, `--stream=127.0.0.1:${port}`],
    });
    await eventually(
      "second route",
      async () => await statusOf(proxy, "second.example.com") === 503,
    );
    assert.equal(await statusOf(proxy, "first.example.com"), 503);
  },
);
