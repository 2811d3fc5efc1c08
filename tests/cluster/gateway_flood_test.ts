/** A tenant that fills its namespace with large objects of Gateway API: others stay served, and memory is kept. */
import assert from "node:assert/strict";
import { memoryOf } from "../../bench/controller/process_usage.ts";
import type { KubeObject } from "./support/api_client.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene } from "./support/controller_scene.ts";
import { installGatewayCrds } from "./support/gateway_crds.ts";
import { gatewayClass, gatewayOf, httpListeners } from "./support/gateway_objects.ts";
import { type LiveStatus, shown, V1 } from "./support/gateway_status_scene.ts";

const MIB = 1024 * 1024;

/** Of the container in manifests/. */
const LIMIT = 512 * MIB;

/** Of each kind, of the flooding tenant. */
const FLOOD = 8;

type Live = KubeObject & { readonly status?: LiveStatus };

/** Of 1 MB: its CRD bounds the number of listeners, and not the labels by which one selects namespaces. */
function hugeGateway(name: string): KubeObject {
  const matchLabels = Object.fromEntries(
    Array.from({ length: 16_000 }, (_, i) => [`label-${i}`, "x".repeat(45)]),
  );
  const allowedRoutes = { namespaces: { from: "Selector", selector: { matchLabels } } };
  return gatewayOf([{ name: "http", port: 80, protocol: "HTTP", allowedRoutes }], { name });
}

/** Of 1 MB, in a list that the CRD of a release bounds: this one takes any. */
function hugeGrant(name: string): KubeObject {
  const group = "gateway.networking.k8s.io";
  const from = Array.from(
    { length: 8_000 },
    (_, i) => ({ group, kind: "HTTPRoute", namespace: `namespace-${i}-${"x".repeat(40)}` }),
  );
  return {
    apiVersion: V1,
    kind: "ReferenceGrant",
    metadata: { name },
    spec: { from, to: [{ group: "", kind: "Service" }] },
  } as KubeObject;
}

function routeFor(hostname: string): KubeObject {
  return {
    apiVersion: V1,
    kind: "HTTPRoute",
    metadata: { name: "steady" },
    spec: {
      parentRefs: [{ name: "web" }],
      hostnames: [hostname],
      rules: [{ backendRefs: [{ name: "web", port: 80 }] }],
    },
  } as KubeObject;
}

clusterTest(
  `${FLOOD} Gateways and ${FLOOD} ReferenceGrants of 1 MB of one tenant leave all others served`,
  async (cluster) => {
    await installGatewayCrds(cluster, ["GatewayClass", "Gateway", "HTTPRoute", "ReferenceGrant"]);
    const flood = await cluster.newNamespace("flood");
    await using scene = await ControllerScene.prepare(cluster, {
      args: ["--service-type=ClusterIP", `--watch-namespace=${flood}`],
    });
    const { app } = scene;
    await scene.service("web", []);
    await cluster.apply(gatewayClass());
    await cluster.apply(gatewayOf(httpListeners()), { namespace: app });
    const isServed = (hostname: string) =>
      eventually(hostname, async () => {
        const { routes } = await scene.whole();
        return routes.some(({ host, origin }) => host === hostname && origin.namespace === app);
      }, 60_000);
    const change = async (hostname: string) => {
      await cluster.apply(routeFor(hostname), { namespace: app });
      await isServed(hostname);
    };
    const accepted = async (name: string) =>
      shown((await cluster.get<Live>(V1, "Gateway", name, flood))?.status?.conditions, "Accepted");
    const peaks: number[] = [];
    {
      await using controller = await scene.startController();
      await change("before.example.com");
      await cluster.apply(gatewayOf(httpListeners(), { name: "small" }), { namespace: flood });
      for (let i = 0; i < FLOOD; i++) {
        await cluster.apply(hugeGateway(`huge-${i}`), { namespace: flood });
        await cluster.apply(hugeGrant(`huge-${i}`), { namespace: flood });
        if (i % 5 === 0) await change(`during-${i}.example.com`);
      }
      for (let i = 0; i < FLOOD; i++) {
        await eventually(
          `the condition of huge-${i}`,
          async () => (await accepted(`huge-${i}`))?.startsWith("False/ObjectTooLarge"),
          60_000,
        );
      }
      await eventually(
        "the condition of a small one",
        async () => (await accepted("small"))?.startsWith("True/"),
      );
      await eventually(
        "a problem of a grant",
        async () =>
          (await scene.problems()).some(({ object, reason }) =>
            reason === "ObjectTooLarge" && String(object).startsWith(`ReferenceGrant ${flood}/`)
          ),
      );
      await change("after.example.com");
      peaks.push(memoryOf(controller.pid).peak);
    }
    // Whoever starts now finds all of it at once.
    await using controller = await scene.startController();
    await isServed("after.example.com");
    await change("restarted.example.com");
    peaks.push(memoryOf(controller.pid).peak);
    console.log(`peaks of controllers in MiB: ${peaks.map((peak) => Math.round(peak / MIB))}`);
    for (const peak of peaks) assert.ok(peak < LIMIT, `${peak}`);
  },
);
