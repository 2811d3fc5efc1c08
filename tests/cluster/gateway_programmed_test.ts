/** When Gateways are programmed, with proxies that are connected to two replicas of the controller. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import type { ControllerProcess } from "./support/controller_process.ts";
import { ControllerScene } from "./support/controller_scene.ts";
import { FAST_ELECTION } from "./support/elections.ts";
import { installGatewayCrds } from "./support/gateway_crds.ts";
import { readyProxy, replicasKubeconfig } from "./support/gateway_proxies.ts";
import { type Condition, type LiveStatus, shown, V1 } from "./support/gateway_status_scene.ts";
import type { KubeObject } from "./support/api_client.ts";
import { connectProxy, streamTrust } from "./support/stream_scene.ts";
import { StreamClient } from "../support/stream_client.ts";
import { gatewayClass, gatewayOf, httpListeners } from "./support/gateway_objects.ts";

type Live = KubeObject & { readonly status?: LiveStatus };

async function leads(controller: ControllerProcess): Promise<boolean> {
  return await controller.metric("pingress_controller_leader ") === 1;
}

/** Acknowledges the newest configuration that has come. */
function acknowledge(proxy: StreamClient): void {
  const { version, hash } = proxy.latest!;
  proxy.report({ kind: "applied", version, hash });
}

clusterTest(
  "a Gateway is programmed when the proxies of all replicas have it, and waits for each by name",
  async (cluster) => {
    await installGatewayCrds(cluster);
    const kubeconfig = await replicasKubeconfig(cluster);
    await using scene = await ControllerScene.prepare(cluster, {
      args: [...FAST_ELECTION, "--service-type=ClusterIP"],
      kubeconfig,
    });
    await using first = await scene.startController();
    await eventually("a leader", () => leads(first));
    await streamTrust(cluster, scene.system);
    await using second = await scene.startController();
    await second.line("Relaying acknowledgements to the leader");
    const [tokenA, tokenB] = [
      await readyProxy(scene, "proxy-a", "10.0.0.1"),
      await readyProxy(scene, "proxy-b", "10.0.0.2"),
    ];
    await using a = await connectProxy(scene, { token: tokenA }, first);
    await using b = await connectProxy(scene, { token: tokenB, acknowledges: false }, second);
    const listeners = async (...ports: readonly number[]) =>
      await cluster.apply(gatewayOf(httpListeners(...ports)), { namespace: scene.app });
    await cluster.apply(gatewayClass());
    await listeners(80);
    const conditions = async (): Promise<readonly Condition[]> =>
      (await cluster.get<Live>(V1, "Gateway", "web", scene.app))?.status?.conditions ?? [];
    const programmed = async () => shown(await conditions(), "Programmed");
    const shows = async (wanted: string, patience?: number) =>
      await eventually(wanted, async () => await programmed() === wanted, patience);
    const message = async () =>
      (await conditions()).find(({ type }) => type === "Programmed")?.message;

    await eventually(
      "the message",
      async () => await message() === "1 of 2 proxies have it; waiting for proxy-b.",
      60_000,
    );
    equal(await programmed(), "False/Pending@1");
    acknowledge(b);
    await shows("True/Programmed@1");
    const { addresses = [], listeners: shownListeners = [] } =
      (await cluster.get<Live>(V1, "Gateway", "web", scene.app))!.status!;
    equal(addresses.length, 1);
    equal(shown(shownListeners[0].conditions, "Programmed"), "True/Programmed@1");

    // A generation that one of them has not acknowledged yet.
    const before = b.lines.length;
    await listeners(80, 8080);
    await b.until(
      "the next configuration",
      () => b.lines.slice(before).find(({ kind }) => kind === "delta"),
    );
    await eventually(
      "Accepted",
      async () => shown(await conditions(), "Accepted") === "True/Accepted@2",
    );
    equal(await programmed(), "True/Programmed@1");
    acknowledge(b);
    await shows("True/Programmed@2");

    // Its replica goes: nobody knows what it has.
    await second.kill();
    await shows("False/Pending@2", 60_000);
    ok((await message())?.endsWith("waiting for proxy-b."));
    await using again = await connectProxy(scene, { token: tokenB }, first);
    await again.line("snapshot");
    await shows("True/Programmed@2");

    // The leader goes: another one learns all of it again.
    await using third = await scene.startController();
    await third.line("Relaying acknowledgements to the leader");
    await first.kill();
    await eventually("another leader", () => leads(third));
    await using lastA = await connectProxy(scene, { token: tokenA }, third);
    await using lastB = await connectProxy(scene, { token: tokenB }, third);
    await listeners(8080);
    await shows("True/Programmed@3");
    equal([lastA, lastB].every(({ isEnded }) => !isEnded), true);
    equal(a.isEnded, true);
  },
);

