/**
 * The chart on a cluster with nodes, by the real Helm, under load on two proxies behind a Service:
 * upgrade from the version before, `helm test`, rollback, uninstall and another install. No request
 * fails.
 */
import assert from "node:assert/strict";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { VERSION } from "../../shared/version.ts";
import { CHART } from "../../tools/chart/chart_files.ts";
import { eventually } from "../cluster/support/condition.ts";
import { Application, buildApplication } from "../e2e/cluster/app/application.ts";
import {
  buildPingress,
  CONTROLLER,
  NAMESPACE,
  Pingress,
  PROXY,
} from "../e2e/cluster/installation.ts";
import { type NodeCluster, startNodeCluster } from "../e2e/cluster/node_cluster.ts";
import { Load } from "../e2e/load/load.ts";
import { ask } from "../e2e/promises/client.ts";
import { linesOf, mixedStreams } from "../e2e/promises/scene.ts";
import { Helm, RELEASE } from "./helm.ts";
import { previousChart } from "./previous_chart.ts";

const NAME = "the chart under load";
const HOST = "ground.test";
const RATE = 100;

/** Until what was asked for is there, in ms. */
const PATIENCE = 180_000;

const VALUES = [
  "--set=controller.flags.backend=LoadBalancer",
  "--set=controller.flags.proxyDrainDelay=5s",
  "--set=controller.flags.proxyDrainTimeout=5s",
];

Deno.test(NAME, async () => {
  const cluster = await startNodeCluster(NAME, { nodes: 2 });
  if (cluster === null) return;
  await using _ = cluster;
  const helm = await Helm.find(NAME, cluster.kubeconfig);
  if (helm === null) return;
  await using _helm = helm;
  await cluster.explain(() => underLoad(cluster, helm));
  await cluster.end();
});

async function underLoad(cluster: NodeCluster, helm: Helm): Promise<void> {
  await using previous = await previousChart();
  await buildApplication(cluster);
  await buildPingress(cluster, previous.version);
  await buildPingress(cluster);
  const into = [`--namespace=${NAMESPACE}`];
  const install = (chart: string) =>
    helm.succeed(["install", RELEASE, chart, ...into, "--create-namespace", "--wait", ...VALUES]);

  await install(previous.folder);
  await cluster.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: "ground" } });
  await Application.start(cluster, { namespace: "ground", replicas: 2, host: HOST });
  await running(cluster, previous.version);

  const address = await serviceAddress(cluster);
  await eventually(
    "answer of the proxies",
    () =>
      ask({ address, port: 80 }, { host: HOST, path: "/?id=1" })
        .then(({ status }) => status === 200, () => false),
    PATIENCE,
  );
  const { certificate: authority } = await CertificateAuthority.create("Chart");
  await using load = await Load.start({
    ...{ address, httpPort: 80, httpsPort: 443, authority },
    streams: mixedStreams(HOST, RATE),
  });
  await load.lasts(2_000);

  await helm.succeed(["upgrade", RELEASE, CHART, ...into, "--reset-then-reuse-values", "--wait"]);
  await running(cluster, VERSION);
  const tested = await helm.run(["test", RELEASE, ...into]);
  assert.equal(tested.code, 0, tested.stdout + tested.stderr);
  assert.match(tested.stdout, /Phase: +Succeeded/);
  assert.match(tested.stdout + tested.stderr, /✔ 2 of 2 connected proxies are in sync/);

  await helm.succeed(["rollback", RELEASE, "1", ...into, "--wait"]);
  await running(cluster, previous.version);

  await helm.succeed(["uninstall", RELEASE, ...into]);
  await eventually(
    "end of the controllers",
    async () =>
      (await cluster.pods(NAMESPACE, `app.kubernetes.io/name=${CONTROLLER}`)).length === 0,
    PATIENCE,
  );
  await load.lasts(5_000);
  assert.equal((await cluster.pods(NAMESPACE, `app.kubernetes.io/name=${PROXY}`)).length, 2);

  await install(CHART);
  await running(cluster, VERSION);
  await load.lasts(2_000);
  const { streams } = await load.stop();
  assert.deepEqual(linesOf(load.failures), []);
  const answered = streams.reduce((sum, stream) => sum + stream.answered, 0);
  console.log(`${NAME}: ${answered} requests, ${load.failures.length} failed`);
  assert.ok(answered > 1_000, `${answered}`);
}

/** Waits until controllers and two proxies of this version run, and no others. */
async function running(cluster: NodeCluster, version: string): Promise<void> {
  const pingress = new Pingress(cluster, "LoadBalancer");
  await pingress.waitForControllers(PATIENCE);
  await eventually(`proxies of ${version}`, async () => {
    const pods = await pingress.proxies();
    const images = pods.map(({ spec }) =>
      (spec as unknown as { containers: { image: string }[] }).containers[0].image
    );
    return images.length === 2 && images.every((image) => image.endsWith(`:${version}`));
  }, PATIENCE);
  await pingress.waitForProxies(PATIENCE);
}

/** Of the proxies' Service in the cluster: no load balancer of a cloud is here. */
async function serviceAddress(cluster: NodeCluster): Promise<string> {
  const service = await eventually(
    "Service of the proxies",
    () => cluster.get("v1", "Service", PROXY, NAMESPACE),
    PATIENCE,
  );
  return (service.spec as { readonly clusterIP: string }).clusterIP;
}
