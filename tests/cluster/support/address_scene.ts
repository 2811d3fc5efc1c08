/**
 * Addresses of Gateways against a real API server. In: a cluster. Out: a namespace of Gateways, one of proxies, a
 * keeper with informers as the controller has them, and a record of its calls.
 *
 * Nothing collects garbage here, so no Gateway has to exist.
 */
import { KubeClient } from "../../../controller/kube/client.ts";
import { FencedClient } from "../../../controller/kube/fenced_client.ts";
import { Informer } from "../../../controller/kube/informer.ts";
import {
  keepWhole,
  reduceNode,
  reducePod,
  reduceService,
} from "../../../controller/kube/reduce.ts";
import {
  ENDPOINT_SLICES,
  type KubeObject,
  NODES,
  PODS,
  type Resource,
  SERVICES,
} from "../../../controller/kube/types.ts";
import { AddressKeeper } from "../../../controller/outputs/addresses/keeper.ts";
import type {
  GatewayAddressPlan,
  GatewayAddressState,
} from "../../../controller/outputs/addresses/plan.ts";
import { KINDS } from "../../../controller/watch/kinds.ts";
import { gatewayPlan, type PlanChanges } from "../../support/gateway_plan.ts";
import type { KubeObject as AnyObject } from "./api_client.ts";
import { type ApiGateway, type RecordedRequest, startGateway } from "./api_gateway.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./condition.ts";
import { clientOf, FAST, type LogEntry, recordingLog } from "./informer_scene.ts";

export interface LiveService extends AnyObject {
  readonly spec: {
    readonly type: string;
    readonly clusterIP: string;
    readonly clusterIPs: readonly string[];
    readonly selector?: Readonly<Record<string, string>>;
    readonly externalIPs?: readonly string[];
    readonly ports: readonly {
      readonly name: string;
      readonly port: number;
      readonly targetPort: number;
      readonly nodePort?: number;
    }[];
  };
}

export interface LiveSlice extends AnyObject {
  readonly addressType: string;
  readonly ports: readonly { readonly name: string; readonly port: number }[];
  readonly endpoints: readonly {
    readonly addresses: readonly string[];
    readonly nodeName?: string;
    readonly zone?: string;
    readonly conditions: {
      readonly ready: boolean;
      readonly serving: boolean;
      readonly terminating: boolean;
    };
  }[];
}

export interface AddressSceneOptions {
  /** Of the keeper's account; the administrator's by default. */
  readonly token?: string;
  /** Where proxies are; a new namespace by default. */
  readonly system?: string;
  /** Milliseconds. */
  readonly removalDelay?: number;
  /** Whether it leads from the start on. */
  readonly leads?: boolean;
}

export class AddressScene implements AsyncDisposable {
  readonly cluster: TestCluster;
  readonly namespace: string;
  readonly system: string;
  readonly gateway: ApiGateway;
  readonly logged: LogEntry[];
  readonly keeper: AddressKeeper;
  readonly #client: KubeClient;
  readonly #informers: readonly Informer<KubeObject>[];
  leads: boolean;

  private constructor(
    cluster: TestCluster,
    namespace: string,
    system: string,
    gateway: ApiGateway,
    kubeconfig: string,
    { removalDelay = 0, leads = true }: AddressSceneOptions,
  ) {
    this.cluster = cluster;
    this.namespace = namespace;
    this.system = system;
    this.gateway = gateway;
    this.leads = leads;
    const client = this.#client = clientOf(kubeconfig);
    const { log, entries } = recordingLog();
    this.logged = entries;
    const own = [namespace];
    const informer = (
      resource: Resource,
      namespaces: readonly string[] | null,
      reduce: (object: KubeObject) => KubeObject,
      labelSelector?: string,
    ) => new Informer({ client, resource, namespaces, reduce, labelSelector, timing: FAST });
    const { labelSelector } = KINDS.gatewayServices;
    const services = informer(SERVICES, own, keepWhole(SERVICES), labelSelector);
    const slices = informer(ENDPOINT_SLICES, own, keepWhole(ENDPOINT_SLICES), labelSelector);
    const names = informer(SERVICES, own, reduceService);
    const pods = informer(PODS, [system], reducePod, KINDS.pods.labelSelector);
    const nodes = informer(NODES, null, reduceNode);
    this.#informers = [services, slices, names, pods, nodes];
    const never = new AbortController().signal;
    const fence = {
      mayWrite: () => this.leads,
      writeDeadline: () => 30_000,
      writeSignal: () => never,
    };
    this.keeper = new AddressKeeper({
      client: new FencedClient(client, fence),
      fence,
      log,
      services: services.store,
      slices: slices.store,
      names: names.store,
      pods: pods.store,
      nodes: { store: nodes.store, isKnown: () => nodes.isSynced },
      onChange: () => {},
      removalDelay,
    });
  }

