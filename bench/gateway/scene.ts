/**
 * A Gateway under measurement. In: a cluster. Out: a controller and a proxy as processes, a backend, routes of the
 * Gateway, and what clients and the API server see of them.
 */
import type { KubeObject } from "../../tests/cluster/support/api_client.ts";
import type { TestCluster } from "../../tests/cluster/support/cluster.ts";
import { ControllerScene } from "../../tests/cluster/support/controller_scene.ts";
import { eventually } from "../../tests/cluster/support/condition.ts";
import { installGatewayCrds } from "../../tests/cluster/support/gateway_crds.ts";
import { readyProxy, replicasKubeconfig } from "../../tests/cluster/support/gateway_proxies.ts";
import { type LiveStatus, shown, V1 } from "../../tests/cluster/support/gateway_status_scene.ts";
import { startStreamedProxy } from "../../tests/cluster/support/streamed_proxy.ts";
import { streamTrust } from "../../tests/cluster/support/stream_scene.ts";
import { Backend, Peer, statusOf } from "../../tests/support/backend.ts";
import { freeRange } from "../../tests/support/gateway_listeners.ts";
import type { ProxyProcess } from "../../tests/support/proxy_process.ts";
import { type Counters, readCounters } from "../controller/counters.ts";
import { inParallel } from "../controller/population.ts";
import { cpuTime } from "../controller/process_usage.ts";
import {
  gatewayClass,
  gatewayOf,
  httpListeners,
} from "../../tests/cluster/support/gateway_objects.ts";

const NAME = "bench";

/** How long anything is waited for, in ms. */
const PATIENCE = 300_000;

export class GatewayBenchScene implements AsyncDisposable {
  readonly #scene: ControllerScene;
  readonly #proxy: ProxyProcess;
  readonly #backend: Backend;
  /** Behind the Gateway's port 80. */
  readonly port: number;

  private constructor(scene: ControllerScene, proxy: ProxyProcess, backend: Backend, port: number) {
    this.#scene = scene;
    this.#proxy = proxy;
    this.#backend = backend;
    this.port = port;
  }

  /** With a Gateway that is programmed, and no route. */
  static async start(
    cluster: TestCluster,
    controllerArg: readonly string[],
  ): Promise<GatewayBenchScene> {
    await installGatewayCrds(cluster);
    const range = freeRange(4);
    const scene = await ControllerScene.prepare(cluster, {
      args: [
        ...["--backend=LoadBalancer", "--service-type=ClusterIP"],
        ...["--stream-name=127.0.0.1", `--listen-range=${range.from}-${range.to}`],
        ...controllerArg,
      ],
      kubeconfig: await replicasKubeconfig(cluster),
    });
    const backend = new Backend(undefined, ownAddress());
    await scene.startController();
    await cluster.apply([
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: NAME },
        spec: { ports: [{ port: 80 }] },
      },
      {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { name: `${NAME}-1`, labels: { "kubernetes.io/service-name": NAME } },
        addressType: "IPv4",
        ports: [{ port: backend.port }],
        endpoints: [{ addresses: [ownAddress()] }],
      },
      gatewayOf(httpListeners(), { name: NAME, className: NAME }),
    ] as KubeObject[], { namespace: scene.app });
    await cluster.apply(gatewayClass(NAME));
    const proxy = await startStreamedProxy(scene, {
      credentials: {
        token: await cluster.writeFile(await readyProxy(scene, "proxy-a", "10.0.0.1")),
        ca: await cluster.writeFile(await streamTrust(cluster, scene.system)),
      },
      args: ["--workers=1", `--listen-range=${range.from}-${range.to}`],
    });
    const port = await eventually("a socket of the Gateway", async () => {
      const { sockets } = JSON.parse((await proxy.admin("/configuration")).text);
      return Number(sockets.open[0] ?? 0) || null;
    });
    const result = new GatewayBenchScene(scene, proxy, backend, port);
    await eventually(
      "Programmed",
      async () => shown((await result.#status()).conditions, "Programmed")?.startsWith("True"),
    );
    return result;
  }

  /** An HTTPRoute with a host of its own; settles with the API server's response. */
  async addRoute(name: string): Promise<void> {
    await this.#scene.cluster.create({
      apiVersion: V1,
      kind: "HTTPRoute",
      metadata: { name },
      spec: {
        parentRefs: [{ name: NAME }],
        hostnames: [hostOf(name)],
        rules: [{ backendRefs: [{ name: NAME, port: 80 }] }],
      },
    } as KubeObject, this.#scene.app);
  }

  async addRoutes(names: readonly string[]): Promise<void> {
    await inParallel(names, (name) => this.addRoute(name));
  }

  /** Waits until the status of the Gateway has counted so many routes. */
  async attached(count: number): Promise<void> {
    await eventually(
      `${count} attached routes`,
      async () => (await this.#status()).listeners?.[0].attachedRoutes === count,
      PATIENCE,
    );
  }

  async counters(): Promise<Counters> {
    return await readCounters(this.#scene.controller);
  }

  /** CPU time of the controller so far, in ms. */
  get controllerCpu(): number {
    return cpuTime(this.#scene.controller.pid);
  }

  /** Asks for a route's host until the status is another than 404. */
  async firstStatus(client: Peer, name: string): Promise<number> {
    const end = performance.now() + PATIENCE;
    for (;;) {
      const status = await statusFor(client, name);
      if (status !== 404) return status;
      if (performance.now() > end) throw new Error(`${name} has 404 after ${PATIENCE} ms`);
      // The controller is to have a core, too.
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy[Symbol.asyncDispose]();
    await this.#scene[Symbol.asyncDispose]();
    await this.#backend[Symbol.asyncDispose]();
  }

  async #status(): Promise<LiveStatus> {
    const { cluster, app } = this.#scene;
    const gateway = await cluster.get<KubeObject & { readonly status?: LiveStatus }>(
      ...[V1, "Gateway", NAME, app] as const,
    );
    return gateway?.status ?? {};
  }
}

export async function statusFor(client: Peer, name: string): Promise<number> {
  return statusOf(await client.ask(`GET / HTTP/1.1\r\nHost: ${hostOf(name)}\r\n\r\n`));
}

function hostOf(name: string): string {
  return `${name}.example.com`;
}

/** Of this machine: controllers refuse endpoints on loopback. */
function ownAddress(): string {
  const own = Deno.networkInterfaces().find(({ family, address }) =>
    family === "IPv4" && !address.startsWith("127.")
  );
  if (own === undefined) throw new Error("This machine has no IPv4 address besides loopback");
  return own.address;
}
