/**
 * An upgrade from snapshot format 1 and its rollback under load: the controller and the proxies of the
 * version before, from the history of this repository, beside those of today.
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { ProxyProcess } from "../support/proxy_process.ts";
import { ClientLoad } from "./support/client_load.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerProcess } from "./support/controller_process.ts";
import { ControllerScene, rule, type ShownProblem } from "./support/controller_scene.ts";
import { install } from "./support/installation.ts";
import { KubeletVolume } from "./support/kubelet_volume.ts";
import { hasPodAddress, Pod, type PodState } from "./support/pod.ts";
import { NAMESPACE } from "./support/predecessor.ts";
import { PreviousVersion } from "./support/previous_version.ts";
import type { Rules } from "./support/rbac.ts";
import { HOST_PORT_ARGS, RbacScene } from "./support/rbac_scene.ts";
import { shownProxies, streamPort } from "./support/stream_scene.ts";
import { NOTHING, type ProxyCredentials, proxyCredentials } from "./support/streamed_proxy.ts";

const TEST = "an upgrade and its rollback";

/** Null where the history is cut off, which is said. */
async function previousVersion(): Promise<PreviousVersion | null> {
  const found = await PreviousVersion.find();
  if (found.ok) return found.version;
  // No program is missing that CI could install, so this is none of the skips that fail there.
  console.log(`not run: ${TEST}: ${found.error}`);
  return null;
}

/** Two Services, and an Ingress for any host with a path to each. */
const SERVICES = [
  ...["still", "moving"].map((name) => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { ports: [{ name: "http", port: 80 }] },
  })),
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "all" },
    spec: {
      ingressClassName: "pingress",
      rules: [{
        http: {
          paths: ["still", "moving"].flatMap((name) => rule("", `/${name}`, name).http.paths),
        },
      }],
    },
  },
];

type Version = "before" | "today";

/** A Service whose pod stays, one whose pods are replaced, and programs of both versions. */
class Upgrade {
  readonly #pods: Pod[] = [];
  #port = 0;
  #credentials: ProxyCredentials | null = null;
  #controller: ControllerProcess | null = null;

  constructor(readonly scene: ControllerScene, readonly before: PreviousVersion) {}

  get controller(): ControllerProcess {
    return this.#controller!;
  }

  async prepare(): Promise<void> {
    await this.scene.cluster.apply(SERVICES, { namespace: this.scene.app });
  }

  async pod(service: string, name: string): Promise<Pod> {
    const pod = new Pod(name);
    this.#pods.push(pod);
    await this.#show(service, pod, "ready");
    return pod;
  }

  /** As a rollout of a Deployment does. */
  async replace(pod: Pod, name: string): Promise<Pod> {
    const next = await this.pod("moving", name);
    await this.#show("moving", pod, "terminating");
    return next;
  }

  /** With its EndpointSlice. */
  async end(pod: Pod): Promise<void> {
    const { cluster, app } = this.scene;
    await cluster.delete("discovery.k8s.io/v1", "EndpointSlice", `moving-${pod.name}`, app);
    await pod.end();
  }

  /** In place of the one that runs, which ends in order. */
  async startController(version: Version): Promise<void> {
    await this.stopController();
    const { kubeconfig, flags, cluster, system } = this.scene;
    const controller = await ControllerProcess.start({
      kubeconfig,
      root: this.#rootOf(version),
      args: [...flags, `--stream=127.0.0.1:${this.#port}`],
    });
    this.#controller = controller;
    this.#port = await streamPort(controller);
    this.#credentials ??= await proxyCredentials({ cluster, system });
  }

  async stopController(): Promise<void> {
    const code = await this.#controller?.stop();
    if (code !== undefined) equal(code, 0);
    this.#controller = null;
  }

  async startProxy(version: Version): Promise<SkewedProxy> {
    const { cluster, system } = this.scene;
    return await startProxy({
      cluster,
      system,
      port: this.#port,
      credentials: this.#credentials!,
      formats: version === "before" ? [1] : [1, 2],
      root: this.#rootOf(version),
    });
  }

  async version(configMap: string): Promise<string | null> {
    const found = await this.scene.cluster.get("v1", "ConfigMap", configMap, this.scene.system);
    return found?.metadata.resourceVersion ?? null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#controller?.[Symbol.asyncDispose]();
    await Promise.all(this.#pods.map((pod) => pod.end()));
  }

  async #show(service: string, pod: Pod, state: PodState): Promise<void> {
    await this.scene.cluster.apply(pod.slice(service, state), { namespace: this.scene.app });
  }

