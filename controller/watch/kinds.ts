/**
 * Everything that the controller watches. In: a client and which namespaces. Out: stores that follow
 * the API server, what `translate` reads of them, and calls when it may have changed.
 *
 * Two groups: objects of users, from which the configuration is made; and our own objects in one
 * namespace, which are to be as they were written.
 */
import type { Logger } from "../../shared/log.ts";
import { CLAIMS_LABELS, CLAIMS_NAME } from "../outputs/publish/host_claims.ts";
import type { EventSubjects } from "../outputs/events/writer.ts";
import type { KubeClient } from "../kube/client.ts";
import { Informer } from "../kube/informer.ts";
import { type BoundedKind, type ObjectBounds, ObjectLedger } from "../kube/object_bounds.ts";
import {
  keepContent,
  keepWhole,
  type Reduce,
  reduceEndpointSlice,
  reduceIngress,
  reduceIngressClass,
  reduceNamespace,
  reduceNode,
  reducePod,
  reduceService,
  reduceServiceCidr,
} from "../kube/reduce.ts";
import {
  CONFIG_MAPS,
  ENDPOINT_SLICES,
  INGRESS_CLASSES,
  INGRESSES,
  type KubeObject,
  NAMESPACES,
  NODES,
  PODS,
  type Resource,
  SECRETS,
  SERVICE_CIDRS,
  SERVICES,
} from "../kube/types.ts";
import type { WatchedKind } from "../reconcile/replica_catch_up.ts";
import type {
  EndpointSlice,
  Ingress,
  IngressClass,
  KubeSecret,
  Namespace,
  Resources,
  Service,
} from "../kube/resources.ts";
import { PUBLISHED_LABEL, PUBLISHED_LABELS } from "../outputs/publish/repair.ts";
import { NamedSecrets, type SecretMode } from "./secrets.ts";
import { WORKLOAD_RESOURCES } from "../outputs/workload/kinds.ts";
import { MANAGED_BY_LABEL, OWNER_LABELS, PROXY_SELECTOR } from "../outputs/workload/names.ts";
import type { WorkloadKind } from "../outputs/workload/options.ts";

export interface WatchesOptions {
  readonly client: KubeClient;
  readonly log: Logger;
  /** Null for all. */
  readonly watchNamespaces: readonly string[] | null;
  /** Where our own objects are. */
  readonly namespace: string;
  readonly secrets: SecretMode;
  /** Whether the nodes of proxies are asked for their addresses. */
  readonly nodes: boolean;
  /** Whether they are asked for their zones. */
  readonly zones: boolean;
  /** What is kept of one tenant. */
  readonly objectBounds: ObjectBounds;
}

/** Milliseconds from the first room in a namespace until its objects are listed anew. */
const RELIST_DELAY = 10_000;

/** Labels of what the controller has made. */
const OWNED = `${MANAGED_BY_LABEL}=${OWNER_LABELS[MANAGED_BY_LABEL]}`;
export const PUBLISHED_SELECTOR = `${PUBLISHED_LABEL}=${PUBLISHED_LABELS[PUBLISHED_LABEL]}`;
/** One watch for both: a failure is logged once. */
const OWN_CONFIG_MAPS = `${PUBLISHED_LABEL} in (${
  [PUBLISHED_LABELS, CLAIMS_LABELS].map((labels) => labels[PUBLISHED_LABEL]).join(",")
})`;
const PROXY_PODS = Object.entries(PROXY_SELECTOR).map((pair) => pair.join("=")).join(",");

type Watched<T> = T & KubeObject;

