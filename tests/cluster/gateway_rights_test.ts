/** The status of Gateway API with the rights of `overlays/gateway`, and no others. */
import { deepEqual, equal } from "node:assert/strict";
import { CLASS_FINALIZER } from "../../controller/outputs/gateway_status/class_finalizer.ts";
import { GATEWAY_CONTROLLER } from "../../controller/translate/gateway/objects/gateway_class.ts";
import type { KubeObject } from "./support/api_client.ts";
import { eventually } from "./support/condition.ts";
import { type Crd, gatewayCrd } from "./support/gateway_crds.ts";
import { type LiveStatus, shown, V1 } from "./support/gateway_status_scene.ts";
import { manifest } from "./support/kubectl.ts";
import { HOST_PORT_ARGS, RbacScene } from "./support/rbac_scene.ts";

type Live = KubeObject & { readonly status?: LiveStatus };

const CRDS: readonly Crd[] = ["GatewayClass", "Gateway", "HTTPRoute"].map((kind) =>
  gatewayCrd(kind, ["v1"])
);

/** Milliseconds, for a call that was denied: it is tried again ever more rarely. */
const PATIENCE = 120_000;

Deno.test("status and finalizer are written with the ClusterRole of overlays/gateway", async () => {
  const scene = await RbacScene.create("status of Gateway API");
  if (scene === null) return;
  await using _ = scene;
  const { cluster, way, namespace } = scene;
  for (const crd of CRDS) await cluster.apply(crd);
  const role = await manifest<KubeObject>("../overlays/gateway/cluster-role.yaml");
  await cluster.apply(role, { fieldManager: "installation" });
  for (const { spec: { names: { plural } } } of CRDS) {
    await eventually(
      plural,
      async () => (await cluster.request("GET", `/apis/${V1}/${plural}`)).status === 200,
    );
  }
  await cluster.apply({
    apiVersion: V1,
    kind: "GatewayClass",
    metadata: { name: "pingress" },
    spec: { controllerName: GATEWAY_CONTROLLER },
  });
  await cluster.apply([{
    apiVersion: V1,
    kind: "Gateway",
    metadata: { name: "web" },
    spec: {
      gatewayClassName: "pingress",
      listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
    },
  }, {
    apiVersion: V1,
    kind: "HTTPRoute",
    metadata: { name: "web" },
    spec: {
      parentRefs: [{ name: "web" }],
      rules: [{ backendRefs: [{ name: "web", port: 80 }] }],
    },
  }], { namespace });
  await using _controller = await way.start(...HOST_PORT_ARGS, "--gateway");
  const gatewayClass = () => cluster.get<Live>(V1, "GatewayClass", "pingress");
  await eventually(
    "an accepted class with its finalizer",
    async () => {
      const { status, metadata } = (await gatewayClass())!;
      return shown(status?.conditions, "Accepted") === "True/Accepted@1" &&
        metadata.finalizers?.join() === CLASS_FINALIZER;
    },
    PATIENCE,
  );
  await eventually("an accepted Gateway with a route", async () => {
    const { status } = (await cluster.get<Live>(V1, "Gateway", "web", namespace))!;
    return shown(status?.conditions, "Accepted") === "True/Accepted@1" &&
      status?.listeners?.[0].attachedRoutes === 1;
  }, PATIENCE);
  await eventually("an accepted route", async () => {
    const { status } = (await cluster.get<Live>(V1, "HTTPRoute", "web", namespace))!;
    return shown(status?.parents?.[0].conditions, "Accepted") === "True/Accepted@1";
  }, PATIENCE);
  const route = (await cluster.get<Live>(V1, "HTTPRoute", "web", namespace))!;
  equal(route.status?.parents?.[0].controllerName, GATEWAY_CONTROLLER);
  await cluster.delete(V1, "Gateway", "web", namespace);
  await eventually(
    "a class without finalizer, and a route without parents",
    async () => {
      const { status } = (await cluster.get<Live>(V1, "HTTPRoute", "web", namespace))!;
      return (await gatewayClass())?.metadata.finalizers === undefined &&
        status?.parents?.length === 0;
    },
    PATIENCE,
  );
  deepEqual(way.refused(), []);
});