  #rootOf(version: Version): string | undefined {
    return version === "before" ? this.before.root : undefined;
  }
}

interface SkewedProxyOptions {
  readonly cluster: TestCluster;
  readonly system: string;
  /** Of the controller's stream. */
  readonly port: number;
  readonly credentials: ProxyCredentials;
  /** That its pod template mounts. */
  readonly formats: readonly number[];
  readonly root: string | undefined;
}

async function startProxy(options: SkewedProxyOptions): Promise<SkewedProxy> {
  const { cluster, system, port, formats, root, credentials: { ca, token } } = options;
  const volume = new KubeletVolume(cluster, system, "proxy.json", formats);
  const files = await volume.files();
  const process = await ProxyProcess.start({
    snapshot: NOTHING,
    config: "proxy.json",
    root,
    publish: (folder) => volume.mount(folder, files),
    args: [
      `--controller=https://127.0.0.1:${port}`,
      `--controller-ca=${ca}`,
      `--controller-token=${token}`,
      "--workers=1",
    ],
  });
  volume.start();
  return new SkewedProxy(process, volume);
}

/** A proxy with clients: of the Service that stays, and of the other. */
class SkewedProxy {
  readonly still: ClientLoad;
  readonly moving: ClientLoad;

  constructor(readonly process: ProxyProcess, readonly volume: KubeletVolume) {
    this.still = new ClientLoad(process.httpPort, 2, "/still");
    this.moving = new ClientLoad(process.httpPort, 2, "/moving");
  }

  /** Waits for that many more responses of the Service that stays. */
  async served(count = 20): Promise<void> {
    const from = this.still.answered;
    await eventually("responses", () => this.still.answered >= from + count);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.still.end(), this.moving.end()]);
    await this.volume[Symbol.asyncDispose]();
    await this.process[Symbol.asyncDispose]();
  }
}

clusterTest(
  "an upgrade and its rollback fail no request for unchanged endpoints",
  async (cluster) => {
    if (!hasPodAddress(TEST)) return;
    const before = await previousVersion();
    if (before === null) return;
    await using _before = before;
    await using scene = await ControllerScene.prepare(cluster, {
      args: ["--endpoint-interval=0s", "--stream-name=127.0.0.1"],
    });
    await using upgrade = new Upgrade(scene, before);
    await upgrade.prepare();
    await upgrade.pod("still", "still");
    let pods = [await upgrade.pod("moving", "pod-0"), await upgrade.pod("moving", "pod-1")];
    let count = pods.length;
    /** Replaces the older pod of two, which ends once proxies use the new one. */
    const replace = async (...proxies: SkewedProxy[]) => {
      const [old, kept] = pods;
      const next = await upgrade.replace(old, `pod-${count++}`);
      pods = [kept, next];
      for (const { moving } of proxies) {
        await eventually("responses of the new pod", () => moving.last === next.name);
      }
      await upgrade.end(old);
      for (const proxy of proxies) await proxy.served();
    };
    const expectNoFailure = (...loads: ClientLoad[]) =>
      deepEqual(loads.flatMap(({ failures }) => failures), []);

    // The controller of the version before serves a proxy of each version.
    await upgrade.startController("before");
    await eventually("format 1", () => upgrade.version("pingress-config"));
    equal(await upgrade.version("pingress-config-v2"), null);
    await using old = await upgrade.startProxy("before");
    await using young = await upgrade.startProxy("today");
    await replace(old, young);
    expectNoFailure(old.still, old.moving, young.still, young.moving);

    // The upgrade leaves format 1 as it is, and the proxy of the version before with it.
    const left = await upgrade.version("pingress-config");
    await upgrade.startController("today");
    await eventually("format 2", () => upgrade.version("pingress-config-v2"));
    await eventually("one of two proxies in sync", async () => {
      const { connected, inSync } = await shownProxies(upgrade.controller);
      return connected === 2 && inSync === 1;
    });
    // The controller of before may have written one about the other proxy.
    const refused = "reads snapshot format 1, and this controller sends format 2";
    await scene.eventuallyEvent("ConfigurationRejected", refused);
    // It retries with the pod that it still knows.
    await replace(young);
    await old.served();
    expectNoFailure(old.still, old.moving, young.still, young.moving);
    // No pod is left that it knows.
    await replace(young);
    const served = old.moving.answered;
    await eventually("failures", () => old.moving.failures.length > 20);
    equal(old.moving.answered, served);
    for (const failure of old.moving.failures) match(failure, /^502 /);
    expectNoFailure(old.still, young.still, young.moving);
    equal(await upgrade.version("pingress-config"), left);

    // The rollout replaces it.
    const started = performance.now();
    {
      await using next = await upgrade.startProxy("today");
      await eventually("responses", () => next.moving.answered > 0);
      const took = Math.round(performance.now() - started);
      console.log(
        `A proxy of the version before: ${old.moving.failures.length} of ` +
          `${old.moving.failures.length} requests failed after all pods that it knew had ended, ` +
          `0 of ${served} before; its successor served ${took} ms after its start`,
      );
    }

    // The rollback: without any controller, a proxy of the version before starts from format 1.
    await upgrade.stopController();
    await using again = await upgrade.startProxy("before");
    await again.served();
    await upgrade.startController("before");
    const second = await upgrade.version("pingress-config-v2");
    await replace(old, young, again);
    expectNoFailure(old.still, young.still, young.moving, again.still);
    equal(await upgrade.version("pingress-config-v2"), second);

    // The next upgrade continues with the later of both formats.
    await upgrade.startController("today");
    await eventually(
      "format 2",
      async () => await upgrade.version("pingress-config-v2") !== second,
    );
    await replace(young);
    expectNoFailure(old.still, young.still, young.moving, again.still);
  },
);

