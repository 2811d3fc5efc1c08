/**
 * A controller on a real API server. In: a cluster and flags. Out: a namespace for its own objects
 * and one for users', a process that serves the second alone, and what it has published.
 */
import { readPublishedSet } from "../../../controller/outputs/publish/published.ts";
import type { LiveConfigMap, LiveSecret } from "../../../controller/outputs/publish/objects.ts";
import { STREAM } from "../../../controller/outputs/workload/names.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import type { KubeObject } from "./api_client.ts";
import { type ApiGateway, startGateway } from "./api_gateway.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually, PATIENCE } from "./condition.ts";
import { ControllerProcess } from "./controller_process.ts";

export interface SceneOptions {
  /** Besides namespaces and `--backend=HostPort`. */
  readonly args?: readonly string[];
  /** Whether the test looks at, or breaks, the way to the API server. */
  readonly gateway?: boolean;
  /** Whether the proxies' service account is there, as after manifests/; by default it is. */
  readonly account?: boolean;
  /** A kubeconfig in place of the administrator's. */
  readonly kubeconfig?: string;
  /** Whether all namespaces are served, in place of the users' one. */
  readonly watchesAll?: boolean;
  /** Of the controller's process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** As `/problems` shows them. */
export interface ShownProblem {
  readonly object: string | null;
  readonly field: string;
  readonly reason: string;
  readonly message: string;
  readonly severity: string;
}

export class ControllerScene {
  #controller: ControllerProcess | null = null;

  private constructor(
    readonly cluster: TestCluster,
    /** Where the controller writes. */
    readonly system: string,
    /** Whose Ingresses it serves. */
    readonly app: string,
    readonly gateway: ApiGateway | null,
    readonly kubeconfig: string,
    readonly args: readonly string[],
    readonly env: Readonly<Record<string, string>>,
    readonly watchesAll: boolean,
  ) {}

  /** Two namespaces, and no controller yet. */
  static async prepare(cluster: TestCluster, options: SceneOptions = {}): Promise<ControllerScene> {
    const [system, app] = [await cluster.newNamespace("system"), await cluster.newNamespace("app")];
    const gateway = options.gateway ? await startGateway(cluster) : null;
    const kubeconfig = options.kubeconfig ??
      (gateway === null ? cluster.kubeconfig : await gateway.kubeconfigFor(cluster.adminToken));
    const { args = [], env = {}, account = true, watchesAll = false } = options;
    if (account) {
      await cluster.apply({
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: STREAM.serviceAccount, namespace: system },
      });
    }
    return new ControllerScene(cluster, system, app, gateway, kubeconfig, args, env, watchesAll);
  }

  /** The same with a controller that is ready. */
  static async start(cluster: TestCluster, options: SceneOptions = {}): Promise<ControllerScene> {
    const scene = await ControllerScene.prepare(cluster, options);
    await scene.startController();
    return scene;
  }

