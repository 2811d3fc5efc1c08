/**
 * The parts of Kubernetes that make a DaemonSet's pods and find nodes for them. In: a cluster. Out: its
 * real controller of DaemonSets and its real scheduler; nodes that no kubelet runs on.
 */
import { dirname, join } from "node:path";
import type { KubeObject } from "./api_client.ts";
import type { TestCluster } from "./cluster.ts";
import { GuardedProcess, ProcessGuard } from "./guarded_process.ts";

const COMMON = ["--leader-elect=false", "--secure-port=0"];

export class Scheduling {
  readonly #guard: ProcessGuard;
  readonly #processes: readonly GuardedProcess[];

  private constructor(guard: ProcessGuard, processes: readonly GuardedProcess[]) {
    this.#guard = guard;
    this.#processes = processes;
  }

  /** Null, and a line that says so, where the programs of a control plane were not built. */
  static async start(cluster: TestCluster, name: string): Promise<Scheduling | null> {
    const bin = dirname(cluster.programs.etcd);
    const [controllers, scheduler] = ["kube-controller-manager", "kube-scheduler"]
      .map((program) => join(bin, program));
    for (const program of [controllers, scheduler]) {
      if (await Deno.stat(program).then(() => true, () => false)) continue;
      console.log(
        `skipped: ${name}: there is no ${program}; tests/cluster/build.sh control makes it`,
      );
      return null;
    }
    const folder = await Deno.makeTempDir({ prefix: "pingress-scheduling-" });
    const guard = new ProcessGuard(folder);
    const start = async (program: string, args: readonly string[]) => {
      const process = new GuardedProcess(guard, join(folder, "log"));
      await process.start(program, [`--kubeconfig=${cluster.kubeconfig}`, ...COMMON, ...args]);
      return process;
    };
    return new Scheduling(guard, [
      await start(controllers, ["--controllers=daemonset-controller"]),
      await start(scheduler, []),
    ]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.stop("SIGKILL")));
    await this.#guard.close();
  }
}

/** A node that is ready by its own word, and takes pods. */
export async function readyNode(
  cluster: TestCluster,
  name: string,
  address: string,
): Promise<void> {
  const labels = { "kubernetes.io/os": "linux", "kubernetes.io/hostname": name };
  await cluster.apply({ apiVersion: "v1", kind: "Node", metadata: { name, labels } });
  const room = { cpu: "8", memory: "8Gi", pods: "100" };
  const status = {
    capacity: room,
    allocatable: room,
    addresses: [{ type: "InternalIP", address }],
    conditions: [{ type: "Ready", status: "True", reason: "Test", message: "" }],
  };
  await patch(cluster, `/api/v1/nodes/${name}/status`, { status });
  // Every node is born with a taint that its kubelet's readiness would end.
  await patch(cluster, `/api/v1/nodes/${name}`, { spec: { taints: null } });
}

/** As a kubelet says of a pod that it runs. */
export async function runPod(
  cluster: TestCluster,
  { metadata: { namespace, name } }: KubeObject,
  hostIP: string,
): Promise<void> {
  await patch(cluster, `/api/v1/namespaces/${namespace}/pods/${name}/status`, {
    status: {
      phase: "Running",
      hostIP,
      hostIPs: [{ ip: hostIP }],
      conditions: [{ type: "Ready", status: "True" }],
    },
  });
}

async function patch(cluster: TestCluster, path: string, body: object): Promise<void> {
  const type = "application/merge-patch+json";
  const { status, text } = await cluster.request("PATCH", path, body, type);
  if (status !== 200) throw new Error(`PATCH ${path}: ${status} ${text}`);
}