/** The roles in the manifests of the version before. */
async function rulesOf({ root }: PreviousVersion): Promise<Rules[]> {
  const text = await Deno.readTextFile(join(root, "manifests", "hostport.yaml"));
  const all = parseAllDocuments(text).map((document) => document.toJS());
  return all.filter(({ rules }) => rules !== undefined);
}

Deno.test(
  "under the manifests of the previous version all is served, and a problem names the permission",
  async () => {
    if (!hasPodAddress(TEST)) return;
    const before = await previousVersion();
    if (before === null) return;
    await using _before = before;
    const old = await rulesOf(before);
    const scene = await RbacScene.create("the permissions of the version before", {
      rights: "hostport.yaml",
      change: () => old,
    });
    if (scene === null) return;
    await using _scene = scene;
    const { cluster, namespace, way: { kubeconfig } } = scene;
    const args = [...HOST_PORT_ARGS, "--endpoint-interval=0s", "--stream-name=127.0.0.1"];
    const still = new Pod("still");
    const [first, second] = [new Pod("first"), new Pod("second")];
    const show = (service: string, pod: Pod) =>
      cluster.apply(pod.slice(service, "ready"), { namespace });
    try {
      await cluster.apply(SERVICES, { namespace });
      await show("still", still);
      await show("moving", first);
      const has = (name: string) => cluster.get("v1", "ConfigMap", name, NAMESPACE);
      {
        const { root } = before;
        await using controller = await ControllerProcess.start({ kubeconfig, args, root });
        await eventually("format 1", () => has("pingress-config"));
        equal(await controller.stop(), 0);
      }
      await using controller = await ControllerProcess.start({ kubeconfig, args });
      const problem = await eventually("the problem", async () => {
        const { problems } = JSON.parse((await controller.admin("/problems")).text);
        return problems.find(({ reason }: ShownProblem) => reason === "ConfigurationNotPublished");
      });
      match(
        problem.message,
        /ConfigMap pingress-system\/pingress-config-v2 .*cannot patch resource/,
      );
      match(problem.remedy, /^Apply the manifests of this version/);
      // A proxy of the version before would receive nothing from now on.
      await eventually("the rollout", async () => {
        const daemonSet = await scene.own("apps/v1", "DaemonSet");
        return JSON.stringify(daemonSet?.spec ?? null).includes("pingress-config-v2");
      });
      const system = NAMESPACE;
      await using proxy = await startProxy({
        cluster,
        system,
        port: await streamPort(controller),
        credentials: await proxyCredentials({ cluster, system }),
        formats: [1, 2],
        root: undefined,
      });
      await eventually("a response", () => proxy.moving.last === first.name);
      await show("moving", second);
      await eventually("a response of the new pod", () => proxy.moving.last === second.name);
      equal(await has("pingress-config-v2"), null);

      await install(cluster);
      await eventually("format 2", () => has("pingress-config-v2"), 60_000);
      await eventually("no problem", async () => {
        const { text } = await controller.admin("/problems");
        return !text.includes("ConfigurationNotPublished");
      });
      await proxy.served();
      deepEqual([proxy.still.failures, proxy.moving.failures], [[], []]);
    } finally {
      await Promise.all([still, first, second].map((pod) => pod.end()));
    }
  },
);
