/**
 * The dashboards with data: a real Prometheus scrapes a real controller and real proxies that follow it, with
 * requests of all kinds. Every query of every panel has a result.
 */
import assert from "node:assert/strict";
import { clusterTest } from "../cluster/support/cluster_case.ts";
import type { TestCluster } from "../cluster/support/cluster.ts";
import { eventually, waitFor } from "../cluster/support/condition.ts";
import { ControllerScene, rule } from "../cluster/support/controller_scene.ts";
import { installGatewayCrds } from "../cluster/support/gateway_crds.ts";
import { gatewayClass, gatewayOf } from "../cluster/support/gateway_objects.ts";
import { hasPodAddress, Pod } from "../cluster/support/pod.ts";
import { answerOf, startStreamedProxy } from "../cluster/support/streamed_proxy.ts";
import { OtlpCollector } from "../support/otlp_collector.ts";
import type { ProxyProcess } from "../support/proxy_process.ts";
import { dashboardFiles } from "../../tools/dashboards/dashboard_files.ts";
import { clusterTargets } from "./cluster_targets.ts";
import { countQueries, queriesWithoutResult } from "./dashboard_queries.ts";
import { Prometheus } from "./prometheus.ts";

const TEST =
  "every query of the dashboards has a result from a controller and proxies with traffic";

/** Endpoints are ejected after some failures, and rates need some scrapes; two cores may be busy. */
const PATIENCE = 180_000;

const HOST = "web.example.com";
const HOSTS = [
  HOST,
  ...["moved", "empty", "broken", "unknown"].map((name) => `${name}.example.com`),
];

/** Served, partly failing, redirecting, without an endpoint, broken, with a certificate, and a Gateway. */
async function createObjects(scene: ControllerScene, pods: readonly Pod[]): Promise<void> {
  const { cluster, app } = scene;
  await scene.service("web", []);
  for (const pod of pods) await cluster.apply(pod.slice("web", "ready"), { namespace: app });
  await scene.service("empty", []);
  const { chain, key } = await cluster.authority.issue({ names: [HOST] });
  await scene.tlsSecret("web-tls", { "tls.crt": chain, "tls.key": key.reveal() });
  const annotations = (name: string, value: string) => ({
    annotations: { [`nginx.ingress.kubernetes.io/${name}`]: value },
  });
  const tls = [{ hosts: [HOST], secretName: "web-tls" }];
  await scene.ingress("web", { tls }, annotations("ssl-redirect", "false"));
  await scene.ingress("moved", {}, annotations("permanent-redirect", "https://example.com/"));
  await scene.ingress("empty", { rules: [rule("empty.example.com", "/", "empty")] });
  await scene.ingress("broken", { rules: [rule("broken.example.com", "/", "missing")] });
  await cluster.apply(gatewayClass());
  await cluster.apply(gatewayOf(), { namespace: app });
}

/** Requests of all kinds at all proxies, until it is disposed of. */
class Traffic implements AsyncDisposable {
  #isOver = false;
  readonly #running: Promise<void>;

  constructor(proxies: readonly ProxyProcess[]) {
    this.#running = this.#run(proxies);
  }

  async #run(proxies: readonly ProxyProcess[]): Promise<void> {
    while (!this.#isOver) {
      for (const proxy of proxies) {
        for (const host of HOSTS) await answerOf(proxy, host);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }
}

async function run(cluster: TestCluster, prometheus: Prometheus): Promise<void> {
  await installGatewayCrds(cluster);
  await using scene = await ControllerScene.prepare(cluster, {
    args: ["--stream-name=127.0.0.1", "--service-type=ClusterIP"],
  });
  const pods = [new Pod("good"), new Pod("gone")];
  await createObjects(scene, pods);
  await pods[1].end();
  await using _first = { [Symbol.asyncDispose]: () => pods[0].end() };
  const controller = await scene.startController();
  await eventually(
    "a Gateway in metrics",
    async () => await controller.metric("pingress_controller_gateways ") === 1,
  );
  await using collector = await OtlpCollector.start();
  const byRoute = [
    "--metrics-by=route",
    "--memory-limit=4GiB",
    ...collector.flags,
  ];
  await using proxy = await startStreamedProxy(scene, { args: byRoute });
  await using other = await startStreamedProxy(scene, { args: ["--workers=2"] });
  await prometheus.scrape([
    ...await clusterTargets(scene, proxy),
    { job: "pingress-proxy", port: other.adminPort, labels: { pod: "proxy-2" } },
  ]);
  await using _traffic = new Traffic([proxy, other]);
  const empty = new Map<string, readonly string[]>();
  let changes = 0;
  await waitFor(async () => {
    // Rates of what only a change brings.
    await scene.ingress("changing", { rules: [rule(HOST, `/changes/${changes++}`, "web")] });
    for (const [path, text] of dashboardFiles()) {
      empty.set(path, await queriesWithoutResult(prometheus, text, { host: HOST }));
    }
    return [...empty.values()].every(({ length }) => length === 0);
  }, PATIENCE);
  assert.deepEqual([...empty.values()].flat(), []);
  const queries = dashboardFiles().map(([, text]) => countQueries(text));
  console.log(`${queries.reduce((sum, count) => sum + count)} queries have results`);
}

clusterTest(TEST, async (cluster) => {
  if (!hasPodAddress(TEST)) return;
  await using prometheus = await Prometheus.start(TEST);
  if (prometheus !== null) await run(cluster, prometheus);
});