export class Watches {
  readonly ingresses: Informer<Watched<Ingress>>;
  readonly ingressClasses: Informer<Watched<IngressClass>>;
  readonly services: Informer<Watched<Service>>;
  readonly endpointSlices: Informer<Watched<EndpointSlice>>;
  readonly secrets: NamedSecrets;
  /** What is published, and the recorded claims to hosts. */
  readonly configMaps: Informer<KubeObject>;
  readonly keySecrets: Informer<Watched<KubeSecret>>;
  readonly pods: Informer<KubeObject>;
  /** Their metadata; null where the controller is limited to namespaces. */
  readonly namespaces: Informer<Watched<Namespace>> | null;
  /** Null where nobody asks for their addresses. */
  readonly nodes: Informer<KubeObject> | null;
  /** The same; null where nobody asks for their zones either. */
  readonly zoneNodes: Informer<KubeObject> | null;
  /** Of Kubernetes 1.33 and newer; null where the controller is limited to namespaces. */
  readonly serviceCidrs: Informer<KubeObject> | null;
  readonly #workload: ReadonlyMap<WorkloadKind, Informer<KubeObject>>;
  /** Lists that are to be made for the sake of objects that may fit again. */
  readonly #relists = new Map<object, ReturnType<typeof setTimeout>>();
  readonly #all: readonly {
    readonly resource: Resource;
    readonly informer: Informer<KubeObject>;
  }[];

  constructor(options: WatchesOptions) {
    const { client, log, watchNamespaces: namespaces, namespace } = options;
    const all: { resource: Resource; informer: Informer<KubeObject> }[] = [];
    const watch = <T extends KubeObject>(
      resource: Resource,
      own: Pick<
        ConstructorParameters<typeof Informer<T>>[0],
        "reduce" | "countsVersions" | "labelSelector" | "metadataOnly" | "isOptional"
      >,
      where: readonly string[] | null = namespaces,
    ): Informer<T> => {
      const informer = new Informer<T>({ client, log, resource, namespaces: where, ...own });
      all.push({ resource, informer: informer as unknown as Informer<KubeObject> });
      return informer;
    };
    const bounded = <T extends KubeObject>(
      kind: BoundedKind,
      resource: Resource,
      reduce: Reduce,
    ): Informer<T> => {
      const ledger = new ObjectLedger(
        kind,
        options.objectBounds,
        () => this.#relistLater(informer),
      );
      const informer: Informer<T> = watch<T>(resource, { reduce: ledger.bounded(reduce) });
      informer.store.subscribe(({ before, after }) => {
        if (after !== null || before === null) return;
        ledger.forget(before.metadata.namespace ?? "", before.metadata.name);
      });
      return informer;
    };
    // Its status is written against the version that was looked at.
    this.ingresses = bounded("Ingress", INGRESSES, reduceIngress);
    this.ingressClasses = watch(INGRESS_CLASSES, { reduce: reduceIngressClass });
    this.services = bounded("Service", SERVICES, reduceService);
    this.endpointSlices = bounded("EndpointSlice", ENDPOINT_SLICES, reduceEndpointSlice);
    this.configMaps = watch(
      CONFIG_MAPS,
      { labelSelector: OWN_CONFIG_MAPS, reduce: keepContent(CONFIG_MAPS) },
      [namespace],
    );
    this.keySecrets = watch(
      SECRETS,
      { labelSelector: PUBLISHED_SELECTOR, reduce: keepContent(SECRETS) },
      [namespace],
    );
    this.namespaces = namespaces === null
      ? watch(NAMESPACES, { metadataOnly: true, reduce: reduceNamespace })
      : null;
    this.pods = watch(PODS, { labelSelector: PROXY_PODS, reduce: reducePod }, [namespace]);
    this.zoneNodes = options.nodes || options.zones ? watch(NODES, { reduce: reduceNode }) : null;
    this.nodes = options.nodes ? this.zoneNodes : null;
    this.serviceCidrs = namespaces === null
      ? watch(SERVICE_CIDRS, { reduce: reduceServiceCidr, isOptional: true })
      : null;
    const kinds = Object.entries(WORKLOAD_RESOURCES) as [WorkloadKind, Resource][];
    this.#workload = new Map(
      kinds.map(([kind, resource]) => [
        kind,
        watch(resource, { labelSelector: OWNED, reduce: keepWhole(resource) }, [namespace]),
      ]),
    );
    this.secrets = new NamedSecrets({ client, log, namespaces, mode: options.secrets });
    this.#all = all;
  }

  /** Those of users, whose versions make up that of a snapshot; Secrets are asked apart. */
  get kinds(): readonly WatchedKind[] {
    return [
      asKind("Ingress", this.ingresses),
      asKind("IngressClass", this.ingressClasses),
      asKind("Service", this.services),
      asKind("EndpointSlice", this.endpointSlices),
    ];
  }

  /**
   * Milliseconds for which one of the kinds of users cannot be watched; 0 where all are. Secrets,
   * which many a controller may not watch, do not count.
   */
  get failingFor(): number {
    const { ingresses, ingressClasses, services, endpointSlices } = this;
    const kinds = [ingresses, ingressClasses, services, endpointSlices];
    return Math.max(...kinds.map(({ failingFor }) => failingFor));
  }

  /** Whether our own objects are known. */
  get ownAreSynced(): boolean {
    return [this.configMaps, this.keySecrets, ...this.#workload.values()]
      .every((informer) => informer.isSynced);
  }

  /** Whether Namespaces are known, or known not to be readable: who owns a host depends on them. */
  get areNamespacesKnown(): boolean {
    const { namespaces } = this;
    return namespaces === null || namespaces.isSynced ||
      namespaces.failures.some(({ code }) => code === 403);
  }

  /** Whether what no endpoint may be is known, as far as it can be had. */
  get isDeniedKnown(): boolean {
    return [this.zoneNodes, this.serviceCidrs].every((informer) =>
      informer === null || informer.isSynced || informer.failures.length > 0
    );
  }

  /** Whether addresses of nodes are known, or known not to be had. */
  get areNodesKnown(): boolean {
    return this.nodes === null || this.nodes.isSynced || this.nodes.failures.length > 0;
  }

  /** Whether any of what the controller publishes is there. */
  get isAnythingPublished(): boolean {
    return this.configMaps.store.size + this.keySecrets.store.size > 0;
  }

  /** Kinds whose first list is not complete yet, as the API names them. */
  get unlisted(): readonly string[] {
    const plurals = this.#all.filter(({ informer }) => !informer.isSynced)
      .map(({ resource }) => resource.plural);
    return [...new Set([...plurals, ...(this.secrets.isSynced ? [] : [SECRETS.plural])])].sort();
  }

  /** Calls `listed` when a kind has been listed whole for the first time. */
  onListed(listed: () => void): void {
    for (const { informer } of this.#all) informer.synced.then(listed);
    this.secrets.synced.then(listed);
  }

  resources(): Resources {
    return {
      ingresses: this.ingresses.store.list(),
      ingressClasses: this.ingressClasses.store.list(),
      services: this.services.store.list(),
      endpointSlices: this.endpointSlices.store.list(),
      secrets: this.secrets.store.list(),
      namespaces: this.namespaces?.isSynced ? this.namespaces.store.list() : null,
      nodes: this.zoneNodes?.isSynced ? this.zoneNodes.store.list() : null,
      serviceCidrs: this.serviceCidrs?.isSynced ? this.serviceCidrs.store.list() : null,
    };
  }

  /** An object of the workload; null where there is none. */
  workload(kind: WorkloadKind, namespace: string, name: string): KubeObject | null {
    return this.#workload.get(kind)!.store.get(namespace, name);
  }

  /** Where objects are that problems are about. */
  subjects(): EventSubjects {
    const user = {
      Ingress: { resource: INGRESSES, view: this.ingresses.store },
      IngressClass: { resource: INGRESS_CLASSES, view: this.ingressClasses.store },
      Service: { resource: SERVICES, view: this.services.store },
      EndpointSlice: { resource: ENDPOINT_SLICES, view: this.endpointSlices.store },
      Secret: { resource: SECRETS, view: this.secrets.store },
      ConfigMap: { resource: CONFIG_MAPS, view: this.configMaps.store },
      ...(this.namespaces === null
        ? {}
        : { Namespace: { resource: NAMESPACES, view: this.namespaces.store } }),
    };
    const own = [...this.#workload].filter(([kind]) => kind !== "Service").map((
      [kind, { store }],
    ) => [kind, { resource: WORKLOAD_RESOURCES[kind], view: store }]);
    return { ...user, ...Object.fromEntries(own) };
  }

  /**
   * Calls `changed` when what is translated has changed, or has been listed for the first time:
   * status is not, and the controller itself writes that of Ingresses.
   */
  onChange(changed: () => void): void {
    // A kind of which there is no object changes nothing when it is listed.
    this.onListed(changed);
    const subscriber = ({ isStatusOnly }: { readonly isStatusOnly: boolean }) => {
      if (!isStatusOnly) changed();
    };
    this.ingresses.store.subscribe(subscriber);
    this.ingressClasses.store.subscribe(subscriber);
    this.services.store.subscribe(subscriber);
    this.endpointSlices.store.subscribe(subscriber);
    this.secrets.store.subscribe(subscriber);
    this.namespaces?.store.subscribe(subscriber);
    for (const informer of [this.namespaces, this.zoneNodes, this.serviceCidrs]) {
      informer?.onFailures(changed);
    }
    this.zoneNodes?.store.subscribe(subscriber);
    this.serviceCidrs?.store.subscribe(subscriber);
  }

  onClaimsChange(changed: () => void): void {
    this.configMaps.store.subscribe(({ before, after }) => {
      if ((after ?? before)?.metadata.name === CLAIMS_NAME) changed();
    });
  }

  onPublishedChange(changed: () => void): void {
    for (const { store } of [this.configMaps, this.keySecrets]) store.subscribe(changed);
  }

  onWorkloadChange(changed: () => void): void {
    for (const { store } of [...this.#workload.values(), this.pods]) store.subscribe(changed);
    this.nodes?.store.subscribe(changed);
    this.nodes?.onFailures(changed);
  }

  /** By resource, for metrics. */
  stats(): { readonly resource: string; readonly stats: Informer<KubeObject>["stats"] }[] {
    return [
      ...this.#all.map(({ resource, informer: { stats } }) => ({ resource, stats })),
      { resource: SECRETS, stats: this.secrets.stats },
    ].map(({ resource, stats }) => ({ resource: resource.plural, stats }));
  }

  /** Objects that were crowded out are not in the store: only a list has them. */
  #relistLater(informer: Pick<Informer<KubeObject>, "relist">): void {
    if (this.#relists.has(informer)) return;
    const timer = setTimeout(() => {
      this.#relists.delete(informer);
      // A failure is logged by the informer, and the next object that goes asks for another list.
      informer.relist();
    }, RELIST_DELAY);
    this.#relists.set(informer, timer);
  }

  start(): void {
    for (const { informer } of this.#all) informer.start();
    this.secrets.start();
  }

  async stop(): Promise<void> {
    for (const timer of this.#relists.values()) clearTimeout(timer);
    await Promise.all([...this.#all.map(({ informer }) => informer.stop()), this.secrets.stop()]);
  }
}

function asKind<T extends KubeObject>(kind: string, informer: Informer<T>): WatchedKind {
  return {
    kind,
    get isSynced() {
      return informer.isSynced;
    },
    get seen() {
      return informer.seen;
    },
    get revision() {
      return informer.revision;
    },
    relist: () => informer.relist(),
  };
}
