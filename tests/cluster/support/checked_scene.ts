/**
 * An installation that `pingress check` and `status` look at. In: a cluster. Out: controllers and a proxy as
 * processes, with the objects that Kubernetes' own controllers and a kubelet would make of them.
 */
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { ProxyProcess } from "../../support/proxy_process.ts";
import type { KubeObject } from "./api_client.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./condition.ts";
import { ControllerProcess } from "./controller_process.ts";
import { ControllerScene } from "./controller_scene.ts";
import { FAST_ELECTION } from "./elections.ts";
import { Kubelet } from "./kubelet.ts";
import { manifest } from "./kubectl.ts";
import type { Rules } from "./rbac.ts";
import { startStreamedProxy } from "./streamed_proxy.ts";
import { proxyToken, streamTrust } from "./stream_scene.ts";

const ROOT = join(import.meta.dirname!, "../../..");

const NAME_LABEL = "app.kubernetes.io/name";
export const CONTROLLER = "pingress-controller";
export const PROXY = "pingress-proxy-server";

/** The controller's. */
export const ACCOUNT = "pingress-controller-user";

export interface CommandOutput {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export class CheckedScene {
  readonly controllers = new Map<string, ControllerProcess>();
  readonly proxies = new Map<string, ProxyProcess>();
  /** Of a user with the rights of overlays/check. */
  kubeconfig = "";

  private constructor(
    readonly cluster: TestCluster,
    readonly scene: ControllerScene,
    readonly kubelet: Kubelet,
  ) {}

  /** Two controllers, a proxy and one Ingress with an endpoint. */
  static async start(
    cluster: TestCluster,
    args: readonly string[] = [],
  ): Promise<CheckedScene> {
    const scene = await ControllerScene.prepare(cluster, {
      args: [...FAST_ELECTION, "--stream-name=127.0.0.1", ...args],
      watchesAll: true,
    });
    const kubelet = await Kubelet.start(cluster, `node-${scene.system}`);
    const checked = new CheckedScene(cluster, scene, kubelet);
    try {
      await checked.#begin();
      return checked;
    } catch (error) {
      await checked[Symbol.asyncDispose]();
      throw error;
    }
  }

  get system(): string {
    return this.scene.system;
  }

  async #begin(): Promise<void> {
    const { cluster, scene, system } = this;
    await cluster.apply(await manifest<KubeObject>("ingress-class.yaml"));
    for (const policy of await manifest<KubeObject>("network-policies.yaml")) {
      await cluster.apply({ ...policy, metadata: { ...policy.metadata, namespace: system } });
    }
    await this.#account();
    await scene.service("web");
    await scene.ingress("web");
    await this.startController("controller-a");
    await this.startController("controller-b");
    await this.deployment(2, 2);
    await this.startProxy("proxy-1");
    this.kubeconfig = await this.userKubeconfig("checker");
  }

