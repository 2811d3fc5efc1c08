/**
 * Alerts that fire against a real Prometheus which scrapes a real controller, on a real API server, and
 * a real proxy that follows it; each is broken in one way, and silent before.
 */
import { clusterTest } from "../cluster/support/cluster_case.ts";
import { eventually } from "../cluster/support/condition.ts";
import { ControllerScene, rule } from "../cluster/support/controller_scene.ts";
import { FAST_ELECTION } from "../cluster/support/elections.ts";
import { failure } from "../cluster/support/gateway_answers.ts";
import { installGatewayCrds } from "../cluster/support/gateway_crds.ts";
import { gatewayClass, gatewayOf } from "../cluster/support/gateway_objects.ts";
import { V1 } from "../cluster/support/gateway_status_scene.ts";
import { startStreamedProxy } from "../cluster/support/streamed_proxy.ts";
import type { ProxyProcess } from "../support/proxy_process.ts";
import { AlertScene } from "./alert_scene.ts";
import { clusterTargets, workloadStatus } from "./cluster_targets.ts";

const WRITES = ["create", "update", "patch"] as const;

/** A restart of the API server breaks each watch a few times; here more is no accident. */
const THRESHOLDS = { staleSeconds: 10, watchRestarts: 2 };

/** For what a controller reports after half a minute, and for watches that fail with growing pauses; in ms. */
const LONG = 120_000;

/** Null, with a line `skipped: …`, where Prometheus is missing. */
async function startAlerts(
  name: string,
  scene: ControllerScene,
  proxy: ProxyProcess,
): Promise<AlertScene | null> {
  const targets = await clusterTargets(scene, proxy);
  return await AlertScene.start(name, { thresholds: THRESHOLDS, targets });
}

clusterTest(
  "a limit, proxies that are not ready, failed writes, a lost lease and a frozen controller fire alerts",
  async (cluster) => {
    await using scene = await ControllerScene.prepare(cluster, {
      gateway: true,
      args: ["--stream-name=127.0.0.1", "--max-namespace-routes=2", ...FAST_ELECTION],
    });
    await scene.service("web");
    await scene.ingress("first");
    const controller = await scene.startController();
    await using proxy = await startStreamedProxy(scene);
    const alerts = await startAlerts("alerts of a controller", scene, proxy);
    if (alerts === null) return;
    await using _ = alerts;
    const namespace = scene.system;
    await alerts.silent();

    const paths = ["/a", "/b", "/c"].map((path) => rule("second.example.com", path, "web"));
    await scene.ingress("second", { rules: paths });
    await alerts.fires("PingressRoutesLeftOut", { namespace, reason: "NamespaceLimitExceeded" });
    await scene.remove("Ingress", "second");

    await workloadStatus(scene, 1, 0);
    await alerts.fires("PingressNoReadyProxy", { namespace });
    await workloadStatus(scene, 1, 1);

    const gateway = scene.gateway!;
    const writes = gateway.inject({ verb: WRITES, resource: "configmaps" }, failure(500));
    await scene.ingress("third");
    await alerts.fires("PingressConfigurationNotPublished", { namespace, pod: "controller-1" });
    writes.remove();

    const leases = gateway.inject({ resource: "leases" }, failure(500));
    await alerts.fires("PingressNoLeader", { namespace });
    leases.remove();
    await eventually("leader", () => controller.metric("pingress_controller_leader 1"));

    controller.pause();
    await alerts.fires("PingressConfigurationStale", { namespace, pod: "proxy-1" });
    controller.resume();
  },
);

clusterTest(
  "proxies that no node matches fire an alert where there is only a Gateway, until it is deleted",
  async (cluster) => {
    await installGatewayCrds(cluster);
    await using scene = await ControllerScene.prepare(cluster, {
      args: ["--stream-name=127.0.0.1", "--service-type=ClusterIP"],
    });
    await cluster.apply(gatewayClass());
    await cluster.apply(gatewayOf(), { namespace: scene.app });
    const controller = await scene.startController();
    const gateways = () => controller.metric("pingress_controller_gateways ");
    await eventually("a Gateway in metrics", async () => await gateways() === 1);
    await using proxy = await startStreamedProxy(scene);
    const alerts = await startAlerts("alerts of a Gateway", scene, proxy);
    if (alerts === null) return;
    await using _ = alerts;
    await alerts.silent();

    await workloadStatus(scene, 0, 0);
    await alerts.fires("PingressNoReadyProxy", { namespace: scene.system });
    await scene.remove("Gateway", "web", V1);
    await eventually("no Gateway in metrics", async () => await gateways() === 0);
    await alerts.silent();
  },
);

clusterTest("a proxy that rejects what the stream brings fires alerts", async (cluster) => {
  await using scene = await ControllerScene.prepare(cluster, { args: ["--stream-name=127.0.0.1"] });
  await scene.service("web");
  for (const name of ["a", "b", "c"]) await scene.ingress(name);
  await scene.startController();
  await scene.eventuallyRouted("c.example.com");
  await using proxy = await startStreamedProxy(scene, { args: ["--max-route-loss=40"] });
  const alerts = await startAlerts("alerts of a stream", scene, proxy);
  if (alerts === null) return;
  await using _ = alerts;
  const namespace = scene.system;
  await alerts.silent();
  for (const name of ["a", "b"]) await scene.remove("Ingress", name);
  // Counted by the proxy, and then a problem that the controller reports.
  await alerts.fires("PingressConfigurationRejected", { pod: "proxy-1", source: "stream" });
  await alerts.fires("PingressConfigurationRejected", { namespace, pod: undefined }, LONG);
  // Connected, and behind.
  await alerts.fires("PingressConfigurationStale", { namespace, pod: "proxy-1" });
});

clusterTest("an API server that is gone fires alerts", async (cluster) => {
  await using scene = await ControllerScene.prepare(cluster, {
    args: ["--stream-name=127.0.0.1", ...FAST_ELECTION],
  });
  await scene.service("web");
  await scene.ingress("first");
  await scene.startController();
  await using proxy = await startStreamedProxy(scene);
  const alerts = await startAlerts("alerts of watches", scene, proxy);
  if (alerts === null) return;
  await using _ = alerts;
  const namespace = scene.system;
  await alerts.silent();
  await cluster.stopApiServer("SIGKILL");
  try {
    await alerts.fires("PingressNoLeader", { namespace });
    const watch = { namespace, pod: "controller-1", resource: "ingresses" };
    await alerts.fires("PingressWatchesFailing", watch, LONG);
  } finally {
    await cluster.startApiServer();
  }
});
