/**
 * A real controller and proxies of other versions: what they are told, and what is told of them. What
 * real proxies make of other controllers is in `tests/integration/stream_skew_test.ts`.
 */
import assert from "node:assert/strict";
import type { KubeObject } from "./support/api_client.ts";
import { startCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerProcess } from "./support/controller_process.ts";
import { ControllerScene } from "./support/controller_scene.ts";
import {
  connectProxy,
  proxyToken,
  shownProxies,
  streamPort,
  streamTrust,
} from "./support/stream_scene.ts";
import {
  answerOf,
  NOTHING,
  proxyCredentials,
  startStreamedProxy,
} from "./support/streamed_proxy.ts";
import { MisbehavingController } from "../support/misbehaving_controller.ts";
import { ProxyProcess } from "../support/proxy_process.ts";

type Report = Readonly<Record<string, unknown>> & { readonly kind: string };

const FOLDER = new URL("../golden/stream/", import.meta.url);

/** With a token of now in place of the transcript's. */
function reportsOf(name: string, token: string): Report[] {
  const lines = Deno.readTextFileSync(new URL(name, FOLDER)).trimEnd().split("\n");
  return lines.map((line) => {
    const report = JSON.parse(line);
    return report.kind === "alive" ? { ...report, token } : report;
  });
}

clusterTest(
  "a newer proxy is served, and shown with its version and its rejections",
  async (cluster) => {
    await using scene = await ControllerScene.prepare(cluster);
    await scene.service("web");
    await scene.ingress("first");
    await scene.startController();
    const pod = { name: "proxy-new", node: "" };
    const token = await proxyToken(cluster, scene.system, { pod });
    const [hello, ...reports] = reportsOf("newer-proxy.ndjson", token);
    await using proxy = await connectProxy(scene, { token, hello });
    await proxy.line("snapshot");
    for (const report of reports) proxy.report(report);
    const shown = await eventually("the refusal", async () => {
      const { proxies: [shown] } = await shownProxies(scene.controller);
      return shown?.refused == null ? null : shown;
    });
    assert.deepEqual(
      [shown.name, shown.build, shown.refused?.code, shown.refused?.reason],
      ["proxy-new", "7.0.0", "failed", "it is paused"],
    );
    const { message } = await scene.eventuallyProblem("ConfigurationRejected");
    assert.match(message, /proxy-new \(7\.0\.0\)/);
    await scene.ingress("second");
    await proxy.line("delta");
    assert.equal(proxy.isEnded, false);
  },
);

clusterTest(
  "the first proxy is served, gets a full snapshot on request, and may reconnect",
  async (cluster) => {
    await using scene = await ControllerScene.prepare(cluster);
    await scene.service("web");
    await scene.ingress("first");
    await scene.startController();
    const token = await proxyToken(cluster, scene.system);
    // It read format 1 alone, and is sent nothing but what it can read.
    const [first, applied, refused, lost, alive, last] = reportsOf("v1-proxy.ndjson", token);
    const [hello, again] = [first, last].map((one) => ({ ...one, formats: [2] }));
    await using proxy = await connectProxy(scene, { token, hello, acknowledges: false });
    await proxy.line("snapshot");
    const from = proxy.lines.length;
    for (const report of [applied, refused, lost, alive]) proxy.report(report);
    await proxy.line("snapshot", from);
    await eventually("the refusal", async () => {
      const { proxies: [shown] } = await shownProxies(scene.controller);
      return shown?.refused?.code === "loss";
    });
    await using next = await connectProxy(scene, { token, hello: again });
    await next.line("snapshot");
    await eventually("in sync", async () => {
      const { proxies } = await shownProxies(scene.controller);
      return proxies.some(({ build, inSync }) => build === "0.1.0" && inSync);
    });
  },
);

clusterTest(
  "a proxy with another protocol is rejected, gets the supported one, and is logged",
  async (cluster) => {
    await using scene = await ControllerScene.start(cluster);
    const { controller } = scene;
    const headers = { "pingress-protocol": "2", "user-agent": "pingress-proxy/9.0.0" };
    await using proxy = await connectProxy(scene, { headers });
    assert.equal(await proxy.answered(), 426);
    await proxy.until(
      "a reason",
      () => /only protocol 1 of the stream is supported/.exec(proxy.text),
    );
    const { peer, build, status } = await controller.line("A stream request was rejected");
    assert.deepEqual([peer, build, status], ["127.0.0.1", "9.0.0", 426]);
    await using garbage = await connectProxy(scene, {
      token: await scene.cluster.serviceAccountToken(scene.system, "web"),
    });
    assert.equal(await garbage.answered(), 401);
    await controller.line(({ message, status }) =>
      message === "A stream request was rejected" && status === 401
    );
    assert.equal((await shownProxies(controller)).connected, 0);
  },
);

