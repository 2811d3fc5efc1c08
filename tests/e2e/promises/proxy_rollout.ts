/**
 * The proxies themselves are replaced under load, one after another, behind a Service. In: a scene,
 * and what brings the rollout about. Out: what failed: nothing, gRPC calls included, whose connection
 * is told to go; and how WebSockets ended: with 1001.
 */
import { NAMESPACE, PROXY } from "../cluster/installation.ts";
import { Finding, inWords } from "./finding.ts";
import { linesOf, mixedStreams, noteLoad, type Scene } from "./scene.ts";

const RATE = 200;
const CALLS = 20;
const SOCKETS = 8;

/** "Going away", as RFC 6455 has it for a server that ends. */
const GOING_AWAY = 1001;

export async function proxyRollout(
  scene: Scene,
  kind: "DaemonSet" | "Deployment",
  replace: () => Promise<void>,
): Promise<Finding> {
  const finding = new Finding(`proxy rollout, ${kind}`);
  await scene.within("proxies", async (namespace) => {
    const host = "proxies.test";
    const ports = await scene.proxyService();
    await scene.application({ namespace, replicas: 2, host });
    await using load = await scene.load({
      ...ports,
      streams: mixedStreams(host, RATE),
      calls: [{ name: "calls", rate: CALLS, host, path: "/test.Echo/Say" }],
      sockets: [{ name: "sockets", count: SOCKETS, interval: 500, host, path: "/socket" }],
    });
    await load.lasts(2_000);
    const before = await names(scene);
    const began = performance.now();
    await replace();
    await scene.cluster.waitForRollout(kind, PROXY, NAMESPACE);
    await scene.proxiesGone(before);
    const took = performance.now() - began;
    await load.lasts(2_000);
    noteLoad(finding, await load.stop());
    const after = await names(scene);
    finding.note("took", inWords(took));
    finding.count(
      "proxies replaced",
      before.filter((name) => !after.includes(name)).length,
      before.length,
    );
    finding.count("failed", load.failures.length, 0, linesOf(load.failures));
    const cut = load.ends.filter(({ code }) => code !== GOING_AWAY);
    finding.note("WebSockets ended by a drain, with 1001", load.ends.length - cut.length);
    finding.count(
      "WebSockets that ended otherwise",
      cut.length,
      0,
      cut.map(({ at, code, detail }) => `${new Date(at).toISOString()} ${code} ${detail}`),
    );
  });
  return finding;
}

async function names(scene: Scene): Promise<string[]> {
  return (await scene.pingress.proxies()).map(({ metadata }) => metadata.name);
}
