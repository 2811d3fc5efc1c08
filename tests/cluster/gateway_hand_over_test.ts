/** Status of Gateways while the controller's leader is replaced, with real proxies. */
import { deepEqual, equal } from "node:assert/strict";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerProcess } from "./support/controller_process.ts";
import { ControllerScene } from "./support/controller_scene.ts";
import { FAST_ELECTION } from "./support/elections.ts";
import { installGatewayCrds } from "./support/gateway_crds.ts";
import { readyProxy, replicasKubeconfig } from "./support/gateway_proxies.ts";
import { type Condition, type LiveStatus, shown, V1 } from "./support/gateway_status_scene.ts";
import type { KubeObject } from "./support/api_client.ts";
import { streamPort, streamTrust } from "./support/stream_scene.ts";
import { startStreamedProxy } from "./support/streamed_proxy.ts";
import { freeRange } from "../support/gateway_listeners.ts";
import type { ProxyProcess } from "../support/proxy_process.ts";
import { gatewayClass, gatewayOf, httpListeners } from "./support/gateway_objects.ts";

/** Milliseconds: a lease runs out, proxies are behind for ten seconds, and the machine is busy. */
const PATIENCE = 90_000;

type Live = KubeObject & { readonly status?: LiveStatus };

/** Which replica a proxy is connected to. */
type Place = "leader" | "follower" | "second follower";

/** Two or three replicas, of which the first leads, and two proxies. */
class HandOverScene implements AsyncDisposable {
  readonly cluster: TestCluster;
  readonly #scene: ControllerScene;
  readonly #stack: AsyncDisposableStack;
  readonly replicas: readonly ControllerProcess[];
  readonly proxies: readonly ProxyProcess[];
  /** Everything that `Programmed` of the Gateway has said, oldest first, each once. */
  readonly said: string[] = [];
  #generation = 1;
  #isOver = false;
  readonly #watching: Promise<void>;

  private constructor(
    cluster: TestCluster,
    scene: ControllerScene,
    replicas: readonly ControllerProcess[],
    proxies: readonly ProxyProcess[],
    stack: AsyncDisposableStack,
  ) {
    this.cluster = cluster;
    this.#scene = scene;
    this.replicas = replicas;
    this.proxies = proxies;
    this.#stack = stack;
    this.#watching = this.#watch();
  }

  /** @param connected The replica of each proxy. */
  static async start(cluster: TestCluster, connected: readonly Place[]): Promise<HandOverScene> {
    await installGatewayCrds(cluster);
    await using stack = new AsyncDisposableStack();
    const range = freeRange(16);
    const scene = stack.use(
      await ControllerScene.prepare(cluster, {
        args: [
          ...FAST_ELECTION,
          ...["--backend=LoadBalancer", "--service-type=ClusterIP"],
          ...["--stream-name=127.0.0.1", `--listen-range=${range.from}-${range.to}`],
        ],
        kubeconfig: await replicasKubeconfig(cluster),
      }),
    );
    const first = stack.use(await scene.startController());
    await eventually("a leader", () => leads(first));
    const ca = await cluster.writeFile(await streamTrust(cluster, scene.system));
    const replicas = new Map<Place, ControllerProcess>([["leader", first]]);
    for (const place of ["follower", "second follower"] as const) {
      if (place === "second follower" && !connected.includes(place)) continue;
      const follower = stack.use(await scene.startController());
      await follower.line("Relaying acknowledgements to the leader");
      replicas.set(place, follower);
    }
    const proxies: ProxyProcess[] = [];
    for (const [i, replica] of connected.entries()) {
      const token = await cluster.writeFile(
        await readyProxy(scene, `proxy-${i}`, `10.0.0.${i + 1}`),
      );
      const proxy = await startStreamedProxy(scene, {
        controller: replicas.get(replica)!,
        credentials: { ca, token },
        args: [`--listen-range=${range.from}-${range.to}`],
      });
      proxies.push(stack.use(proxy));
    }
    await cluster.apply(gatewayClass());
    const all = [...replicas.values()];
    const result = new HandOverScene(cluster, scene, all, proxies, stack.move());
    await result.listeners(80);
    return result;
  }

  /** HTTP on these ports: a generation of the Gateway each time. */
  async listeners(...ports: readonly number[]): Promise<void> {
    const [{ metadata }] = await this.cluster.apply<Live>(gatewayOf(httpListeners(...ports)), {
      namespace: this.#scene.app,
    });
    this.#generation = Number(metadata.generation);
  }

