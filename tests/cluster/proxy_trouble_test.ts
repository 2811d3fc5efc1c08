/**
 * What keeps proxies from running, told where an operator looks: as an Event of the DaemonSet, in
 * `/problems`, and by what is not in the status of Ingresses.
 */
import assert from "node:assert/strict";
import { PROXY_NAME, STREAM } from "../../controller/outputs/workload/names.ts";
import type { KubeObject } from "./support/api_client.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerScene } from "./support/controller_scene.ts";
import { heldUntil } from "./support/gateway_answers.ts";
import type { Live } from "./support/workload_scene.ts";
import type { LiveIngress } from "./support/writing_scene.ts";

interface LiveEvent extends KubeObject {
  readonly reason: string;
  readonly message: string;
  readonly involvedObject: { readonly kind: string; readonly name: string };
}

async function patchStatus(
  { cluster, system }: ControllerScene,
  apiVersion: string,
  kind: string,
  name: string,
  status: unknown,
): Promise<void> {
  const path = await cluster.pathOf(apiVersion, kind, name, system);
  const type = "application/merge-patch+json";
  const answer = await cluster.request("PATCH", `${path}/status`, { status }, type);
  assert.equal(answer.status, 200, answer.text);
}

/** A pod of the DaemonSet's, as scheduler and kubelet have it. */
async function proxy(
  scene: ControllerScene,
  name: string,
  status: unknown,
  nodeName?: string,
): Promise<void> {
  const { cluster, system } = scene;
  await cluster.create({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { "app.kubernetes.io/name": PROXY_NAME } },
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      containers: [{ name: PROXY_NAME, image: "proxy:1" }],
    },
  }, system);
  await patchStatus(scene, "v1", "Pod", name, status);
}

/** One of two proxies is ready, and the other one's pod says `status`. */
async function troubled(scene: ControllerScene, status: unknown): Promise<void> {
  await scene.service("web");
  await scene.ingress("shop");
  const daemonSet = await eventually("DaemonSet", () => workload(scene));
  await proxy(scene, "good", {
    phase: "Running",
    conditions: [{ type: "Ready", status: "True" }],
    hostIP: "192.0.2.1",
    hostIPs: [{ ip: "192.0.2.1" }],
  }, "good");
  await proxy(scene, "bad", status);
  await patchStatus(scene, "apps/v1", "DaemonSet", PROXY_NAME, {
    observedGeneration: daemonSet.metadata.generation,
    currentNumberScheduled: 2,
    desiredNumberScheduled: 2,
    numberMisscheduled: 0,
    numberReady: 1,
    numberAvailable: 1,
    updatedNumberScheduled: 2,
  });
}

async function workload({ cluster, system }: ControllerScene): Promise<Live | null> {
  return await cluster.get<Live>("apps/v1", "DaemonSet", PROXY_NAME, system);
}

/** What `kubectl describe daemonset` shows. */
async function eventOf({ cluster, system }: ControllerScene, reason: string): Promise<LiveEvent> {
  return await eventually(`Event ${reason}`, async () => {
    const events = await cluster.list<LiveEvent>("v1", "Event", { namespace: system });
    return events.find((event) =>
      event.reason === reason && event.involvedObject.kind === "DaemonSet" &&
      event.involvedObject.name === PROXY_NAME
    );
  });
}

const waiting = (reason: string, message: string) => ({
  phase: "Pending",
  containerStatuses: [{
    name: PROXY_NAME,
    image: "proxy:1",
    imageID: "",
    ready: false,
    restartCount: 0,
    state: { waiting: { reason, message } },
  }],
});

const TROUBLES: Readonly<Record<string, readonly [status: unknown, reason: string, RegExp]>> = {
  "an image that cannot be pulled": [
    waiting("ImagePullBackOff", 'Back-off pulling image "proxy:1"'),
    "ImagePullFailed",
    /pod bad: Back-off pulling image "proxy:1".*--proxy-server-image/,
  ],
  "an image that does not start": [
    waiting("CreateContainerError", 'exec: "/proxy": no such file or directory'),
    "ProxyNotCreated",
    /pod bad: exec: "\/proxy": no such file or directory.*--proxy-server-image/,
  ],
  "a node whose ports another pod has": [
    {
      phase: "Pending",
      conditions: [{
        type: "PodScheduled",
        status: "False",
        reason: "Unschedulable",
        message:
          "0/2 nodes are available: 1 node(s) didn't have free ports for the requested pod " +
          "ports, 1 node(s) didn't satisfy plugin(s) [NodeAffinity].",
      }],
    },
    "HostPortConflict",
    /pod bad: another pod has port 80 or 443 of the node: .*--node-selector/,
  ],
};

