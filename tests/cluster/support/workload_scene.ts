/**
 * The proxy workload at a real API server. In: a cluster. Out: a namespace of its own, a keeper
 * whose calls are counted, and what no controller-manager is there for: status.
 */
import { equal } from "node:assert/strict";
import { type CallReport, KubeClient } from "../../../controller/kube/client.ts";
import { loadCredentials } from "../../../controller/kube/credentials.ts";
import type { KubeObject } from "../../../controller/kube/types.ts";
import { type SyncResult, WorkloadKeeper } from "../../../controller/outputs/workload/keeper.ts";
import type { WorkloadKind } from "../../../controller/outputs/workload/options.ts";
import {
  workloadObjects,
  type WorkloadOptions,
} from "../../../controller/outputs/workload/objects.ts";
import type { TestCluster } from "./cluster.ts";

export const NAME = "pingress-proxy-server";

export const API_VERSIONS: Readonly<Record<WorkloadKind, string>> = {
  DaemonSet: "apps/v1",
  Deployment: "apps/v1",
  HorizontalPodAutoscaler: "autoscaling/v2",
  PodDisruptionBudget: "policy/v1",
  Service: "v1",
};

export const KINDS = Object.keys(API_VERSIONS) as WorkloadKind[];

/** What an operator decides, in a namespace that is yet to be named. */
export const HOST_PORT: WorkloadOptions = {
  backend: "HostPort",
  namespace: "",
  image: "proxy:1",
  imagePullSecrets: [],
  nodeSelector: {},
  replicas: 2,
  autoscale: null,
  serviceType: "LoadBalancer",
  priorityClass: null,
  drainDelay: 15_000,
  drainTimeout: 300_000,
  stream: true,
  proxyArgs: [],
  podTemplate: null,
};
export const LOAD_BALANCER: WorkloadOptions = { ...HOST_PORT, backend: "LoadBalancer" };
export const AUTOSCALED: WorkloadOptions = {
  ...LOAD_BALANCER,
  autoscale: { min: 3, max: 9, cpuPercent: 70 },
};

/** An object of any of the kinds, as far as tests look into it. */
export interface Live extends KubeObject {
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
      readonly spec: LivePod;
    };
    readonly replicas?: number;
    readonly type?: string;
    readonly clusterIP?: string;
    readonly externalTrafficPolicy?: string;
    readonly healthCheckNodePort?: number;
  };
}

export interface LivePod {
  readonly volumes: readonly { readonly name: string }[];
  readonly imagePullSecrets?: readonly unknown[];
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly containers: readonly {
    readonly image: string;
    readonly command?: readonly string[];
    readonly resources: { readonly requests: Readonly<Record<string, string>> };
    readonly volumeMounts: readonly unknown[];
  }[];
}

export interface SceneOptions {
  /** A kubeconfig in place of the administrator's. */
  readonly kubeconfig?: string;
}

export class WorkloadScene {
  readonly cluster: TestCluster;
  readonly namespace: string;
  readonly keeper: WorkloadKeeper;
  readonly client: KubeClient;
  /** Of the keeper, since they were last asked for. */
  #calls: CallReport[] = [];
  #seen = new Map<WorkloadKind, KubeObject>();
  leads = true;
  /** Of the keeper's clock, in ms. */
  now = 0;

  private constructor(cluster: TestCluster, namespace: string, client: KubeClient) {
    this.cluster = cluster;
    this.namespace = namespace;
    this.client = client;
    this.keeper = new WorkloadKeeper({
      client,
      namespace,
      live: (kind) => this.#seen.get(kind) ?? null,
      mayWrite: () => this.leads,
      now: () => this.now,
    });
  }

  static async create(
    cluster: TestCluster,
    { kubeconfig = cluster.kubeconfig }: SceneOptions = {},
  ): Promise<WorkloadScene> {
    const namespace = await cluster.newNamespace("workload");
    const loaded = loadCredentials({ kind: "kubeconfig", file: kubeconfig, context: null });
    if (!loaded.ok) throw new Error(loaded.message);
    const calls = (report: CallReport) => void scene.#calls.push(report);
    const scene: WorkloadScene = new WorkloadScene(
      cluster,
      namespace,
      new KubeClient(loaded.credentials, calls),
    );
    return scene;
  }

  /** The same options in this scene's namespace. */
  here(options: WorkloadOptions): WorkloadOptions {
    return { ...options, namespace: this.namespace };
  }

  /** Looks, as a watch would, and syncs. */
  async sync(options: WorkloadOptions): Promise<SyncResult> {
    await this.look();
    return await this.keeper.sync(workloadObjects(this.here(options)));
  }

  /** Syncs, and expects that nothing went wrong. Out: what was done, as `applied DaemonSet`. */
  async done(options: WorkloadOptions): Promise<string[]> {
    const { problems, failures, changes } = await this.sync(options);
    equal(JSON.stringify({ problems, failures }), '{"problems":[],"failures":[]}');
    return changes.map(({ verb, object }) => `${verb} ${object.kind}`);
  }

  /** Takes what is there now for what a watch has shown. */
  async look(): Promise<void> {
    for (const kind of KINDS) {
      const there = await this.get(kind);
      if (there === null) this.#seen.delete(kind);
      else this.#seen.set(kind, there);
    }
  }

  /** Verbs and kinds of the keeper's calls since the last time. */
  calls(): string[] {
    const calls = this.#calls.map(({ verb, resource }) => `${verb} ${resource}`);
    this.#calls = [];
    return calls;
  }

  async get(kind: WorkloadKind): Promise<Live | null> {
    return await this.cluster.get<Live>(API_VERSIONS[kind], kind, NAME, this.namespace);
  }

  async must(kind: WorkloadKind): Promise<Live> {
    const there = await this.get(kind);
    if (there === null) throw new Error(`there is no ${kind}`);
    return there;
  }

  /** A strategic merge patch, as `kubectl patch` and `kubectl edit` send it. */
  async edit(kind: WorkloadKind, patch: unknown, subresource = ""): Promise<void> {
    const path = await this.cluster.pathOf(API_VERSIONS[kind], kind, NAME, this.namespace);
    const type = subresource === "status"
      ? "application/merge-patch+json"
      : "application/strategic-merge-patch+json";
    const query = "?fieldManager=somebody";
    const answer = await this.cluster.request(
      "PATCH",
      `${path}${subresource && `/${subresource}`}${query}`,
      patch,
      type,
    );
    if (answer.status !== 200) throw new Error(answer.text);
  }

  /** Writes the status that the controllers of Kubernetes would, once all pods are ready. */
  async finishRollout(kind: "DaemonSet" | "Deployment", pods = 2): Promise<void> {
    const { metadata: { generation } } = await this.must(kind);
    const status = kind === "DaemonSet"
      ? {
        observedGeneration: generation,
        currentNumberScheduled: pods,
        numberMisscheduled: 0,
        desiredNumberScheduled: pods,
        numberReady: pods,
        numberAvailable: pods,
        updatedNumberScheduled: pods,
      }
      : {
        observedGeneration: generation,
        replicas: pods,
        readyReplicas: pods,
        availableReplicas: pods,
        updatedReplicas: pods,
      };
    await this.edit(kind, { status }, "status");
  }

  [Symbol.dispose](): void {
    this.client.close();
  }
}
