/**
 * A controller and a proxy that follows it, as monitoring sees them in a cluster. In: a scene. Out: their
 * targets, and the status of a workload that no kubelet is there for.
 */
import { PROXY_NAME } from "../../controller/outputs/workload/names.ts";
import type { KubeObject } from "../cluster/support/api_client.ts";
import { eventually } from "../cluster/support/condition.ts";
import type { ControllerScene } from "../cluster/support/controller_scene.ts";
import { shownProxies } from "../cluster/support/stream_scene.ts";
import type { ProxyProcess } from "../support/proxy_process.ts";
import type { ScrapeTarget } from "./prometheus.ts";

/** As a PodMonitor has them: once the proxy has the newest configuration, and its pod counts as ready. */
export async function clusterTargets(
  scene: ControllerScene,
  proxy: ProxyProcess,
): Promise<ScrapeTarget[]> {
  const { controller, system: namespace } = scene;
  await eventually("proxy in sync", async () => (await shownProxies(controller)).programmed);
  await workloadStatus(scene, 1, 1);
  await eventually("ready proxy in metrics", async () => {
    const ready = await controller.metric('pingress_controller_proxies{state="ready"}');
    return ready === 1;
  });
  return [
    {
      job: "pingress-controller",
      port: await controller.adminPort(),
      labels: { namespace, pod: "controller-1" },
    },
    { job: "pingress-proxy", port: proxy.adminPort, labels: { namespace, pod: "proxy-1" } },
  ];
}

/** As the controllers of Kubernetes would write it. */
export async function workloadStatus(
  { cluster, system }: ControllerScene,
  desired: number,
  ready: number,
): Promise<void> {
  const identity = ["apps/v1", "DaemonSet", PROXY_NAME, system] as const;
  const [apiVersion, kind, name, namespace] = identity;
  await eventually("DaemonSet", () => cluster.get(...identity));
  await cluster.apply({
    apiVersion,
    kind,
    metadata: { name, namespace },
    status: {
      currentNumberScheduled: desired,
      desiredNumberScheduled: desired,
      numberMisscheduled: 0,
      numberReady: ready,
      updatedNumberScheduled: desired,
    },
  } as Partial<KubeObject>, { subresource: "status" });
}
