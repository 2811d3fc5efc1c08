import assert from "node:assert/strict";
import type { KubeObject } from "./support/api_client.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene } from "./support/controller_scene.ts";

const OURS = "203.0.113.1";
const OF_NGINX = "198.51.100.7";

function ingressClass(name: string, annotations: Readonly<Record<string, string>>) {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: { name, annotations },
    spec: { controller: "k8s.io/ingress-nginx" },
  } as unknown as Partial<KubeObject>;
}

async function addresses(scene: ControllerScene, name: string): Promise<(string | undefined)[]> {
  const ingress = await scene.cluster.get("networking.k8s.io/v1", "Ingress", name, scene.app) as
    | { status?: { loadBalancer?: { ingress?: { ip?: string }[] } } }
    | null;
  return (ingress?.status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip);
}

async function shows(scene: ControllerScene, name: string, ip: string): Promise<void> {
  await eventually(`${name} with ${ip}`, async () => (await addresses(scene, name)).join() === ip);
}

async function writeAsNginx(cluster: TestCluster, namespace: string, name: string) {
  const path = await cluster.pathOf("networking.k8s.io/v1", "Ingress", name, namespace);
  const { status } = await cluster.request(
    "PATCH",
    `${path}/status?fieldManager=nginx-ingress-controller`,
    { status: { loadBalancer: { ingress: [{ ip: OF_NGINX }] } } },
    "application/merge-patch+json",
  );
  assert.equal(status, 200);
}

clusterTest(
  "a class of ingress-nginx is taken over with status off, and gets our addresses once it is on",
  async (cluster) => {
    const name = `nginx-${crypto.randomUUID().slice(0, 8)}`;
    await cluster.apply(ingressClass(name, { "pingress.io/status": "off" }));
    await using scene = await ControllerScene.start(cluster, {
      args: ["--controller-name=k8s.io/ingress-nginx", `--publish-address=${OURS}`],
    });
    await scene.service("web");
    await scene.ingress("taken", { ingressClassName: name });
    await writeAsNginx(cluster, scene.app, "taken");
    await scene.ingress("moved", { ingressClassName: name });
    await writeAsNginx(cluster, scene.app, "moved");
    // Written after both of them were translated.
    await scene.ingress("own");
    await scene.eventuallyPublished("three routes", ({ routes }) => routes.length === 3);
    await shows(scene, "own", OURS);
    assert.deepEqual(await addresses(scene, "taken"), [OF_NGINX]);
    assert.deepEqual(await addresses(scene, "moved"), [OF_NGINX]);

    // Its class has status on, and the other one stays as it is.
    await scene.ingress("moved", { ingressClassName: "pingress" });
    await shows(scene, "moved", OURS);
    assert.deepEqual(await addresses(scene, "taken"), [OF_NGINX]);

    // An invalid value is no off.
    await cluster.apply(ingressClass(name, { "pingress.io/status": "Off" }));
    await scene.eventuallyProblem("StatusSettingUnknown");
    await shows(scene, "taken", OURS);

    // What we have written is left, also when another overwrites it.
    await cluster.apply(ingressClass(name, { "pingress.io/status": "off" }));
    await eventually(
      "no problem",
      async () => (await scene.problems()).every(({ reason }) => reason !== "StatusSettingUnknown"),
    );
    await scene.ingress("later");
    await shows(scene, "later", OURS);
    assert.deepEqual(await addresses(scene, "taken"), [OURS]);
    await writeAsNginx(cluster, scene.app, "taken");
    await cluster.apply(ingressClass(name, {}));
    await shows(scene, "taken", OURS);
  },
);
