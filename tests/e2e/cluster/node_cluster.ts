/**
 * A real Kubernetes for end-to-end tests: pods run, Services route, host ports answer. In: root on a
 * Linux machine with Debian's containerd. Out: a cluster of one or two nodes, ready in about ten
 * seconds, and what tests do to it. It ends with the test, and leaves nothing on the machine.
 *
 *     const cluster = await startNodeCluster("a rollout drops nothing", { nodes: 2 });
 *     if (cluster === null) return;
 *     await using _ = cluster;
 */
import { basename, dirname, join } from "node:path";
import { parse } from "yaml";
import { ApiClient, type KubeObject } from "../../cluster/support/api_client.ts";
import { eventually, waitFor } from "../../cluster/support/condition.ts";
import { kubectl, type KubectlTarget } from "../../cluster/support/kubectl.ts";
import { clusterFolder, NodeGuard, runScript } from "./node_guard.ts";

/** How long pods, and servers that were stopped, may take until they are ready, in ms. */
const PATIENCE = 120_000;

/** How long a server may take to end by itself, in ms, before it is killed. */
const GRACE = 15_000;

export interface NodeClusterOptions {
  /** Nodes named node1 and node2, in the zones zone1 and zone2. Default: 1. */
  readonly nodes?: 1 | 2;
}

/** The servers of a cluster that tests may stop; those of a node end in its number. */
export type Part =
  | "etcd"
  | "apiserver"
  | "controller-manager"
  | "scheduler"
  | "kube-proxy"
  | "coredns"
  | `${"kubelet" | "containerd"}${1 | 2}`;

interface ImageOptions {
  /** The folder that the Dockerfile copies from. */
  readonly context: string;
  /** Default: `Dockerfile` in the context. */
  readonly file?: string;
  readonly target?: string;
  /** A whole name: `registry.example.com/app:1`. */
  readonly tag: string;
  /** `NAME: FOLDER`, more contexts that the Dockerfile may copy from. */
  readonly contexts?: Readonly<Record<string, string>>;
}

/** A pod, as far as tests look into it. */
export interface Pod extends KubeObject {
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly {
      readonly name: string;
      readonly ready: boolean;
      readonly restartCount: number;
      /** `containerd://ID`. */
      readonly containerID?: string;
      readonly state?: Readonly<Record<string, { readonly reason?: string }>>;
    }[];
  };
}

/**
 * Starts a cluster; first waits until any other on this machine has ended. Where there can be none,
 * prints a line `skipped: …` that says what would help, and answers `null`: the caller returns.
 */
export async function startNodeCluster(
  name: string,
  { nodes = 1 }: NodeClusterOptions = {},
): Promise<NodeCluster | null> {
  const guard = await NodeGuard.lock(name);
  if (guard === null) {
    console.log(
      `skipped: ${name}: flock or setsid is missing (remedy: apt-get install util-linux)`,
    );
    return null;
  }
  try {
    const started = await guard.start(nodes);
    if (started.ok) return await NodeCluster.open(guard, started.kubeconfig, nodes);
    console.log(`skipped: ${name}: ${started.error}`);
  } catch (error) {
    await guard.release();
    throw error;
  }
  await guard.release();
  return null;
}

/** One cluster. As a client it is its administrator. Every wait throws when its patience ends. */
export class NodeCluster extends ApiClient implements KubectlTarget {
  /** A path. */
  readonly kubeconfig: string;
  readonly programs: { readonly kubectl: string };
  /** Where host ports of node1 answer, and node ports of any. */
  readonly nodeAddress = "10.99.0.1";
  /** One for each node. */
  readonly nodeAddresses: readonly string[];
  readonly #guard: NodeGuard;
  readonly #run: string;
  #isOver = false;

  private constructor(
    guard: NodeGuard,
    kubeconfig: string,
    nodes: number,
    access: { readonly server: string; readonly caPem: string; readonly token: string },
  ) {
    super(access.server, access.caPem, access.token);
    this.kubeconfig = kubeconfig;
    this.programs = { kubectl: join(clusterFolder(), "bin", "kubectl") };
    this.nodeAddresses = ["10.99.0.1", "10.99.0.2"].slice(0, nodes);
    this.#guard = guard;
    this.#run = dirname(kubeconfig);
  }