interface LiveService extends KubeObject {
  readonly spec: { readonly type: string; readonly clusterIP: string };
}

clusterTest(
  "a mistake in the parameters of a class takes no address and no traffic from its Gateways",
  async (cluster) => {
    await installGatewayCrds(cluster);
    await using scene = await ControllerScene.prepare(cluster, {
      args: [...FAST_ELECTION, "--service-type=ClusterIP"],
      kubeconfig: await replicasKubeconfig(cluster),
    });
    await using controller = await scene.startController();
    await eventually("a leader", () => leads(controller));
    await streamTrust(cluster, scene.system);
    const token = await readyProxy(scene, "proxy-a", "10.0.0.1");
    await using proxy = await connectProxy(scene, { token }, controller);
    const parameters = (serviceType: string) =>
      cluster.apply({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "parameters" },
        data: { serviceType },
      }, { namespace: scene.system });
    await parameters("NodePort");
    const parametersRef = {
      ...{ group: "", kind: "ConfigMap" },
      ...{ name: "parameters", namespace: scene.system },
    };
    await cluster.apply(gatewayClass("parametrised", { parametersRef }));
    const gateway = (name: string) =>
      cluster.apply(gatewayOf(httpListeners(), { name, className: "parametrised" }), {
        namespace: scene.app,
      });
    await gateway("web");
    const shows = async (name: string, type: string, wanted: string, says = "") =>
      await eventually(`${name}: ${wanted} ${says}`, async () => {
        const { status } = (await cluster.get<Live>(V1, "Gateway", name, scene.app))!;
        const condition = status?.conditions?.find((each) => each.type === type);
        return shown(status?.conditions, type)?.startsWith(wanted) === true &&
          condition?.message.includes(says) === true;
      }, 60_000);
    const service = async (name = "web") =>
      await cluster.get<LiveService>("v1", "Service", `${name}-parametrised`, scene.app);
    const slices = () =>
      cluster.list("discovery.k8s.io/v1", "EndpointSlice", { namespace: scene.app });
    await shows("web", "Programmed", "True/Programmed");
    const before = (await service())!;
    equal(before.spec.type, "NodePort");
    const [slice] = await slices();

    await parameters("nodeport");
    await shows("web", "Accepted", "False/InvalidParameters", "key serviceType of ConfigMap");
    await shows("web", "Programmed", "False/Invalid");
    await gateway("new");
    await shows("new", "Accepted", "False/InvalidParameters");
    await cluster.delete("v1", "ConfigMap", "parameters", scene.system);
    await shows("web", "Accepted", "False/InvalidParameters", "does not exist. Create it.");
    equal(await service("new"), null);
    deepEqual((await service())!.spec, before.spec);
    deepEqual((await slices()).map(({ metadata }) => metadata.uid), [slice.metadata.uid]);
    equal(proxy.isEnded, false);

    await parameters("ClusterIP");
    await shows("web", "Programmed", "True/Programmed");
    await shows("new", "Programmed", "True/Programmed");
    await eventually("the type", async () => (await service())!.spec.type === "ClusterIP");
    const after = (await service())!;
    deepEqual([after.metadata.uid, after.spec.clusterIP], [
      before.metadata.uid,
      before.spec.clusterIP,
    ]);
  },
);
