/**
 * The status of Gateway API as the controller writes it, against a real API server. In: a cluster. Out: a
 * namespace with a class of its own, replicas of the status output with informers of their own, proxies that
 * acknowledge as a test says, and a record of every call.
 */
import { FencedClient } from "../../../controller/kube/fenced_client.ts";
import { DEFAULT_OBJECT_BOUNDS } from "../../../controller/kube/object_bounds.ts";
import { GATEWAY_API } from "../../../controller/kube/types.ts";
import { ControllerMetrics } from "../../../controller/metrics.ts";
import type { OutputContext } from "../../../controller/outputs/output.ts";
import type { GatewayAddressState } from "../../../controller/outputs/addresses/plan.ts";
import { GatewayStatusOutput } from "../../../controller/outputs/gateway_status_output.ts";
import type { Reconciliation } from "../../../controller/reconcile/reconciler.ts";
import type { ProxyAck } from "../../../controller/stream/proxy_acks.ts";
import { trueCondition } from "../../../controller/translate/gateway/objects/condition.ts";
import {
  GATEWAY_CONTROLLER,
  readGatewayClasses,
} from "../../../controller/translate/gateway/objects/gateway_class.ts";
import type { GatewayTranslation } from "../../../controller/translate/gateway/gateway_translation.ts";
import { readIdentity } from "../../../controller/base/identity.ts";
import { asList, fieldOf } from "../../../controller/base/json.ts";
import { Watches } from "../../../controller/watch/watches.ts";
import type { SnapshotVersion } from "../../../shared/snapshot/types.ts";
import type { KubeObject } from "./api_client.ts";
import { type ApiGateway, type RecordedRequest, startGateway } from "./api_gateway.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./condition.ts";
import { installGatewayCrds } from "./gateway_crds.ts";
import { clientOf, FAST, type LogEntry, recordingLog } from "./informer_scene.ts";
import { gatewayClass } from "./gateway_objects.ts";

export const V1 = `${GATEWAY_API}/v1`;

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime: string;
}

export interface LiveStatus {
  readonly conditions?: readonly Condition[];
  readonly addresses?: readonly unknown[];
  readonly listeners?: readonly {
    readonly name: string;
    readonly attachedRoutes: number;
    readonly conditions: readonly Condition[];
  }[];
  readonly parents?: readonly {
    readonly parentRef: { readonly name: string };
    readonly controllerName: string;
    readonly conditions: readonly Condition[];
  }[];
  readonly supportedFeatures?: readonly unknown[];
  readonly attachedListenerSets?: number;
}

type Live = KubeObject & { readonly status?: LiveStatus };

const KINDS = ["GatewayClass", "Gateway", "HTTPRoute"] as const;
export type GatewayKind = typeof KINDS[number];

export class GatewayStatusScene implements AsyncDisposable {
  readonly cluster: TestCluster;
  /** Of the objects, and the name of the class. */
  readonly namespace: string;
  readonly gateway: ApiGateway;
  readonly #replicas: StatusReplica[] = [];

  private constructor(cluster: TestCluster, namespace: string, gateway: ApiGateway) {
    this.cluster = cluster;
    this.namespace = namespace;
    this.gateway = gateway;
  }

  /** With the CRDs, a class, and one Gateway, `web`. */
  static async create(cluster: TestCluster): Promise<GatewayStatusScene> {
    const namespace = await cluster.newNamespace("gateway-status");
    await installGatewayCrds(cluster, KINDS);
    const scene = new GatewayStatusScene(cluster, namespace, await startGateway(cluster));
    await cluster.apply(gatewayClass(namespace));
    await scene.listeners("http");
    return scene;
  }

  /** A process that leads until it is told not to. */
  async replica(): Promise<StatusReplica> {
    const { gateway, cluster, namespace } = this;
    const kubeconfig = await gateway.kubeconfigFor(cluster.adminToken);
    const replica = await StatusReplica.start(kubeconfig, namespace);
    this.#replicas.push(replica);
    return replica;
  }

  /** Makes the Gateway `web`, or another, with these listeners. */
  async listeners(...names: readonly string[]): Promise<void> {
    await this.cluster.apply({
      apiVersion: V1,
      kind: "Gateway",
      metadata: { name: "web" },
      spec: {
        gatewayClassName: this.namespace,
        listeners: names.map((name, i) => ({ name, port: 80 + i, protocol: "HTTP" })),
      },
    }, { namespace: this.namespace });
  }

  /** Makes a route with these parents. */
  async route(name: string, ...parents: readonly string[]): Promise<void> {
    await this.cluster.apply({
      apiVersion: V1,
      kind: "HTTPRoute",
      metadata: { name },
      spec: { parentRefs: parents.map((name) => ({ name })) },
    }, { namespace: this.namespace });
  }

  async get(kind: GatewayKind, name: string): Promise<Live | null> {
    const namespace = kind === "GatewayClass" ? undefined : this.namespace;
    return await this.cluster.get<Live>(V1, kind, name, namespace);
  }