  get controller(): ControllerProcess {
    if (this.#controller === null) throw new Error("No controller was started");
    return this.#controller;
  }

  /** All flags of a controller of this scene. */
  get flags(): string[] {
    return [
      ...(this.args.some((arg) => arg.startsWith("--backend")) ? [] : ["--backend=HostPort"]),
      `--namespace=${this.system}`,
      ...(this.watchesAll ? [] : [`--watch-namespace=${this.app}`]),
      ...this.args,
    ];
  }

  /** Starts one, or the next after the last was stopped. */
  async startController(): Promise<ControllerProcess> {
    const { kubeconfig, flags: args, env } = this;
    return this.#controller = await ControllerProcess.start({ kubeconfig, args, env });
  }

  /** One that nothing waits for. */
  async spawnController(): Promise<ControllerProcess> {
    const { kubeconfig, flags: args, env } = this;
    return this.#controller = await ControllerProcess.spawn({ kubeconfig, args, env });
  }

  /** A Service with endpoints, as its pods would have. */
  async service(name: string, addresses: readonly string[] = ["10.0.0.1"]): Promise<void> {
    await this.cluster.apply([
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name },
        spec: { ports: [{ name: "http", port: 80 }] },
      },
      slice(name, addresses),
    ], { namespace: this.app });
  }

  async endpoints(name: string, addresses: readonly string[]): Promise<void> {
    await this.cluster.apply(slice(name, addresses), { namespace: this.app });
  }

  /** An Ingress of one host and path; `spec` replaces parts of it. */
  async ingress(name: string, spec: Record<string, unknown> = {}, metadata = {}): Promise<void> {
    await this.cluster.apply({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name, ...metadata },
      spec: {
        ingressClassName: "pingress",
        rules: [rule(`${name}.example.com`, "/", "web")],
        ...spec,
      },
    } as Partial<KubeObject>, { namespace: this.app });
  }

  async tlsSecret(name: string, data: Record<string, string>, type = "kubernetes.io/tls") {
    await this.cluster.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name },
      type,
      stringData: data,
    } as Partial<KubeObject>, { namespace: this.app });
  }

  async remove(kind: string, name: string, apiVersion = "networking.k8s.io/v1"): Promise<void> {
    await this.cluster.delete(apiVersion, kind, name, this.app);
  }

  /** What stands in the API server; null where there is nothing, or nothing whole. */
  async published(): Promise<Snapshot | null> {
    const { cluster, system: namespace } = this;
    const [configMaps, secrets] = await Promise.all([
      cluster.list<KubeObject & LiveConfigMap>("v1", "ConfigMap", { namespace }),
      cluster.list<KubeObject & LiveSecret>("v1", "Secret", { namespace }),
    ]);
    const { snapshot, digest } = readPublishedSet(configMaps, secrets);
    return digest === null ? null : snapshot;
  }

  /** What stands there, read between two publications. */
  async whole(): Promise<Snapshot> {
    return await this.eventuallyPublished("whole set", () => true);
  }

  /** Waits until what is published is as `holds` asks. */
  async eventuallyPublished(
    what: string,
    holds: (snapshot: Snapshot) => boolean,
    patience = PATIENCE,
  ): Promise<Snapshot> {
    let last: Snapshot | null = null;
    try {
      return await eventually(what, async () => {
        last = await this.published();
        return last !== null && holds(last) ? last : null;
      }, patience);
    } catch (error) {
      const { routes, upstreams } = last ?? { routes: [], upstreams: [] };
      const log = this.controller.lines.slice(-15).map((line) => JSON.stringify(line)).join("\n");
      const shown = JSON.stringify({ routes, upstreams }).slice(0, 2000);
      throw new Error(`${(error as Error).message}: ${shown}\n${log}`, { cause: error });
    }
  }

  /** Waits until a route is published that begins with `id`. */
  async eventuallyRouted(id: string): Promise<Snapshot> {
    return await this.eventuallyPublished(
      `route ${id}`,
      ({ routes }) => routes.some((route) => route.id.startsWith(id)),
    );
  }

  async problems(): Promise<readonly ShownProblem[]> {
    const { status, text } = await this.controller.admin("/problems");
    if (status !== 200) throw new Error(`/problems: ${status} ${text}`);
    return JSON.parse(text).problems;
  }

  /** Waits until `/problems` shows one of this reason. */
  async eventuallyProblem(reason: string, object?: string): Promise<ShownProblem> {
    return await eventually(
      `problem ${reason}`,
      async () =>
        (await this.problems()).find((problem) =>
          problem.reason === reason && (object === undefined || problem.object === object)
        ),
    );
  }

  /** Waits until the proxies have an Event of this reason that says so. Out: its message. */
  async eventuallyEvent(reason: string, part = ""): Promise<string> {
    const { message } = await eventually(`Event ${reason}`, async () => {
      const events = await this.cluster.list<KubeObject & { reason: string; message: string }>(
        "v1",
        "Event",
        { namespace: this.system },
      );
      return events.find((event) => event.reason === reason && event.message.includes(part));
    });
    return message;
  }

  /** The resourceVersion of `pingress-config-v2`; "" where there is none. */
  async indexVersion(): Promise<string> {
    const index = await this.cluster.get("v1", "ConfigMap", "pingress-config-v2", this.system);
    return index?.metadata.resourceVersion ?? "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#controller?.[Symbol.asyncDispose]();
    await this.gateway?.close();
  }
}

export function rule(host: string, path: string, service: string, port: unknown = { number: 80 }) {
  return {
    host,
    http: { paths: [{ path, pathType: "Prefix", backend: { service: { name: service, port } } }] },
  };
}

function slice(service: string, addresses: readonly string[]): Partial<KubeObject> {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: `${service}-a`, labels: { "kubernetes.io/service-name": service } },
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
  } as Partial<KubeObject>;
}