clusterTest(
  "a real proxy's rejection of a newer controller is an Event with its name and the remedy",
  async (cluster) => {
    await using scene = await ControllerScene.prepare(cluster);
    await scene.service("web");
    await scene.ingress("first");
    await scene.startController();
    const pod = { name: "proxy-behind", node: "" };
    const token = await proxyToken(cluster, scene.system, { pod });
    const hello = { kind: "hello", proxy: "0.0.9", formats: [2], version: null, hash: null };
    await using proxy = await connectProxy(scene, { token, hello, acknowledges: false });
    const { version, hash } = await proxy.line("snapshot");
    const { code, reason } = await wordOfOldProxy();
    proxy.report({ kind: "refused", version, hash, code, reason });
    const told = await scene.eventuallyEvent("ConfigurationRejected");
    assert.match(
      told,
      /proxy-behind \(0\.0\.9\): .*"h3" is none of .*the previous one stays active/,
    );
    assert.match(told, /Run proxies of the controller's version, .*--proxy-server-image/);
  },
);

clusterTest(
  "a proxy of the previous version is sent nothing that it cannot read, and an Event has the remedy",
  async (cluster) => {
    await using scene = await ControllerScene.prepare(cluster);
    await scene.service("web");
    await scene.ingress("first");
    const controller = await scene.startController();
    const pod = { name: "proxy-before", node: "" };
    const token = await proxyToken(cluster, scene.system, { pod });
    const hello = { kind: "hello", proxy: "0.0.9", formats: [1], version: null, hash: null };
    await using proxy = await connectProxy(scene, { token, hello, acknowledges: false });
    const told = await scene.eventuallyEvent("ConfigurationRejected");
    assert.match(
      told,
      /proxy-before \(0\.0\.9\): .*reads snapshot format 1, and this controller sends format 2/,
    );
    assert.match(told, /Run proxies of the controller's version, .*finish the rollout/);
    await eventually("a ping", () => proxy.pings > 0);
    assert.deepEqual(proxy.lines.filter(({ kind }) => kind === "snapshot"), []);
    const { connected, inSync } = await shownProxies(controller);
    assert.deepEqual([connected, inSync], [1, 0]);
  },
);

/** What a real proxy answers to the configuration of a controller that is too new for it. */
async function wordOfOldProxy(): Promise<{ code: string; reason: string }> {
  await using controller = await MisbehavingController.start();
  await using _proxy = await ProxyProcess.start({
    snapshot: NOTHING,
    args: [...controller.flags, "--workers=1"],
  });
  const stream = await controller.stream(0);
  const [line] = Deno.readTextFileSync(new URL("newer-unreadable.ndjson", FOLDER)).split("\n");
  stream.write(`${line}\n`);
  return await stream.report("refused");
}

clusterTest(
  "a newer controller's published configuration does not block an older one in its place",
  async (cluster) => {
    await using scene = await ControllerScene.prepare(cluster);
    const [, , line] = Deno.readTextFileSync(new URL("newer-controller.ndjson", FOLDER)).split(
      "\n",
    );
    const { kind: _kind, hash: _hash, hosts, certificates: _certificates, ...rest } = JSON.parse(
      line,
    );
    const routes = hosts.flatMap(({ routes }: { routes: object[] }) => routes);
    for (const format of [2, 3]) {
      const text = JSON.stringify({ ...rest, format, routes, certificates: [] });
      await cluster.apply({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "pingress-config-v2", labels: { "pingress.io/published": "snapshot" } },
        data: { "proxy-v2.json": text },
      } as Partial<KubeObject>, { namespace: scene.system });
      await scene.service("web");
      await scene.ingress(`of-${format}`);
      const controller = await scene.startController();
      const published = await scene.eventuallyRouted(`of-${format}.example.com`);
      assert.equal(published.format, 2);
      assert.equal(published.routes.some(({ host }) => host === "a.example.com"), false);
      assert.deepEqual(controller.noise, []);
      assert.equal(await controller.stop(), 0);
    }
  },
);

Deno.test("two clusters behind one name: a proxy keeps to its own, and reports why", async () => {
  const own = await startCluster({ name: "two clusters behind one name" });
  const other = own === null ? null : await startCluster();
  if (own === null || other === null) return;
  await using _own = own;
  await using _other = other;
  const args = ["--stream-name=127.0.0.1"];
  await using scene = await ControllerScene.prepare(own, { args });
  await scene.service("web", []);
  await scene.ingress("own");
  const controller = await scene.startController();
  const stream = `127.0.0.1:${await streamPort(controller)}`;
  const credentials = await proxyCredentials(scene);
  await using proxy = await startStreamedProxy(scene, { credentials });
  await eventually("the route", async () => await answerOf(proxy, "own.example.com") === 503);
  assert.equal(await controller.stop(), 0);

  const there = [...args, `--stream=${stream}`];
  {
    await using stranger = await ControllerScene.prepare(other, { args: there });
    await stranger.service("web", []);
    await stranger.ingress("strange");
    await stranger.startController();
    const refusal = (pattern: RegExp) =>
      eventually(
        `${pattern}`,
        () =>
          proxy.lines.find(({ message, reason }) =>
            message === "No stream from the controller" && pattern.test(String(reason))
          ),
      );
    await refusal(/certificate/);
    // Were that trusted, the token would still be of another cluster.
    const trusted = await streamTrust(other, stranger.system);
    await Deno.writeTextFile(credentials.ca, trusted, { append: true });
    await refusal(/40[13]/);
    await stranger.controller.line("A stream request was rejected");
    assert.equal((await shownProxies(stranger.controller)).connected, 0);
    assert.equal(await answerOf(proxy, "own.example.com"), 503);
    assert.equal(await answerOf(proxy, "strange.example.com"), 404);
  }
  const { kubeconfig, flags } = scene;
  await using _next = await ControllerProcess.start({
    kubeconfig,
    args: [...flags, `--stream=${stream}`],
  });
  await scene.ingress("later");
  await eventually("its own", async () => await answerOf(proxy, "later.example.com") === 503);
});
