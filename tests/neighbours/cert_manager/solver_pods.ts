/**
 * Pods of cert-manager's challenges, in a cluster without nodes. In: namespaces. Out: for each such pod a
 * process that does what its container would, and an EndpointSlice that leads its Service there, as long
 * as the pod exists.
 */
import { join } from "node:path";
import type { KubeObject } from "../../cluster/support/api_client.ts";
import type { TestCluster } from "../../cluster/support/cluster.ts";
import { GuardedProcess, ProcessGuard } from "../../cluster/support/guarded_process.ts";
import { podAddress } from "../../cluster/support/pod.ts";
import { freePort } from "../../support/ports.ts";

const SELECTOR = "acme.cert-manager.io/http01-solver=true";
const SLICES = ["discovery.k8s.io/v1", "EndpointSlice"] as const;

/** Between two looks at the pods, in ms. */
const PAUSE = 100;

interface SolverPod extends KubeObject {
  readonly spec: { readonly containers: readonly [{ readonly args: readonly string[] }] };
}

interface SolverService extends KubeObject {
  readonly spec: {
    readonly selector: Readonly<Record<string, string>>;
    readonly ports: readonly [{ readonly name: string }];
  };
}

export class SolverPods {
  /** Pods that have run so far, as `NAMESPACE/NAME`. */
  readonly seen: string[] = [];
  readonly #cluster: TestCluster;
  readonly #program: string;
  readonly #namespaces: readonly string[];
  readonly #folder: string;
  readonly #guard: ProcessGuard;
  readonly #running = new Map<string, GuardedProcess>();
  readonly #following: Promise<void>;
  #isOver = false;

  private constructor(
    cluster: TestCluster,
    program: string,
    namespaces: readonly string[],
    folder: string,
  ) {
    this.#cluster = cluster;
    this.#program = program;
    this.#namespaces = namespaces;
    this.#folder = folder;
    this.#guard = new ProcessGuard(folder);
    this.#following = this.#follow();
  }

  /** @param program The path of `ACME_SOLVER`. */
  static async start(
    cluster: TestCluster,
    program: string,
    namespaces: readonly string[],
  ): Promise<SolverPods> {
    const folder = await Deno.makeTempDir({ prefix: "solvers-" });
    return new SolverPods(cluster, program, namespaces, folder);
  }

  /** How many run now. */
  get count(): number {
    return this.#running.size;
  }

  /** Rejects where the API server has refused something meanwhile. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    try {
      await this.#following;
    } finally {
      await this.#guard.close();
    }
  }

  async #follow(): Promise<void> {
    while (!this.#isOver) {
      for (const namespace of this.#namespaces) await this.#step(namespace);
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }

  async #step(namespace: string): Promise<void> {
    const options = { namespace, labelSelector: SELECTOR };
    const pods = await this.#cluster.list<SolverPod>("v1", "Pod", options);
    const keys = new Set(pods.map(({ metadata: { name } }) => `${namespace}/${name}`));
    for (const [key, process] of this.#running) {
      if (!key.startsWith(`${namespace}/`) || keys.has(key)) continue;
      this.#running.delete(key);
      await this.#cluster.delete(...SLICES, key.slice(namespace.length + 1), namespace);
      await process.stop("SIGKILL");
    }
    const waiting = pods.filter(({ metadata: { name } }) =>
      !this.#running.has(`${namespace}/${name}`)
    );
    if (waiting.length === 0) return;
    const services = await this.#cluster.list<SolverService>("v1", "Service", options);
    for (const pod of waiting) {
      const labels = pod.metadata.labels ?? {};
      const service = services.find(({ spec: { selector } }) =>
        Object.entries(selector).every(([key, value]) => labels[key] === value)
      );
      // cert-manager makes it after the pod.
      if (service !== undefined) await this.#run(namespace, pod, service);
    }
  }

  async #run(namespace: string, pod: SolverPod, service: SolverService): Promise<void> {
    const { metadata: { name }, spec: { containers: [{ args }] } } = pod;
    const port = freePort();
    const process = new GuardedProcess(this.#guard, join(this.#folder, `${name}.log`));
    await process.start(this.#program, [
      ...args.filter((arg) => !arg.startsWith("--listen-port=")),
      `--listen-port=${port}`,
    ]);
    const key = `${namespace}/${name}`;
    this.#running.set(key, process);
    this.seen.push(key);
    await this.#cluster.apply({
      apiVersion: SLICES[0],
      kind: SLICES[1],
      metadata: { name, labels: { "kubernetes.io/service-name": service.metadata.name } },
      addressType: "IPv4",
      ports: [{ name: service.spec.ports[0].name, port, protocol: "TCP" }],
      endpoints: [{ addresses: [podAddress], conditions: { ready: true } }],
    } as Partial<KubeObject>, { namespace });
  }
}