  /** Which may do everything, as the controllers of tests do. */
  async #account(): Promise<void> {
    const { cluster, system } = this;
    await cluster.serviceAccountToken(system, ACCOUNT);
    await cluster.apply({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: `${ACCOUNT}-${system}` },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "cluster-admin",
      },
      subjects: [{ kind: "ServiceAccount", name: ACCOUNT, namespace: system }],
    } as Partial<KubeObject>);
  }

  /** Takes all rights from the controller's account. */
  async withdrawRights(): Promise<void> {
    await this.cluster.delete(
      "rbac.authorization.k8s.io/v1",
      "ClusterRoleBinding",
      `${ACCOUNT}-${this.system}`,
    );
  }

  async startController(name: string, ...args: readonly string[]): Promise<ControllerProcess> {
    const { kubeconfig, flags } = this.scene;
    const controller = await ControllerProcess.start({
      kubeconfig,
      args: [...flags, ...args],
      env: { POD_NAME: name },
    });
    this.controllers.set(name, controller);
    const port = await controller.adminPort();
    await this.pod(name, CONTROLLER, port);
    return controller;
  }

  async startProxy(name: string): Promise<ProxyProcess> {
    const { cluster, scene, system, kubelet: { node } } = this;
    const labels = { [NAME_LABEL]: PROXY };
    const token = await cluster.writeFile(
      await proxyToken(cluster, system, { pod: { name, node }, labels }),
    );
    const ca = await cluster.writeFile(await streamTrust(cluster, system));
    const proxy = await startStreamedProxy(scene, {
      controller: this.controllers.get("controller-a"),
      credentials: { ca, token },
      args: ["--max-route-loss=40"],
    });
    this.proxies.set(name, proxy);
    await this.ready(name, true);
    await this.daemonSet(this.proxies.size, this.proxies.size);
    await eventually("proxy in sync", async () => {
      const { text } = await this.controllers.get("controller-a")!.admin("/proxies");
      const page = JSON.parse(text) as {
        readonly proxies: readonly { readonly name: string; readonly inSync: boolean }[];
      };
      return page.proxies.some((one) => one.name === name && one.inSync);
    });
    return proxy;
  }

  /** A pod of a process, which is ready. */
  async pod(name: string, label: string, port: number): Promise<void> {
    await this.cluster.apply({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels: { [NAME_LABEL]: label } },
      spec: {
        nodeName: this.kubelet.node,
        containers: [{
          name: label,
          image: `${label}:1`,
          ports: [{ name: "admin", containerPort: port }],
        }],
      },
    } as Partial<KubeObject>, { namespace: this.system });
    await this.ready(name, true);
  }

  async ready(name: string, isReady: boolean): Promise<void> {
    await this.#status("v1", "Pod", name, {
      conditions: [{ type: "Ready", status: isReady ? "True" : "False" }],
    });
  }

  /** As the controller of Deployments would: the controller's own. */
  async deployment(replicas: number, ready: number): Promise<void> {
    const labels = { [NAME_LABEL]: CONTROLLER };
    await this.cluster.apply({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: CONTROLLER, labels },
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            serviceAccountName: ACCOUNT,
            containers: [{ name: CONTROLLER, image: `${CONTROLLER}:1`, args: this.scene.flags }],
          },
        },
      },
    } as Partial<KubeObject>, { namespace: this.system });
    await this.#status("apps/v1", "Deployment", CONTROLLER, {
      replicas,
      readyReplicas: ready,
      availableReplicas: ready,
      updatedReplicas: replicas,
    });
  }

  /** As the controller of DaemonSets would, once ours has made it. */
  async daemonSet(desired: number, ready: number): Promise<void> {
    await eventually(
      "DaemonSet",
      async () => await this.cluster.get("apps/v1", "DaemonSet", PROXY, this.system),
    );
    await this.#status("apps/v1", "DaemonSet", PROXY, {
      observedGeneration: 1,
      currentNumberScheduled: desired,
      numberMisscheduled: 0,
      desiredNumberScheduled: desired,
      numberReady: ready,
      numberAvailable: ready,
      updatedNumberScheduled: desired,
    });
  }

  /** Of a service account with the rights of overlays/check, as far as `change` leaves them. */
  async userKubeconfig(
    name: string,
    change: (role: Rules) => Rules = (role) => role,
  ): Promise<string> {
    const { cluster, system } = this;
    const token = await cluster.serviceAccountToken(system, name);
    for (const file of ["cluster-role.yaml", "role.yaml"]) {
      const text = await Deno.readTextFile(join(ROOT, "overlays/check", file));
      const [written] = parseAllDocuments(text).map((document) => document.toJS() as Rules);
      const isClusterWide = written.kind === "ClusterRole";
      const bound = `check-${system}-${name}`;
      const role = change({
        ...written,
        metadata: isClusterWide ? { name: bound } : { name: bound, namespace: system },
      });
      await cluster.apply([
        role,
        {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: `${written.kind}Binding`,
          metadata: role.metadata,
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: written.kind, name: bound },
          subjects: [{ kind: "ServiceAccount", name, namespace: system }],
        } as KubeObject,
      ]);
    }
    return await cluster.writeFile(cluster.kubeconfigFor(token));
  }

  /** Runs the task's own command. */
  async run(
    command: readonly string[],
    { kubeconfig = this.kubeconfig }: { readonly kubeconfig?: string } = {},
  ): Promise<CommandOutput> {
    return await runPingress([
      ...command,
      `--kubeconfig=${kubeconfig}`,
      `--system-namespace=${this.system}`,
    ]);
  }

  /** Starts the task's own command, which goes on. */
  async watch(command: readonly string[]): Promise<WatchingCommand> {
    return new WatchingCommand([
      ...await pingressCommand(),
      ...command,
      `--kubeconfig=${this.kubeconfig}`,
      `--system-namespace=${this.system}`,
    ]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([
      ...this.proxies.values().map((proxy) => proxy[Symbol.asyncDispose]()),
      ...this.controllers.values().map((controller) => controller.kill()),
    ]);
    await this.kubelet.forwarder.close();
  }

  async #status(
    apiVersion: string,
    kind: string,
    name: string,
    status: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const path = await this.cluster.pathOf(apiVersion, kind, name, this.system);
    const answer = await this.cluster.request(
      "PATCH",
      `${path}/status`,
      { status },
      "application/merge-patch+json",
    );
    if (answer.status !== 200) throw new Error(answer.text);
  }
}

/** `deno task pingress`, without a terminal or anything to read. */
export async function runPingress(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CommandOutput> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...await pingressCommand(), ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", ...environment },
    stdin: "null",
  }).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: decode(stdout), err: decode(stderr) };
}

export async function pingressCommand(): Promise<readonly string[]> {
  const { tasks } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  return tasks.pingress.command.split(" ").slice(1);
}

/** A command that shows changes until it is stopped. */
export class WatchingCommand {
  #text = "";
  readonly #child: Deno.ChildProcess;
  readonly #reading: Promise<void>;

  constructor(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: [...args],
      cwd: ROOT,
      env: { NO_COLOR: "1", ...environment },
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#reading = this.#read();
  }

  /** Waits until all that it has written is so. */
  async until(holds: (text: string) => boolean): Promise<void> {
    try {
      await eventually("change", () => holds(this.#text));
    } catch (error) {
      throw new Error(`It has shown:\n${this.#text}`, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.status;
    await this.#reading;
  }

  async #read(): Promise<void> {
    for await (const part of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      this.#text += part;
    }
  }
}
