/** What the API server knows of zones and of balancing is what proxies get. */
import assert from "node:assert/strict";
import type { KubeObject } from "./support/api_client.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { ControllerScene } from "./support/controller_scene.ts";

/** An EndpointSlice of Service `web` with one address in each of these zones. */
function sliceIn(zones: readonly string[]): Partial<KubeObject> {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "web-zones", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints: zones.map((zone, i) => ({
      addresses: [`10.0.0.${i + 1}`],
      conditions: { ready: true },
      zone,
      hints: { forZones: [{ name: zone }] },
    })),
  } as unknown as Partial<KubeObject>;
}

function serviceWith(annotations: Record<string, string>): Partial<KubeObject> {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web", annotations },
    spec: { ports: [{ name: "http", port: 80 }] },
  } as Partial<KubeObject>;
}

clusterTest(
  "zone hints and a Service's load balancing mode are published, and follow changes",
  async (cluster) => {
    await using scene = await ControllerScene.start(cluster, { args: ["--endpoint-interval=0s"] });
    const { app: namespace } = scene;
    await cluster.apply([
      serviceWith({ "pingress.io/balance": "least-requests" }),
      sliceIn(["a", "b"]),
    ], { namespace });
    await scene.ingress("web");
    const { upstreams } = await scene.eventuallyPublished(
      "two endpoints",
      ({ upstreams: [web] }) =>
        web?.addresses.kind === "endpoints" && web.addresses.endpoints.length === 2,
    );
    assert.equal(upstreams[0].balance, "least-requests");
    assert.deepEqual(upstreams[0].addresses, {
      kind: "endpoints",
      endpoints: ["a", "b"].map((zone, i) => ({
        address: `10.0.0.${i + 1}`,
        port: 8080,
        zone,
        hints: [zone],
      })),
    });
    await cluster.apply([serviceWith({}), sliceIn(["a", "c"])], { namespace });
    await scene.eventuallyPublished(
      "other hints, and the default way of balancing",
      ({ upstreams: [web] }) =>
        web?.balance === undefined && JSON.stringify(web?.addresses).includes('"hints":["c"]'),
    );
  },
);