  async status(kind: GatewayKind, name: string): Promise<LiveStatus> {
    return (await this.get(kind, name))?.status ?? {};
  }

  /** `True/Accepted@1` of a condition; null without it. */
  async condition(kind: GatewayKind, name: string, type: string): Promise<string | null> {
    return shown((await this.status(kind, name)).conditions, type);
  }

  /** Waits until a condition is shown as that. */
  async shows(kind: GatewayKind, name: string, type: string, wanted: string): Promise<void> {
    await eventually(
      `${type} ${wanted} of ${name}`,
      async () => await this.condition(kind, name, type) === wanted,
    );
  }

  /** Waits until a route has these parents, each `controllerName parent`. */
  async parents(route: string, ...wanted: readonly string[]): Promise<void> {
    await eventually(
      `parents ${wanted.join()} of ${route}`,
      async () => (await this.parentsOf(route)).join() === wanted.join(),
    );
  }

  async parentsOf(route: string): Promise<string[]> {
    const { parents = [] } = await this.status("HTTPRoute", route);
    return parents.map(({ parentRef, controllerName }) =>
      `${controllerName === GATEWAY_CONTROLLER ? "ours" : controllerName} ${parentRef.name}`
    );
  }

  /** Writes a status as another controller does. */
  async writeAs(kind: GatewayKind, name: string, status: object): Promise<void> {
    const namespace = kind === "GatewayClass" ? undefined : this.namespace;
    const path = await this.cluster.pathOf(V1, kind, name, namespace);
    const answer = await this.cluster.request(
      "PATCH",
      `${path}/status?fieldManager=other`,
      { status },
      "application/merge-patch+json",
    );
    if (answer.status !== 200) throw new Error(`No status of ${name}: ${answer.status}`);
  }

  /** Patches of the controller from the `from`th call on, of objects of this test. */
  writes(kind: GatewayKind, from = 0): RecordedRequest[] {
    const resource = `${kind.toLowerCase()}${kind === "GatewayClass" ? "es" : "s"}`;
    return this.gateway.recorded({ verb: ["patch"], resource }, from)
      .filter(({ namespace, name }) => (namespace || name) === this.namespace);
  }

  get calls(): number {
    return this.gateway.requests.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const replica of this.#replicas) await replica.close();
    await this.gateway.close();
    await this.cluster.request(
      "PATCH",
      await this.cluster.pathOf(V1, "GatewayClass", this.namespace),
      { metadata: { finalizers: null } },
      "application/merge-patch+json",
    );
    await this.cluster.delete(V1, "GatewayClass", this.namespace);
  }
}

export function shown(conditions: readonly Condition[] | undefined, type: string): string | null {
  const condition = conditions?.find((each) => each.type === type);
  if (condition === undefined) return null;
  const { status, reason, observedGeneration } = condition;
  return `${status}/${reason}@${observedGeneration}`;
}

/** One process. Its proxies are pods of no cluster: what they have is what a test says. */
export class StatusReplica {
  readonly output: GatewayStatusOutput;
  readonly fence = { leads: true };
  readonly logged: LogEntry[];
  /** Of Gateways; null while it is not known. */
  address: GatewayAddressState | null = {
    addresses: [{ type: "IPAddress", value: "203.0.113.1" }],
    fault: null,
  };
  acks: readonly ProxyAck[] = [];
  /** Hash of what is streamed now: one for each that says something else. */
  hash = "";
  readonly #watches: Watches;
  readonly #client: ReturnType<typeof clientOf>;
  readonly #namespace: string;
  #contents = 0;
  #content = "";
  #isClosed = false;

