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
import { gatewayClass, gatewayOf } from "./support/gateway_objects.ts";

type Role = KubeObject & { readonly rules: readonly { readonly resources: readonly string[] }[] };

type Live = KubeObject & { readonly status?: LiveStatus };

/** Follows a ConfigMap that the Gateway names, as it comes, changes and goes. */
async function parametersAreRead({ cluster, namespace }: RbacScene): Promise<void> {
  const configMap = (data: Readonly<Record<string, string>>) =>
    cluster.apply(
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web" }, data },
      { namespace },
    );
  const accepted = (says: string) =>
    eventually(says, async () => {
      const { status } = (await cluster.get<Live>(V1, "Gateway", "web", namespace))!;
      const condition = status?.conditions?.find(({ type }) => type === "Accepted");
      return `${condition?.status}/${condition?.reason} ${condition?.message}`.includes(says);
    }, PATIENCE);
  await cluster.request(
    "PATCH",
    await cluster.pathOf(V1, "Gateway", "web", namespace),
    {
      spec: { infrastructure: { parametersRef: { group: "", kind: "ConfigMap", name: "web" } } },
    },
    "application/merge-patch+json",
  );
  await accepted(`False/InvalidParameters ConfigMap ${namespace}/web, which`);
  await configMap({ serviceType: "ClusterIP" });
  await accepted("True/Accepted");
  await configMap({ serviceType: "clusterip" });
  await accepted("False/InvalidParameters key serviceType of ConfigMap");
  await configMap({ serviceType: "NodePort" });
  await accepted("True/Accepted");
  await cluster.delete("v1", "ConfigMap", "web", namespace);
  await accepted("does not exist. Create it.");
  await configMap({});
  await accepted("True/Accepted");
}

/** Without the right on ConfigMaps, which a watch that is open outlives. */
async function unreadParametersAreNamed(
  { cluster, namespace }: RbacScene,
  role: Role,
): Promise<void> {
  const rules = role.rules.filter(({ resources }) => !resources.includes("configmaps"));
  equal(rules.length, role.rules.length - 1);
  await cluster.apply({ ...role, rules }, { fieldManager: "installation" });
  await cluster.apply([
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "late" }, data: {} },
    {
      apiVersion: V1,
      kind: "Gateway",
      metadata: { name: "late" },
      spec: {
        gatewayClassName: "pingress",
        infrastructure: { parametersRef: { group: "", kind: "ConfigMap", name: "late" } },
        listeners: [{ name: "http", port: 80, protocol: "HTTP" }],
      },
    },
  ], { namespace });
  const accepted = async () => {
    const { status } = (await cluster.get<Live>(V1, "Gateway", "late", namespace))!;
    return status?.conditions?.find(({ type }) => type === "Accepted");
  };
  await eventually(
    "the missing right",
    async () => (await accepted())?.message.includes("cannot be read. Give the") ?? false,
    PATIENCE,
  );
  await cluster.apply(role, { fieldManager: "installation" });
  await eventually(
    "an accepted Gateway",
    async () => (await accepted())?.status === "True",
    PATIENCE,
  );
}

const CRDS: readonly Crd[] = ["GatewayClass", "Gateway", "HTTPRoute", "ListenerSet"].map((kind) =>
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
  const [role, binding] = await manifest<KubeObject>("../overlays/gateway/cluster-role.yaml");
  await cluster.apply([role, binding], { fieldManager: "installation" });
  for (const { spec: { names: { plural } } } of CRDS) {
    await eventually(
      plural,
      async () => (await cluster.request("GET", `/apis/${V1}/${plural}`)).status === 200,
    );
  }
  await cluster.apply(gatewayClass());
  await cluster.apply([gatewayOf(), {
    apiVersion: V1,
    kind: "HTTPRoute",
    metadata: { name: "web" },
    spec: {
      parentRefs: [{ name: "web" }],
      rules: [{ backendRefs: [{ name: "web", port: 80 }] }],
    },
  }, {
    apiVersion: V1,
    kind: "ListenerSet",
    metadata: { name: "more" },
    spec: {
      parentRef: { name: "web" },
      listeners: [{ name: "more", port: 8080, protocol: "HTTP" }],
    },
  }, {
    apiVersion: V1,
    kind: "HTTPRoute",
    metadata: { name: "more" },
    spec: { parentRefs: [{ kind: "ListenerSet", name: "more" }] },
  }], { namespace });
  // Another controller's.
  const foreign = {
    ...{ type: "example.com/Seen", status: "True", reason: "Seen", message: "" },
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  await cluster.request(
    "PATCH",
    `${await cluster.pathOf(V1, "ListenerSet", "more", namespace)}/status`,
    { status: { conditions: [foreign] } },
    "application/merge-patch+json",
  );
  await using _controller = await way.start(...HOST_PORT_ARGS);
  const liveClass = () => cluster.get<Live>(V1, "GatewayClass", "pingress");
  await eventually(
    "an accepted class with its finalizer",
    async () => {
      const { status, metadata } = (await liveClass())!;
      return shown(status?.conditions, "Accepted") === "True/Accepted@1" &&
        shown(status?.conditions, "SupportedVersion") === "True/SupportedVersion@1" &&
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
  await parametersAreRead(scene);
  await eventually("a ListenerSet that is not allowed, for its route too", async () => {
    const [{ status }, route] = await Promise.all(
      ["ListenerSet", "HTTPRoute"].map(async (kind) =>
        (await cluster.get<Live>(V1, kind, "more", namespace))!
      ),
    );
    return shown(status?.conditions, "Accepted") === "False/NotAllowed@1" &&
      shown(status?.conditions, "Programmed") === "False/NotAllowed@1" &&
      shown(route.status?.parents?.[0].conditions, "Accepted") === "False/NoMatchingParent@1";
  }, PATIENCE);
  const { status: refused } = (await cluster.get<Live>(V1, "ListenerSet", "more", namespace))!;
  deepEqual(refused?.conditions?.[0], foreign);
  const { status: attached } = (await cluster.get<Live>(V1, "Gateway", "web", namespace))!;
  equal(attached?.attachedListenerSets, 0);
  const route = (await cluster.get<Live>(V1, "HTTPRoute", "web", namespace))!;
  equal(route.status?.parents?.[0].controllerName, GATEWAY_CONTROLLER);
  await cluster.delete(V1, "Gateway", "web", namespace);
  await eventually(
    "a class without finalizer, and a route without parents",
    async () => {
      const { status } = (await cluster.get<Live>(V1, "HTTPRoute", "web", namespace))!;
      return (await liveClass())?.metadata.finalizers === undefined &&
        status?.parents?.length === 0;
    },
    PATIENCE,
  );
  deepEqual(way.refused(), []);
  const read = way.gateway.recorded({ resource: "configmaps" })
    .filter(({ namespace: where }) => where === "" || where === namespace);
  deepEqual([...new Set(read.map(({ verb }) => verb))].sort(), ["get", "list", "watch"]);
  await unreadParametersAreNamed(scene, role as Role);
});
