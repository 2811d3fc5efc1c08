/**
 * ingress-nginx's ConfigMap in a real API server. In: a controller with exactly the rights of
 * `manifests/`, and of `overlays/configmap` once it is applied. Out: what is published as the object
 * and the right to watch it come and go.
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { readPublishedSet } from "../../controller/outputs/publish/published.ts";
import type { LiveConfigMap, LiveSecret } from "../../controller/outputs/publish/objects.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import type { KubeObject } from "./support/api_client.ts";
import type { TestCluster } from "./support/cluster.ts";
import { eventually } from "./support/condition.ts";
import type { ControllerProcess } from "./support/controller_process.ts";
import { manifest } from "./support/kubectl.ts";
import { NAMESPACE } from "./support/predecessor.ts";
import { HOST_PORT_ARGS, RbacScene } from "./support/rbac_scene.ts";

const CONFIG_MAP = { namespace: "ingress-nginx", name: "ingress-nginx-controller" };
const ARGS = [
  ...HOST_PORT_ARGS,
  "--nginx-class=pingress",
  `--configmap=${CONFIG_MAP.namespace}/${CONFIG_MAP.name}`,
];

/** For a list that was denied: it is tried again ever more rarely. */
const PATIENCE = 120_000;

async function published(cluster: TestCluster): Promise<Snapshot | null> {
  const [configMaps, secrets] = await Promise.all([
    cluster.list<KubeObject & LiveConfigMap>("v1", "ConfigMap", { namespace: NAMESPACE }),
    cluster.list<KubeObject & LiveSecret>("v1", "Secret", { namespace: NAMESPACE }),
  ]);
  const { snapshot, digest } = readPublishedSet(configMaps, secrets);
  return digest === null ? null : snapshot;
}

/** Whether all paths are closed; null where there is none. */
function isClosed({ routes }: Snapshot): boolean | null {
  if (routes.length === 0) return null;
  return routes.every(({ action }) => action.kind === "reply" && action.closed === true);
}

async function eventuallyPublished(
  cluster: TestCluster,
  what: string,
  holds: (snapshot: Snapshot) => boolean,
): Promise<Snapshot> {
  return await eventually(what, async () => {
    const snapshot = await published(cluster);
    return snapshot !== null && holds(snapshot) ? snapshot : null;
  }, PATIENCE);
}

/** Reasons of what is wrong with the ConfigMap, sorted. */
async function reasons(controller: ControllerProcess): Promise<string[]> {
  const { text } = await controller.admin("/problems");
  const { problems } = JSON.parse(text) as { problems: { object: string; reason: string }[] };
  return problems.filter(({ object }) => object?.startsWith("ConfigMap ingress-nginx/"))
    .map(({ reason }) => reason).sort();
}

async function eventuallyReasons(controller: ControllerProcess, expected: string[]) {
  await eventually(
    `problems ${expected}`,
    async () => String(await reasons(controller)) === String(expected),
    PATIENCE,
  );
}

async function write(cluster: TestCluster, data: Readonly<Record<string, string>>): Promise<void> {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: CONFIG_MAP, data };
  await cluster.apply(object as Partial<KubeObject>);
}

Deno.test("ingress-nginx's ConfigMap is followed with the Role of overlays/configmap alone", async (t) => {
  const scene = await RbacScene.create("ConfigMap of ingress-nginx");
  if (scene === null) return;
  await using _ = scene;
  const { cluster, way } = scene;
  await cluster.apply({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: CONFIG_MAP.namespace },
  });
  {
    await using controller = await way.start(...ARGS);
    await t.step("without the right, all paths are closed", async () => {
      await eventuallyPublished(cluster, "closed paths", (now) => isClosed(now) === true);
      deepEqual(await reasons(controller), ["ConfigMapNotFound"]);
      deepEqual([...new Set(way.refused())], [`list configmaps ${CONFIG_MAP.namespace}/`]);
    });
    await t.step("without the object, too", async () => {
      const role = await manifest<KubeObject>("../overlays/configmap/role.yaml");
      await cluster.apply(role, { fieldManager: "installation" });
      await eventually(
        "watch",
        () =>
          way.gateway.recorded({ verb: ["watch"], resource: "configmaps" })
            .some(({ namespace, isOpen }) => namespace === CONFIG_MAP.namespace && isOpen),
        PATIENCE,
      );
      deepEqual(await reasons(controller), ["ConfigMapNotFound"]);
      equal(isClosed((await published(cluster))!), true);
    });
    const before = way.gateway.requests.length;
    await t.step("the object opens the paths, with its settings", async () => {
      await write(cluster, { "block-cidrs": "192.0.2.0/24" });
      const { blockedClients } = await eventuallyPublished(
        cluster,
        "open paths",
        (now) => isClosed(now) === false,
      );
      deepEqual(blockedClients, { networks: ["192.0.2.0/24"] });
      await eventuallyReasons(controller, []);
    });
    await t.step(
      "a key that protects and has no effect closes them, and an Event says so",
      async () => {
        await write(cluster, { "enable-modsecurity": "true" });
        await eventuallyPublished(cluster, "closed paths", (now) => isClosed(now) === true);
        await eventuallyReasons(controller, ["NginxConfigMap"]);
        const { message } = await eventually("Event", async () => {
          const events = await cluster.list<
            KubeObject & { reason: string; message: string; involvedObject: { name: string } }
          >("v1", "Event", { namespace: CONFIG_MAP.namespace });
          return events.find(({ reason, involvedObject }) =>
            reason === "NginxConfigMap" && involvedObject.name === CONFIG_MAP.name
          );
        }, PATIENCE);
        match(message, /^data\["enable-modsecurity"\]: key "enable-modsecurity" is not supported/);
      },
    );
    await t.step("a later change is applied", async () => {
      await write(cluster, { "block-cidrs": "192.0.2.0/24", "block-user-agents": "bot" });
      await eventuallyPublished(
        cluster,
        "new list",
        (now) => isClosed(now) === false && now.blockedClients?.userAgents !== undefined,
      );
    });
    await t.step("deleted, it leaves its settings", async () => {
      await cluster.delete("v1", "ConfigMap", CONFIG_MAP.name, CONFIG_MAP.namespace);
      await eventuallyReasons(controller, ["ConfigMapNotFound"]);
      const now = (await published(cluster))!;
      equal(isClosed(now), false);
      equal(now.blockedClients?.userAgents?.length, 1);
    });
    deepEqual([...new Set(way.refused(before))], []);
    equal(await controller.stop(), 0);
  }
  await t.step("a controller that starts without it has them, too", async () => {
    await using controller = await way.start(...ARGS);
    await eventuallyReasons(controller, ["ConfigMapNotFound"]);
    const now = (await published(cluster))!;
    equal(isClosed(now), false);
    equal(now.blockedClients?.userAgents?.length, 1);
    equal(await controller.stop(), 0);
  });
});
