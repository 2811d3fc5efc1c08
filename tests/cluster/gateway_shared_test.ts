/** Gateways that share the address of Ingresses, as a real API server shows them. */
import { deepEqual, equal } from "node:assert/strict";
import type { KubeObject } from "./support/api_client.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene, rule } from "./support/controller_scene.ts";
import { FAST_ELECTION } from "./support/elections.ts";
import { installGatewayCrds } from "./support/gateway_crds.ts";
import { gatewayClass, gatewayOf, httpListeners, routeOf } from "./support/gateway_objects.ts";
import { readyProxy, replicasKubeconfig } from "./support/gateway_proxies.ts";
import { type LiveStatus, shown, V1 } from "./support/gateway_status_scene.ts";
import { connectProxy, streamTrust } from "./support/stream_scene.ts";

type Live = KubeObject & { readonly status?: LiveStatus };

const HOST = "app.example.com";

clusterTest(
  "a Gateway that shares the address of Ingresses shows the nodes' addresses, and has no Service",
  async (cluster) => {
    await installGatewayCrds(cluster);
    const other = await cluster.newNamespace("other");
    await using scene = await ControllerScene.prepare(cluster, {
      args: [...FAST_ELECTION, `--watch-namespace=${other}`],
      kubeconfig: await replicasKubeconfig(cluster),
    });
    const { app, system } = scene;
    await cluster.apply({ apiVersion: "v1", kind: "Node", metadata: { name: "node" } });
    await cluster.request(
      "PATCH",
      `${await cluster.pathOf("v1", "Node", "node")}/status`,
      { status: { addresses: [{ type: "InternalIP", address: "192.0.2.7" }] } },
      "application/merge-patch+json",
    );
    await using controller = await scene.startController();
    await eventually(
      "a leader",
      async () => await controller.metric("pingress_controller_leader ") === 1,
    );
    await streamTrust(cluster, system);
    const token = await readyProxy(scene, "proxy-a", "10.0.0.1");
    await using proxy = await connectProxy(scene, { token }, controller);
    const parameters = (data: Readonly<Record<string, string>>) =>
      cluster.apply({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "addresses" },
        data,
      }, { namespace: system });
    // By default, with nodes.
    await parameters({});
    const parametersRef = {
      ...{ group: "", kind: "ConfigMap" },
      ...{ name: "addresses", namespace: system },
    };
    await cluster.apply(gatewayClass("sharing", { parametersRef }));
    await cluster.apply(gatewayOf(httpListeners(80, 8081), { className: "sharing" }), {
      namespace: app,
    });
    const gateway = async () => (await cluster.get<Live>(V1, "Gateway", "web", app))?.status ?? {};
    const service = () => cluster.get("v1", "Service", "web-sharing", app);
    const shows = async (programmed: string, addresses: readonly string[]) =>
      await eventually(`${programmed} with ${addresses.join()}`, async () => {
        const { conditions, addresses: live = [] } = await gateway();
        return shown(conditions, "Programmed")?.startsWith(programmed) === true &&
          JSON.stringify(live) ===
            JSON.stringify(addresses.map((value) => ({ type: "IPAddress", value })));
      }, 60_000);
    await shows("True/Programmed", ["192.0.2.7"]);
    const { listeners = [] } = await gateway();
    deepEqual(
      listeners.map(({ conditions }) => [
        shown(conditions, "Accepted"),
        shown(conditions, "Programmed"),
      ]),
      [
        ["True/Accepted@1", "True/Programmed@1"],
        ["False/PortUnavailable@1", "False/Invalid@1"],
      ],
    );
    equal(await service(), null);
    const { status } = (await cluster.get<Live>(V1, "GatewayClass", "sharing"))!;
    const features = JSON.stringify(status?.supportedFeatures);
    deepEqual(
      ["GatewayPort8080", "GatewayHTTPListenerIsolation"].map((name) => features.includes(name)),
      [false, true],
    );

    // A host of another namespace's Ingress, and one of an Ingress of its own.
    await scene.service("web");
    await cluster.apply({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: "theirs" },
      spec: { ingressClassName: "pingress", rules: [rule(HOST, "/", "web")] },
    } as Partial<KubeObject>, { namespace: other });
    await scene.ingress("mine", { rules: [rule("mine.example.com", "/", "web")] });
    await scene.eventuallyRouted(`${HOST} Prefix /`);
    await scene.eventuallyRouted("mine.example.com Prefix /");
    const route = (name: string, hostname: string) =>
      cluster.apply(routeOf(name, hostname), { namespace: app });
    await route("foreign", HOST);
    await route("waiting", "mine.example.com");
    const says = async (name: string, accepted: string, message: string) =>
      await eventually(`${name}: ${accepted} ${message}`, async () => {
        const live = await cluster.get<Live>(V1, "HTTPRoute", name, app);
        const conditions = live?.status?.parents?.[0]?.conditions;
        return shown(conditions, "Accepted") === accepted &&
          conditions?.find(({ type }) => type === "Accepted")?.message.startsWith(message) === true;
      }, 60_000);
    await says(
      "foreign",
      "False/HostnameNotOwned@1",
      `spec.hostnames: host ${HOST} belongs to namespace ${other}`,
    );
    const unserved = "not served by listener http-8081 (PortUnavailable)";
    await says(
      "waiting",
      "True/Accepted@1",
      `${unserved}; host mine.example.com is served by Ingress ${app}/mine until it is deleted.`,
    );
    await scene.remove("Ingress", "mine");
    await eventually("no word of the Ingress", async () => {
      const live = await cluster.get<Live>(V1, "HTTPRoute", "waiting", app);
      const conditions = live?.status?.parents?.[0]?.conditions ?? [];
      return conditions.find(({ type }) => type === "Accepted")?.message === `${unserved}.`;
    }, 60_000);
    await scene.eventuallyRouted(`${app}/waiting 0.0 mine.example.com`);

    // An address of its own, and back.
    await parameters({ address: "own" });
    await eventually("a Service", async () => await service() !== null, 60_000);
    await parameters({ address: "shared" });
    await eventually("no Service", async () => await service() === null, 60_000);
    await shows("True/Programmed", ["192.0.2.7"]);
    equal(proxy.isEnded, false);
  },
);