for (const [name, [status, reason, text]] of Object.entries(TROUBLES)) {
  clusterTest(
    `${name} is reported, and the address of that node is removed`,
    async (cluster) => {
      await using scene = await ControllerScene.start(cluster);
      await troubled(scene, status);
      const event = await eventOf(scene, reason);
      assert.match(event.message, /^status: 1 of 2 proxies are ready; /);
      assert.match(event.message, text);
      await scene.eventuallyProblem(reason, `DaemonSet ${scene.system}/${PROXY_NAME}`);
      const ingress = await eventually("address", async () => {
        const { app } = scene;
        const kind = "Ingress";
        const live = await cluster.get<LiveIngress>("networking.k8s.io/v1", kind, "shop", app);
        return live?.status?.loadBalancer?.ingress === undefined ? null : live;
      });
      assert.deepEqual(ingress.status?.loadBalancer?.ingress, [{ ip: "192.0.2.1" }]);
    },
  );
}

function accountOf(live: Live | null): unknown {
  return (live?.spec.template.spec as { serviceAccountName?: string }).serviceAccountName;
}

clusterTest(
  "a problem of the DaemonSet found before its watch event still becomes an Event",
  async (cluster) => {
    await using scene = await ControllerScene.prepare(cluster, { account: false, gateway: true });
    const shown = Promise.withResolvers<void>();
    scene.gateway!.inject({ verb: "watch", resource: "daemonsets" }, heldUntil(shown.promise));
    try {
      await scene.startController();
      await scene.service("web");
      await scene.ingress("shop");
      await eventually("DaemonSet", () => workload(scene));
      await scene.eventuallyProblem("ProxyAccountMissing");
    } finally {
      shown.resolve();
    }
    await eventOf(scene, "ProxyAccountMissing");
    assert.equal(await scene.controller.stop(), 0);
  },
);

clusterTest(
  "an installation without the proxies' account has proxies that use files only, and reports it",
  async (cluster) => {
    await using scene = await ControllerScene.start(cluster, { account: false });
    await scene.service("web");
    await scene.ingress("shop");
    const before = await eventually("DaemonSet", () => workload(scene));
    assert.equal(accountOf(before), undefined);
    assert.equal(JSON.stringify(before).includes("--controller"), false);
    const event = await eventOf(scene, "ProxyAccountMissing");
    assert.match(event.message, /there is no ServiceAccount pingress-proxy-server/);
    assert.match(event.message, /Apply the manifests of this version/);
    // Somebody applies the manifests.
    const account = {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: STREAM.serviceAccount, namespace: scene.system },
    };
    await cluster.apply(account);
    const after = await eventually("account", async () => {
      const live = await workload(scene);
      return accountOf(live) === STREAM.serviceAccount ? live : null;
    });
    assert.equal(after.metadata.uid, before.metadata.uid);
    await eventually("end of the problem", async () => (await scene.problems()).length === 0);
    await scene.controller.stop();

    // Without it no new pod could be made. Those that run are left alone.
    await cluster.delete("v1", "ServiceAccount", STREAM.serviceAccount, scene.system);
    await scene.startController();
    const problem = await scene.eventuallyProblem("ProxyAccountMissing");
    assert.equal(problem.severity, "error");
    assert.match(problem.message, /no new proxy can be created; running ones continue/);
    assert.equal((await workload(scene))?.metadata.generation, after.metadata.generation);
    assert.equal(await scene.controller.stop(), 0);
  },
);

clusterTest(
  "with --proxy-updates=files proxies have no controller, and need no account",
  async (cluster) => {
    await using scene = await ControllerScene.start(cluster, {
      args: ["--proxy-updates=files"],
      account: false,
    });
    await scene.service("web");
    await scene.ingress("shop");
    const live = await eventually("DaemonSet", () => workload(scene));
    assert.equal(accountOf(live), undefined);
    assert.equal(JSON.stringify(live.spec).includes("stream"), false);
    assert.deepEqual(await scene.problems(), []);
  },
);