  static async create(
    cluster: TestCluster,
    options: AddressSceneOptions = {},
  ): Promise<AddressScene> {
    const namespace = await cluster.newNamespace("gateway");
    const system = options.system ?? await cluster.newNamespace("proxies");
    const gateway = await startGateway(cluster);
    const kubeconfig = await gateway.kubeconfigFor(options.token ?? cluster.adminToken);
    const scene = new AddressScene(cluster, namespace, system, gateway, kubeconfig, options);
    for (const informer of scene.#informers) informer.start();
    await Promise.all(scene.#informers.map(({ synced }) => synced));
    return scene;
  }

  /** A plan in this scene's namespace. */
  plan(changes: PlanChanges = {}): GatewayAddressPlan {
    const { gateway } = changes;
    return gatewayPlan({ ...changes, gateway: { namespace: this.namespace, ...gateway } });
  }

  /** Waits until a Gateway has an address, and nothing is wrong with it. */
  async programmed(name = "web"): Promise<string[]> {
    const state = await this.until(name, ({ fault }) => fault === null);
    await this.quiet();
    return state.addresses.map(({ value }) => value);
  }

  async until(
    name: string,
    is: (state: GatewayAddressState) => boolean,
  ): Promise<GatewayAddressState> {
    return await eventually(`state of ${name}`, () => {
      const state = this.state(name);
      return state !== null && is(state) ? state : null;
    });
  }

  state(name = "web"): GatewayAddressState | null {
    return this.keeper.state(`${this.namespace}/${name}`);
  }

  /** Waits until nothing is to be written. */
  async quiet(): Promise<void> {
    await eventually("end of writes", () => this.keeper.backlog === 0);
  }

  async service(name = "web-pingress"): Promise<LiveService | null> {
    return await this.cluster.get<LiveService>("v1", "Service", name, this.namespace);
  }

  async mustService(name = "web-pingress"): Promise<LiveService> {
    const service = await this.service(name);
    if (service === null) throw new Error(`there is no Service ${name}`);
    return service;
  }

  async slices(service = "web-pingress"): Promise<LiveSlice[]> {
    return await this.cluster.list<LiveSlice>("discovery.k8s.io/v1", "EndpointSlice", {
      namespace: this.namespace,
      labelSelector: `kubernetes.io/service-name=${service}`,
    });
  }

  /** Addresses of endpoints with their conditions: `10.1.0.1 ready`. */
  async endpoints(service = "web-pingress"): Promise<string[]> {
    return (await this.slices(service)).flatMap(({ endpoints }) => endpoints)
      .map(({ addresses: [address], conditions: { ready, serving, terminating } }) =>
        [
          address,
          ...(ready ? ["ready"] : []),
          ...(serving && !ready ? ["serving"] : []),
          ...(terminating ? ["terminating"] : []),
        ].join(" ")
      ).sort();
  }

  /** Waits until a Service has exactly these endpoints. */
  async reaches(expected: readonly string[], service?: string): Promise<void> {
    await eventually(`endpoints ${expected}`, async () => {
      const endpoints = await this.endpoints(service);
      return endpoints.join() === [...expected].sort().join();
    });
  }

  /** A proxy on a node, ready or not. */
  async proxy(
    name: string,
    ip: string,
    { ready = true, node = "node-1" }: { readonly ready?: boolean; readonly node?: string } = {},
  ): Promise<void> {
    const { cluster, system } = this;
    await cluster.serviceAccountToken(system, "default");
    if (await cluster.get("v1", "Pod", name, system) === null) {
      await cluster.apply({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name, labels: { "app.kubernetes.io/name": "pingress-proxy-server" } },
        spec: {
          nodeName: node,
          automountServiceAccountToken: false,
          containers: [{ name: "proxy", image: "proxy" }],
        },
      }, { namespace: system });
    }
    const path = await cluster.pathOf("v1", "Pod", name, system);
    const status = {
      phase: "Running",
      podIP: ip,
      podIPs: [{ ip }],
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
    };
    const answer = await cluster.request(
      "PATCH",
      `${path}/status`,
      { status },
      "application/strategic-merge-patch+json",
    );
    if (answer.status !== 200) throw new Error(answer.text);
  }

  /** Has a proxy end: it stays until it has drained, as with a kubelet. */
  async end(name: string): Promise<void> {
    const path = await this.cluster.pathOf("v1", "Pod", name, this.system);
    await this.cluster.request("DELETE", path);
  }

  /** A merge patch by somebody. */
  async edit(
    apiVersion: string,
    kind: string,
    name: string,
    patch: unknown,
    subresource = "",
  ): Promise<void> {
    const path = await this.cluster.pathOf(apiVersion, kind, name, this.namespace);
    const answer = await this.cluster.request(
      "PATCH",
      `${path}${subresource && `/${subresource}`}?fieldManager=somebody`,
      patch,
      "application/merge-patch+json",
    );
    if (answer.status !== 200) throw new Error(answer.text);
  }

  /** Writes of the keeper, from the `from`th call on, as `patch services web-pingress`. */
  writes(from = 0): string[] {
    return this.recorded(from).map(({ verb, resource, name }) => `${verb} ${resource} ${name}`);
  }

  recorded(from = 0): RecordedRequest[] {
    return this.gateway.recorded(
      { verb: ["create", "patch", "update", "delete"] },
      from,
    );
  }

  get calls(): number {
    return this.gateway.requests.length;
  }

  async close(): Promise<void> {
    await this.keeper.close();
    await Promise.all(this.#informers.map((informer) => informer.stop()));
    this.#client.close();
    await this.gateway.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