  private constructor(kubeconfig: string, namespace: string, proxyUpdates: "stream" | "files") {
    const { log, entries } = recordingLog();
    this.logged = entries;
    this.#namespace = namespace;
    const client = this.#client = clientOf(kubeconfig);
    const watches = this.#watches = new Watches({
      client,
      log,
      watchNamespaces: null,
      namespace,
      secrets: { mode: "named", bounds: { count: 1000, bytes: 8 << 20 } },
      nodeAddresses: false,
      configMap: null,
      gateway: true,
      objectBounds: DEFAULT_OBJECT_BOUNDS,
      timing: FAST,
    });
    const mayWrite = () => this.fence.leads;
    const leading = new AbortController().signal;
    const fence = { mayWrite, writeDeadline: () => 30_000, writeSignal: () => leading };
    this.output = new GatewayStatusOutput({
      ...{ watches, fence, log },
      client: new FencedClient(client, fence),
      metrics: new ControllerMetrics(),
      options: { proxyUpdates, watchNamespaces: null } as OutputContext["options"],
    }, {
      translationOf: () => watches.isGatewayApiKnown ? this.#translate() : null,
      contentOf: () => ({ hash: this.hash, version: VERSION }),
      acks: () => this.acks,
      addressOf: () => this.address,
      crds: () => null,
      onProblems: () => {},
    });
  }

  static async start(
    kubeconfig: string,
    namespace: string,
    proxyUpdates: "stream" | "files" = "stream",
  ): Promise<StatusReplica> {
    const replica = new StatusReplica(kubeconfig, namespace, proxyUpdates);
    const watches = replica.#watches;
    for (const name of ["gatewayClasses", "gateways", "httpRoutes"] as const) {
      watches.startKind(name);
    }
    watches.startKind("pods");
    watches.onChange(() => replica.translate());
    watches.onWorkloadChange(() => replica.output.changed());
    await eventually("Gateway API", () => watches.isGatewayApiKnown);
    replica.translate();
    return replica;
  }

  /** All at once, as the reconciler does it. */
  translate(): void {
    if (this.#isClosed) return;
    const content = JSON.stringify(
      this.#translate(),
      (key, value) => key === "attachedRoutes" ? undefined : value,
    );
    if (content !== this.#content) this.hash = `content-${++this.#contents}`;
    this.#content = content;
    this.output.observe({ snapshot: { listeners: [] } } as unknown as Reconciliation);
    this.output.poke();
  }

  /** Waits until these pods are known to be ready: the first list may be of a moment before. */
  async knows(...names: readonly string[]): Promise<void> {
    await eventually(`ready pods ${names.join()}`, () => {
      const pods = this.#watches.informer("pods").store.list();
      return names.every((name) =>
        pods.some(({ metadata, status }: { metadata: { name: string }; status?: unknown }) =>
          metadata.name === name && JSON.stringify(status).includes('"status":"True"')
        )
      );
    });
  }

  /** These proxies have acknowledged what is streamed now. */
  acknowledge(...uids: readonly string[]): void {
    this.acks = [
      ...this.acks.filter(({ podUid }) => !uids.includes(podUid ?? "")),
      ...uids.map((podUid) => ({
        ...{ podUid, peer: "10.0.0.1", version: null, hash: this.hash, obstacles: [] },
      })),
    ];
    this.output.changed();
  }

  /** Leads, or does not any more. */
  lead(leads: boolean): void {
    this.fence.leads = leads;
    this.output.forget();
    if (leads) this.output.wake();
  }

  get warnings(): string[] {
    return this.logged.filter(({ level }) => level === "warn").map(({ message }) => message);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.output.stop();
    await this.#watches.stop();
    this.#client.close();
  }

  /** All that is valid is accepted. */
  #translate(): GatewayTranslation {
    const { gatewayClasses, gateways, httpRoutes } = this.#watches.resources();
    const inNamespace = (objects: readonly unknown[] | null | undefined) =>
      (objects ?? []).filter((object) =>
        fieldOf(fieldOf(object, "metadata"), "namespace") === this.#namespace
      );
    const ours = inNamespace(gateways).filter((object) =>
      fieldOf(fieldOf(object, "spec"), "gatewayClassName") === this.#namespace
    );
    const names = new Set(ours.map((object) => fieldOf(fieldOf(object, "metadata"), "name")));
    const accepted = [trueCondition("Accepted"), trueCondition("ResolvedRefs")];
    const parentsOf = (route: unknown) =>
      (asList(fieldOf(fieldOf(route, "spec"), "parentRefs")) ?? []).filter((ref) =>
        names.has(fieldOf(ref, "name"))
      );
    const routes = inNamespace(httpRoutes).filter((route) => parentsOf(route).length > 0);
    const generationOf = (object: unknown) =>
      Number(fieldOf(fieldOf(object, "metadata"), "generation"));
    return {
      listenerSets: [],
      classes: readGatewayClasses(gatewayClasses ?? []).values().toArray()
        .filter(({ name }) => name === this.#namespace)
        .map(({ name, generation }) => ({ name, generation, conditions: [accepted[0]] })),
      gateways: ours.map((object) => {
        const name = fieldOf(fieldOf(object, "metadata"), "name");
        const attached = routes.filter((route) =>
          parentsOf(route).some((ref) => fieldOf(ref, "name") === name)
        );
        return {
          identity: readIdentity("Gateway", object)!,
          generation: generationOf(object),
          conditions: [trueCondition("Accepted")],
          ports: [],
          listeners: (asList(fieldOf(fieldOf(object, "spec"), "listeners")) ?? []).map((each) => ({
            name: String(fieldOf(each, "name")),
            supportedKinds: [{ group: GATEWAY_API, kind: "HTTPRoute" }],
            attachedRoutes: attached.length,
            conditions: accepted,
          })),
        };
      }) as unknown as GatewayTranslation["gateways"],
      routes: routes.map((route) => ({
        identity: readIdentity("HTTPRoute", route)!,
        generation: generationOf(route),
        parents: parentsOf(route).map((parentRef) => ({ parentRef, conditions: accepted })),
      })),
    } as unknown as GatewayTranslation;
  }
}

/** Without Gateways, so that contents are known by their hashes. */
const VERSION: SnapshotVersion = { epoch: "test", seen: {} };
