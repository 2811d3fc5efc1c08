/**
 * What the controller writes on users' objects, against a real API server. In: a cluster. Out: a
 * namespace, a service account with no more rights than those writes need, replicas of the writers
 * with an informer each, and a record of every call.
 */
import { INGRESS_CLASSES, INGRESSES, type KubeObject } from "../../../controller/kube/types.ts";
import { KubeClient } from "../../../controller/kube/client.ts";
import { loadCredentials } from "../../../controller/kube/credentials.ts";
import { FencedClient } from "../../../controller/kube/fenced_client.ts";
import { Informer } from "../../../controller/kube/informer.ts";
import { reduceIngress, reduceIngressClass } from "../../../controller/kube/reduce.ts";
import { type LogFields, type Logger, silentLogger } from "../../../shared/log.ts";
import { type ApiGateway, type RecordedRequest, startGateway } from "./api_gateway.ts";
import type { KubeObject as AnyObject } from "./api_client.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./condition.ts";

/** Everything that the writers may do, beside what the informer reads. */
const RULES = [
  { apiGroups: ["networking.k8s.io"], resources: ["ingresses/status"], verbs: ["patch"] },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
  {
    apiGroups: ["networking.k8s.io"],
    resources: ["ingresses", "ingressclasses"],
    verbs: ["get", "list", "watch"],
  },
];

/** An Ingress as the API server has it. */
export interface LiveIngress extends AnyObject {
  readonly status?: {
    readonly loadBalancer?: {
      readonly ingress?: readonly { readonly ip?: string; readonly hostname?: string }[];
    };
  };
}

export class WritingScene {
  readonly cluster: TestCluster;
  readonly namespace: string;
  readonly gateway: ApiGateway;
  readonly #replicas: Replica[] = [];

  private constructor(cluster: TestCluster, namespace: string, gateway: ApiGateway) {
    this.cluster = cluster;
    this.namespace = namespace;
    this.gateway = gateway;
  }

  static async create(cluster: TestCluster): Promise<WritingScene> {
    const namespace = await cluster.newNamespace("writing");
    await cluster.apply([{
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: namespace },
      rules: RULES,
    }, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: namespace },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: namespace },
      subjects: [{ kind: "ServiceAccount", name: "writer", namespace }],
    }]);
    return new WritingScene(cluster, namespace, await startGateway(cluster));
  }

  /** Another replica of the controller, as far as these writers go. It leads until it is told not to. */
  async replica(): Promise<Replica> {
    const token = await this.cluster.serviceAccountToken(this.namespace, "writer");
    const replica = await Replica.start(await this.gateway.kubeconfigFor(token), this.namespace);
    this.#replicas.push(replica);
    return replica;
  }

  /** Makes Ingresses of a class; those that are there get it. */
  async ingress(name: string, ingressClassName = "pingress", metadata = {}): Promise<void> {
    await this.cluster.apply({
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { ...metadata, name },
      spec: {
        ingressClassName,
        defaultBackend: { service: { name: "web", port: { number: 80 } } },
      },
    }, { namespace: this.namespace });
  }

  async get(name: string): Promise<LiveIngress | null> {
    return await this.cluster.get("networking.k8s.io/v1", "Ingress", name, this.namespace);
  }

  /** What stands in the status of an Ingress. */
  async addresses(name: string): Promise<readonly unknown[]> {
    return (await this.get(name))?.status?.loadBalancer?.ingress ?? [];
  }

  /** Writes the status of an Ingress as another controller would. */
  async writeAs(manager: string, name: string, ...ips: string[]): Promise<void> {
    const path = await this.cluster.pathOf(
      "networking.k8s.io/v1",
      "Ingress",
      name,
      this.namespace,
    );
    const { status } = await this.cluster.request(
      "PATCH",
      `${path}/status?fieldManager=${manager}`,
      { status: { loadBalancer: { ingress: ips.map((ip) => ({ ip })) } } },
      "application/merge-patch+json",
    );
    if (status !== 200) throw new Error(`No status of ${name}: ${status}`);
  }

  /** Calls that write, from the `from`th of all on; those about one object where it is named. */
  writes(from = 0, name?: string): RecordedRequest[] {
    return this.gateway.recorded({ verb: ["create", "update", "patch", "delete"] }, from)
      .filter((request) => name === undefined || request.name === name);
  }

  /** What writes were answered; what they did can be seen a moment before that. */
  async statuses(): Promise<(number | null)[]> {
    await eventually(
      "answer to every write",
      () => this.writes().every(({ status }) => status !== null),
    );
    return this.writes().map(({ status }) => status);
  }

  /** How many calls have come so far. */
  get calls(): number {
    return this.gateway.requests.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const replica of this.#replicas) await replica.close();
    await this.gateway.close();
  }
}

export interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

/** One process. */
export class Replica {
  readonly client: FencedClient;
  readonly ingresses: Informer<KubeObject>;
  readonly classes: Informer<KubeObject>;
  readonly fence: { leads: boolean; mayWrite(): boolean };
  readonly lines: Line[] = [];
  readonly log: Logger;
  readonly #kube: KubeClient;
  readonly #closers: { close(): Promise<void> }[] = [];

  private constructor(kube: KubeClient, namespace: string) {
    this.#kube = kube;
    const leading = new AbortController().signal;
    this.fence = {
      leads: true,
      mayWrite() {
        return this.leads;
      },
    };
    this.client = new FencedClient(kube, {
      mayWrite: () => this.fence.leads,
      writeDeadline: () => 30_000,
      writeSignal: () => leading,
    });
    const namespaces = [namespace];
    this.ingresses = new Informer({
      client: kube,
      resource: INGRESSES,
      namespaces,
      reduce: reduceIngress,
    });
    this.classes = new Informer({
      client: kube,
      resource: INGRESS_CLASSES,
      namespaces: null,
      reduce: reduceIngressClass,
    });
    const warn = (message: string, fields: LogFields = {}) =>
      void this.lines.push({ level: "warn", message, fields });
    this.log = { ...silentLogger, warn };
  }

  static async start(kubeconfig: string, namespace: string): Promise<Replica> {
    const loaded = loadCredentials({ kind: "kubeconfig", file: kubeconfig, context: null });
    if (!loaded.ok) throw new Error(loaded.message);
    const replica = new Replica(new KubeClient(loaded.credentials), namespace);
    for (const informer of [replica.ingresses, replica.classes]) {
      informer.start();
      await informer.synced;
    }
    return replica;
  }

  /** Has a writer closed before the informers end. */
  owns<T extends { close(): Promise<void> }>(writer: T): T {
    this.#closers.push(writer);
    return writer;
  }

  /** Waits until the informer has what the API server has. */
  async caughtUp(scene: WritingScene, name: string): Promise<void> {
    await eventually(`${name} in the informer`, async () => {
      const version = (await scene.get(name))?.metadata.resourceVersion ?? "";
      return this.ingresses.store.versionOf(scene.namespace, name) === version;
    });
  }

  async close(): Promise<void> {
    for (const closer of this.#closers) await closer.close();
    await this.ingresses.stop();
    await this.classes.stop();
    this.#kube.close();
  }
}
