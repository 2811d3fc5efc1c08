/** Nodes whose ports 80 and 443 another pod has, in the words of the real scheduler. */
import assert from "node:assert/strict";
import { PROXY_NAME } from "../../controller/outputs/workload/names.ts";
import type { KubeObject } from "./support/api_client.ts";
import { startCluster } from "./support/cluster.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene } from "./support/controller_scene.ts";
import { readyNode, runPod, Scheduling } from "./support/scheduling.ts";
import type { LiveIngress } from "./support/writing_scene.ts";

interface LivePod extends KubeObject {
  readonly spec: { readonly nodeName?: string };
}

interface LiveEvent extends KubeObject {
  readonly reason: string;
  readonly message: string;
}

const NAME = "a node whose ports another pod has is told of, and gets its proxy once they are free";

Deno.test(NAME, async () => {
  const cluster = await startCluster({ name: NAME });
  if (cluster === null) return;
  await using _ = cluster;
  const scheduling = await Scheduling.start(cluster, NAME);
  if (scheduling === null) return;
  await using _scheduling = scheduling;
  await readyNode(cluster, "free", "192.0.2.1");
  await readyNode(cluster, "taken", "192.0.2.2");
  const other = await cluster.newNamespace("other");
  await cluster.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "other-ingress-controller" },
    spec: {
      nodeName: "taken",
      containers: [{
        name: "other",
        image: "other:1",
        ports: [{ containerPort: 80, hostPort: 80 }],
      }],
    },
  } as Partial<KubeObject>, { namespace: other });
  await using scene = await ControllerScene.start(cluster);
  const { system: namespace, app } = scene;
  await scene.service("web");
  await scene.ingress("shop");
  const podOn = (node: string) =>
    eventually(`a proxy's pod on ${node}`, async () => {
      const pods = await cluster.list<LivePod>("v1", "Pod", { namespace });
      return pods.find(({ spec, metadata }) =>
        spec.nodeName === node && metadata.labels?.["app.kubernetes.io/name"] === PROXY_NAME
      );
    });
  await runPod(cluster, await podOn("free"), "192.0.2.1");
  const object = `DaemonSet ${namespace}/${PROXY_NAME}`;
  const { message } = await scene.eventuallyProblem("HostPortConflict", object);
  assert.match(message, / of 2 proxies are ready; .*another pod has port 80 or 443 of the node/);
  const event = await eventually("Event", async () => {
    const events = await cluster.list<LiveEvent>("v1", "Event", { namespace });
    return events.find(({ reason }) => reason === "HostPortConflict");
  });
  assert.match(event.message, /didn't have free ports.*--node-selector/);
  const addresses = async (count: number) =>
    await eventually(`${count} addresses`, async () => {
      const live = await cluster.get<LiveIngress>("networking.k8s.io/v1", "Ingress", "shop", app);
      const ingress = live?.status?.loadBalancer?.ingress ?? [];
      return ingress.length === count ? ingress : null;
    });
  assert.deepEqual(await addresses(1), [{ ip: "192.0.2.1" }]);

  const path = `/api/v1/namespaces/${other}/pods/other-ingress-controller?gracePeriodSeconds=0`;
  await cluster.request("DELETE", path);
  await runPod(cluster, await podOn("taken"), "192.0.2.2");
  assert.deepEqual(await addresses(2), [{ ip: "192.0.2.1" }, { ip: "192.0.2.2" }]);
  await eventually("end of the problem", async () => {
    const reasons = (await scene.problems()).map(({ reason }) => reason);
    return !reasons.includes("HostPortConflict");
  });
});