  /** What up.sh has started. */
  static async open(guard: NodeGuard, kubeconfig: string, nodes: number): Promise<NodeCluster> {
    const { clusters: [{ cluster }], users: [{ user }] } = parse(
      await Deno.readTextFile(kubeconfig),
    );
    const caPem = await Deno.readTextFile(cluster["certificate-authority"]);
    const access = { server: cluster.server, caPem, token: user.token };
    return new NodeCluster(guard, kubeconfig, nodes, access);
  }

  /** What kubectl printed; throws what it complained of where it failed. `input` is its stdin. */
  async kubectl(args: readonly string[], input = ""): Promise<string> {
    const answer = await kubectl(this, args, input);
    if (answer === null) throw new Error("There is no kubectl");
    if (answer.code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${answer.stderr}`);
    return answer.stdout;
  }

  /** Builds an image, and gives it to every node; quick where nothing has changed. */
  async buildImage(options: ImageOptions): Promise<void> {
    const { context, file = join(context, "Dockerfile"), target, tag } = options;
    const args = [context, tag, file];
    if (target !== undefined) args.push("--target", target);
    for (const [name, folder] of Object.entries(options.contexts ?? {})) {
      args.push("--build-context", `${name}=${folder}`);
    }
    const { code, stderr } = await runScript("image.sh", args);
    if (code !== 0) throw new Error(`No image ${tag} of ${basename(file)}: ${stderr}`);
  }

  /** `selector` is that of labels: `app=web`. Without one: all of the namespace. */
  async pods(namespace: string, selector = ""): Promise<Pod[]> {
    return await this.list<Pod>("v1", "Pod", { namespace, labelSelector: selector });
  }

  /** Waits until as many pods as that, and no others, match and are ready. Out: the pods. */
  async waitReady(
    namespace: string,
    selector: string,
    count: number,
    patience = PATIENCE,
  ): Promise<Pod[]> {
    return await eventually(`${count} ready pods ${selector}`, async () => {
      const pods = await this.pods(namespace, selector);
      return pods.length === count && pods.every(isReady) ? pods : null;
    }, patience);
  }

  /** Waits until all pods are of the newest template, and ready. */
  async waitForRollout(
    kind: "Deployment" | "DaemonSet" | "StatefulSet",
    name: string,
    namespace: string,
    patience = PATIENCE,
  ): Promise<void> {
    const what = `${kind.toLowerCase()}/${name}`;
    // kubectl gives up at once where there is nothing yet.
    await eventually(what, () => this.get("apps/v1", kind, name, namespace), patience);
    const timeout = `--timeout=${patience}ms`;
    await this.kubectl(["rollout", "status", what, `--namespace=${namespace}`, timeout]);
  }

  /** What a pod's container has written so far. */
  async logs(namespace: string, pod: string, { previous = false } = {}): Promise<string> {
    const query = previous ? "?previous=true" : "";
    const path = `/api/v1/namespaces/${namespace}/pods/${pod}/log${query}`;
    const { status, text } = await this.request("GET", path);
    if (status !== 200) throw new Error(`No log of ${pod}: ${status} ${text}`);
    return text;
  }

  /**
   * Sends a signal straight to the process of a pod's first container: a crash, to Kubernetes. With
   * SIGKILL, resolves when the process is gone, which takes a while where many want the CPU.
   */
  async kill(namespace: string, pod: string, signal: Deno.Signal = "SIGKILL"): Promise<void> {
    const found = await this.get<Pod>("v1", "Pod", pod, namespace);
    const id = found?.status.containerStatuses?.[0]?.containerID?.replace(/^containerd:\/\//, "");
    if (!id) throw new Error(`The pod ${pod} runs no container`);
    const socket = join(this.#run, found!.spec.nodeName!, "containerd.sock");
    const tasks = async (...args: string[]): Promise<string> => {
      const { success, stdout, stderr } = await new Deno.Command("ctr", {
        args: ["--address", socket, "--namespace", "k8s.io", "tasks", ...args],
      }).output();
      if (!success) throw new Error(`${signal} for ${pod}: ${new TextDecoder().decode(stderr)}`);
      return new TextDecoder().decode(stdout);
    };
    const line = (await tasks("list")).split("\n").find((line) => line.startsWith(id));
    const pid = Number(line?.split(/\s+/)[1]);
    if (!(pid > 0)) throw new Error(`The container of ${pod} has no process`);
    await tasks("kill", "--signal", signal, id);
    if (signal === "SIGKILL") await eventually("end of it", async () => !await isRunning(pid));
  }

  /** As in an upgrade, or as in a crash (SIGKILL). Data and ports stay. Nothing else notices it yet. */
  async stop(part: Part, signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    const pid = Number(await Deno.readTextFile(join(this.#run, "pid", part)));
    if (await isRunning(pid)) Deno.kill(pid, signal);
    if (!await waitFor(async () => !await isRunning(pid), GRACE)) Deno.kill(pid, "SIGKILL");
    await eventually(`end of ${part}`, async () => !await isRunning(pid));
  }

  /** With the flags, the ports and the data it had before; it may take a while to be ready. */
  async start(part: Part): Promise<void> {
    const { success } = await new Deno.Command(join(this.#run, "command", part)).output();
    if (!success) throw new Error(`${part} cannot be started`);
  }

  async stopApiServer(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    await this.stop("apiserver", signal);
  }

  /** Waits until it is ready. */
  async startApiServer(): Promise<void> {
    await this.start("apiserver");
    await eventually("API server", async () => {
      const answer = await this.request("GET", "/readyz").catch(() => null);
      if (answer?.status === 200) return true;
      // A process that was killed counts as ended a moment before its port is free.
      const pid = Number(await Deno.readTextFile(join(this.#run, "pid", "apiserver")));
      if (!await isRunning(pid)) await this.start("apiserver");
      return false;
    }, PATIENCE);
  }

  /** Pods, the newest Events, and the last lines of every pod; for the message of a failed test. */
  async describeFailure(lines = 30): Promise<string> {
    try {
      const pods = await this.kubectl(["get", "pods", "--all-namespaces", "--output=wide"]);
      const events = await this.kubectl(["events", "--all-namespaces"]);
      const tails = (await this.list<Pod>("v1", "Pod")).map(async ({ metadata }) => {
        const { name, namespace = "" } = metadata;
        const text = await this.logs(namespace, name).catch((error) => String(error));
        return `--- ${name}\n${lastLines(text, lines)}`;
      });
      return [pods, lastLines(events, 40), ...await Promise.all(tails)].join("\n");
    } catch (error) {
      return `The cluster does not answer: ${error}`;
    }
  }

  /** Runs a part of a test; where it throws, the message also says what the cluster looks like. */
  async explain<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      throw new Error(`${message}\n\n${await this.describeFailure()}`, { cause: error });
    }
  }

  /**
   * Stops everything and takes it away; throws where something is left on the machine. Nothing happens
   * the second time.
   */
  async end(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.close();
    try {
      await this.#guard.stop();
    } finally {
      await this.#guard.release();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}

/** Whether a pod is ready, and is not about to end. */
export function isReady({ metadata, status }: Pod): boolean {
  return metadata.deletionTimestamp === undefined &&
    status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;
}

function lastLines(text: string, count: number): string {
  return text.trimEnd().split("\n").slice(-count).join("\n");
}

/**
 * Nobody may wait for a process whose parent is gone: one that has ended counts as gone. Its sockets stay open until
 * the last of its threads has ended, which may be later than its first (proc_pid_stat(5): `state` is the first's).
 */
async function isRunning(pid: number): Promise<boolean> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => null);
  if (stat === null) return false;
  const [state, ...others] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const threads = Number(others[16]);
  return !"ZX".includes(state) || threads > 1;
}