  /** Waits until `Programmed` is this of the newest generation. */
  async shows(wanted: string): Promise<void> {
    const all = `${wanted}@${this.#generation}`;
    await eventually(all, () => this.said.at(-1) === all, PATIENCE);
  }

  /** How many sockets of the Gateway each proxy has open. */
  async openSockets(): Promise<readonly number[]> {
    return await Promise.all(this.proxies.map(async (proxy) => {
      const { sockets } = JSON.parse((await proxy.admin("/configuration")).text);
      return sockets.open.length as number;
    }));
  }

  /** Another replica, in the place of the one whose stream was there. */
  async replace(port: number): Promise<void> {
    const { kubeconfig, flags } = this.#scene;
    const args = [...flags, `--stream=127.0.0.1:${port}`];
    this.#stack.use(await ControllerProcess.start({ kubeconfig, args }));
  }

  async #conditions(): Promise<readonly Condition[]> {
    const gateway = await this.cluster.get<Live>(V1, "Gateway", "web", this.#scene.app);
    return gateway?.status?.conditions ?? [];
  }

  async #watch(): Promise<void> {
    while (!this.#isOver) {
      const now = shown(await this.#conditions(), "Programmed");
      if (now !== null && now !== this.said.at(-1)) this.said.push(now);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#watching;
    await this.#stack[Symbol.asyncDispose]();
  }
}

async function leads(controller: ControllerProcess): Promise<boolean> {
  return await controller.metric("pingress_controller_leader ") === 1;
}

const WAYS: Readonly<Record<string, (leader: ControllerProcess) => Promise<unknown>>> = {
  "is told to end": (leader) => leader.stop(),
  "is killed": (leader) => leader.kill(),
};

for (const [what, end] of Object.entries(WAYS)) {
  clusterTest(
    `when the leader ${what}, a Gateway that changes is programmed by the next one`,
    async (cluster) => {
      await using scene = await HandOverScene.start(cluster, ["follower", "follower"]);
      await scene.shows("True/Programmed");
      deepEqual(await scene.openSockets(), [1, 1]);
      const [leader, next] = scene.replicas;
      const ending = end(leader);
      const from = performance.now();
      await scene.listeners(80, 8080);
      await scene.shows("True/Programmed");
      const taken = performance.now() - from;
      deepEqual(await scene.openSockets(), [2, 2]);
      equal(await leads(next), true);
      await ending;
      // Before it was, it was what the generation before had come to.
      deepEqual(scene.said.filter((each) => each.startsWith("True")), [
        "True/Programmed@1",
        "True/Programmed@2",
      ]);
      console.log(`programmed ${Math.round(taken)} ms after the leader ${what}`);
    },
  );
}

clusterTest(
  "a Gateway is not programmed while a proxy whose replica has gone lacks a change",
  async (cluster) => {
    await using scene = await HandOverScene.start(cluster, ["leader", "follower"]);
    await scene.shows("True/Programmed");
    const [leader] = scene.replicas;
    const port = await streamPort(leader);
    await leader.kill();
    await scene.listeners(80, 8080);
    await scene.shows("False/Pending");
    deepEqual(await scene.openSockets(), [1, 2]);
    await scene.replace(port);
    await scene.shows("True/Programmed");
    deepEqual(await scene.openSockets(), [2, 2]);
    equal(scene.said.filter((each) => each === "True/Programmed@2").length, 1);
    equal(scene.said.indexOf("False/Pending@2") < scene.said.indexOf("True/Programmed@2"), true);
  },
);

clusterTest(
  "a Gateway stays programmed when another replica begins to lead, with proxies on both others",
  async (cluster) => {
    await using scene = await HandOverScene.start(cluster, ["follower", "second follower"]);
    await scene.shows("True/Programmed");
    const [leader, ...others] = scene.replicas;
    // Each follower has lacked the acknowledgement of one proxy for longer than a leader would wait.
    const from = performance.now();
    await eventually("10 seconds", () => performance.now() - from > 10_000, PATIENCE);
    await leader.stop();
    await eventually(
      "another leader",
      async () => (await Promise.all(others.map(leads))).includes(true),
      PATIENCE,
    );
    await scene.listeners(80, 8080);
    await scene.shows("True/Programmed");
    deepEqual(scene.said.slice(scene.said.indexOf("True/Programmed@1")), [
      "True/Programmed@1",
      "True/Programmed@2",
    ]);
  },
);
