/**
 * Everything that the controller watches. In: a client and which namespaces. Out: an informer for each
 * row of `kinds.ts`, what `translate` reads of them, and calls when it may have changed.
 *
 * A kind can be started and stopped at any time, as its API comes and goes. One that is stopped has
 * no objects, and nobody waits for it; started again, its objects are there once all are listed.
 */
import type { Logger } from "../../shared/log.ts";
import type { EventSubjects } from "../outputs/events/writer.ts";
import { CLAIMS_NAME } from "../outputs/publish/host_claims.ts";
import type { WorkloadKind } from "../outputs/workload/options.ts";
import type { WatchedKind } from "../reconcile/replica_catch_up.ts";
import type { KubeClient } from "../kube/client.ts";
import { Informer, type InformerStats } from "../kube/informer.ts";
import { type ObjectBounds, ObjectLedger } from "../kube/object_bounds.ts";
import type { ReflectorTiming } from "../kube/reflector.ts";
import type { Resources } from "../kube/resources.ts";
import type { ConfigMapName } from "../translate/model/global_settings.ts";
import type { ApiResult, KubeObject } from "../kube/types.ts";
import {
  DISCOVERED_KINDS,
  type Feed,
  type Kind,
  KIND_NAMES,
  type KindName,
  KINDS,
  type KindsFeeding,
  NAMED_SECRETS,
  type Scope,
  type WatchedObjects,
} from "./kinds.ts";
import { ParameterConfigMaps } from "./parameter_config_maps.ts";
import { NamedSecrets, type NamedSecretsOptions } from "./secrets.ts";

export interface WatchesOptions {
  readonly client: KubeClient;
  readonly log: Logger;
  /** Null for all. */
  readonly watchNamespaces: readonly string[] | null;
  /** Where our own objects are. */
  readonly namespace: string;
  readonly secrets: Pick<NamedSecretsOptions, "mode" | "bounds">;
  /** Whether the status of Ingresses has addresses of nodes. */
  readonly nodeAddresses: boolean;
  /** The ConfigMap of ingress-nginx; null for none. */
  readonly configMap: ConfigMapName | null;
  /** Whether objects of Gateway API are read, once their kinds are served. */
  readonly gateway: boolean;
  /** What is kept of one tenant. */
  readonly objectBounds: ObjectBounds;
  /** For tests. */
  readonly timing?: Partial<ReflectorTiming>;
}

/** Kinds that stand in `Resources` by their names; of ConfigMaps, others may come from elsewhere. */
type ListedKinds = Exclude<KindsFeeding<"translation">, "nginxConfigMap">;

/** @param isUrgent Whether it need not wait for others; see `Kind.isUrgentWhenNew`. */
export type ChangeListener = (isUrgent: boolean) => void;

/** Milliseconds from the first room in a namespace until its objects are listed anew. */
const RELIST_DELAY = 10_000;

export class Watches {
  readonly secrets: NamedSecrets;
  /** Null where Gateway API is not read. */
  readonly parameters: ParameterConfigMaps | null;
  readonly #options: WatchesOptions;
  readonly #informers: { [K in KindName]?: Informer<WatchedObjects[K]> } = {};
  /** The rows that this installation watches. */
  readonly #wanted: readonly KindName[];
  /** Rows without which nothing is translated for the first time. */
  readonly #awaited: Set<KindName>;
  /** Those that are watched from the start on, whatever the API server serves. */
  readonly #begun: ReadonlySet<KindName>;
  /** Who is to know that something may have changed. */
  readonly #changed: ChangeListener[] = [];
  /** Whether the API server has said which kinds of Gateway API it serves. */
  #isDiscovered = false;
  /** Lists that are to be made for the sake of objects that may fit again. */
  readonly #relists = new Map<object, ReturnType<typeof setTimeout>>();

  constructor(options: WatchesOptions) {
    const { client, log, watchNamespaces: namespaces, nodeAddresses, configMap, gateway } = options;
    this.#options = options;
    const needs = { allNamespaces: namespaces === null, nodeAddresses, configMap, gateway };
    this.#wanted = KIND_NAMES.filter((name) => KINDS[name].isWatched(needs));
    this.#begun = new Set(
      this.#wanted.filter((name) =>
        !DISCOVERED_KINDS.includes(name) && KINDS[name].watchedWith === undefined
      ),
    );
    this.#awaited = new Set(this.#begun);
    this.secrets = new NamedSecrets({ client, log, namespaces, ...options.secrets });
    this.parameters = !gateway ? null : new ParameterConfigMaps({
      ...{ client, log, namespaces },
      classNamespace: options.namespace,
      ...{ maxBytes: options.objectBounds.objectBytes, bounds: options.secrets.bounds },
    });
  }

  /** Also of a row that is not watched: its store is empty, and not synced. */
  informer<K extends KindName>(name: K): Informer<WatchedObjects[K]> {
    const made: Informer<WatchedObjects[K]> | undefined = this.#informers[name];
    if (made !== undefined) return made;
    const informer = this.#make(KINDS[name]);
    // An assignment by a generic key is none to TypeScript, where the fields are optional.
    Object.assign(this.#informers, { [name]: informer });
    return informer;
  }

  /** The informer of a row that this installation watches; else null. */
  wanted<K extends KindName>(name: K): Informer<WatchedObjects[K]> | null {
    return this.#wanted.includes(name) ? this.informer(name) : null;
  }

  /**
   * Those whose versions make up that of a snapshot; Secrets are asked apart.
   *
   * @param isServed Of a kind that comes and goes, by a discovery that begins then; see `GatewayDiscovery`.
   */
  versioned(isServed: IsServed): readonly WatchedKind[] {
    return this.#versioned.map((name) => {
      const { resource: { kind }, awaited, versions } = KINDS[name];
      const isOfGateways = versions !== undefined;
      return asKind({ kind, isOfGateways }, this.informer(name), {
        mayBeMissing: awaited !== "listed",
        isServed: isOfGateways ? () => isServed(name) : ALWAYS_SERVED,
      });
    });
  }

  /**
   * Milliseconds for which one of the versioned kinds cannot be watched; 0 where all are. Those that many
   * a controller may not watch, or whose CRDs have gone, do not count.
   */
  get failingFor(): number {
    return Math.max(
      0,
      ...this.#versioned.filter((name) => KINDS[name].awaited === "listed")
        .map((name) => this.informer(name).failingFor),
    );
  }

  get #versioned(): readonly KindName[] {
    return this.#wanted.filter((name) => KINDS[name].isVersioned);
  }

  /** Whether all that the first translation waits for is listed, or known not to be had. */
  get areKnown(): boolean {
    return [...this.#awaited].every((name) => {
      const { isSynced, failures } = this.informer(name);
      const { awaited } = KINDS[name];
      return isSynced || awaited === "always" ||
        (awaited === "failed" && failures.length > 0) ||
        (awaited === "forbidden" && failures.some(({ code }) => code === 403));
    });
  }

  /**
   * Whether all of Gateway API that the API server serves is listed, and that is enough to serve it: a
   * Gateway that is not listed yet would look as if it had been deleted. Gateways have a status without
   * HTTPRoutes, too.
   */
  get isGatewayApiKnown(): boolean {
    const needed: readonly KindName[] = ["gatewayClasses", "gateways"];
    return needed.every((name) => this.informer(name).isSynced) && this.#areDiscoveredListed;
  }

  /** Whether addresses of nodes are known, or known not to be had. */
  get areNodesKnown(): boolean {
    if (!this.#options.nodeAddresses) return true;
    const { isSynced, failures } = this.informer("nodes");
    return isSynced || failures.length > 0;
  }

  /** The nodes whose addresses are published; null where none are. */
  get addressNodes(): readonly KubeObject[] | null {
    return this.#options.nodeAddresses ? this.informer("nodes").store.list() : null;
  }

  /** Whether any of what the controller publishes is there. */
  get isAnythingPublished(): boolean {
    return this.#feeding("published").some((informer) => informer.store.size > 0);
  }

  /** Kinds whose first list is not complete yet, as the API names them. */
  get unlisted(): readonly string[] {
    const plurals = KIND_NAMES.filter((name) => {
      const { isRunning, isSynced } = this.informer(name);
      return !isSynced && (isRunning || this.#awaited.has(name));
    }).map((name) => KINDS[name].resource.plural);
    const secrets = this.secrets.isSynced ? [] : [NAMED_SECRETS.resource.plural];
    return [...new Set([...plurals, ...secrets])].sort();
  }

  /** The API server has said which kinds of Gateway API it serves, and they are started. */
  discovered(): void {
    if (this.#isDiscovered) return;
    this.#isDiscovered = true;
    for (const changed of this.#changed) changed(false);
  }

  /** Whether it is not known yet which objects of Gateway API there are. */
  get #isGatewayPending(): boolean {
    return this.#options.gateway &&
      !(this.#isDiscovered && this.#areDiscoveredListed && this.parameters?.isKnown);
  }

  /** Of Gateway API, every kind that was found and started. */
  get #areDiscoveredListed(): boolean {
    return DISCOVERED_KINDS.every((name) => {
      const { isRunning, isSynced } = this.informer(name);
      return !isRunning || isSynced;
    });
  }

  /** Calls `listed` when a kind has been listed whole for the first time. */
  onListed(listed: () => void): void {
    for (const name of KIND_NAMES) this.informer(name).synced.then(listed);
    for (const named of this.#named) named.synced.then(listed);
  }

  resources(): Resources {
    /** Null where they cannot be read. */
    const known = <K extends KindName>(name: K): readonly WatchedObjects[K][] | null => {
      const { isSynced, store } = this.informer(name);
      return isSynced ? store.list() : null;
    };
    const resources: Record<ListedKinds, unknown> & Resources = {
      ingresses: this.informer("ingresses").store.list(),
      ingressClasses: this.informer("ingressClasses").store.list(),
      services: this.informer("services").store.list(),
      endpointSlices: this.informer("endpointSlices").store.list(),
      secrets: this.secrets.store.list(),
      configMaps: known("nginxConfigMap"),
      namespaces: known("namespaces"),
      nodes: known("nodes"),
      serviceCidrs: known("serviceCidrs"),
      gatewayClasses: known("gatewayClasses"),
      gateways: known("gateways"),
      httpRoutes: known("httpRoutes"),
      referenceGrants: known("referenceGrants"),
      backendTlsPolicies: known("backendTlsPolicies"),
      listenerSets: known("listenerSets"),
      gatewayConfigMaps: this.parameters?.store.list() ?? [],
      unreadConfigMaps: this.parameters?.unread ?? [],
      gatewayIsPending: this.#isGatewayPending,
    };
    return resources;
  }

  /** An object of the workload; null where there is none. */
  workload(kind: WorkloadKind, namespace: string, name: string): KubeObject | null {
    return this.informer(`proxy${kind}`).store.get(namespace, name);
  }

  /** Where objects are that problems are about. */
  subjects(): EventSubjects {
    const { resource } = NAMED_SECRETS;
    const names = this.#wanted.filter((name) => KINDS[name].feeds.includes("events"));
    const kinds = Map.groupBy(names, (name) => KINDS[name].resource.kind);
    return {
      ...Object.fromEntries(
        // ConfigMaps are watched in two places.
        [...kinds].map(([kind, rows]) => {
          const views: readonly ObjectLookup[] = rows.map((name) => this.informer(name).store);
          return [kind, { resource: KINDS[rows[0]].resource, view: firstOf(views) }];
        }),
      ),
      [resource.kind]: { resource, view: this.secrets.store },
    };
  }

  /**
   * Calls `changed` when what is translated has changed, or has been listed for the first time:
   * mostly status is not, and the controller itself writes that of Ingresses.
   */
  onChange(changed: ChangeListener): void {
    const other = () => changed(false);
    // A kind of which there is no object changes nothing when it is listed.
    this.onListed(other);
    this.#changed.push(changed);
    for (const { store } of this.#named) {
      store.subscribe(({ isStatusOnly }) => isStatusOnly || other());
    }
    // One that is missing is no change of the store.
    this.parameters?.onKnown(other);
    for (const name of KIND_NAMES.filter((name) => KINDS[name].feeds.includes("translation"))) {
      const informer = this.informer(name);
      const { isStatusTranslated = false, isUrgentWhenNew = false } = KINDS[name];
      informer.store.onUpdate(({ isStatusOnly, isAddition }) => {
        if (isStatusTranslated || !isStatusOnly) changed(isUrgentWhenNew && isAddition);
      });
      // Translated without them, once they are known not to be had.
      if (KINDS[name].awaited !== "listed") informer.onFailures(other);
    }
  }

  onClaimsChange(changed: () => void): void {
    this.informer("configMaps").store.subscribe(({ before, after }) => {
      if ((after ?? before)?.metadata.name === CLAIMS_NAME) changed();
    });
  }

  onPublishedChange(changed: () => void): void {
    for (const { store } of this.#feeding("published")) store.onUpdate(changed);
  }

  onWorkloadChange(changed: () => void): void {
    for (const { store } of this.#feeding("workload")) store.onUpdate(changed);
    if (!this.#options.nodeAddresses) return;
    for (const informer of this.#feeding("addresses")) {
      informer.store.onUpdate(changed);
      informer.onFailures(changed);
    }
  }

  /** By resource, for metrics. */
  stats(): { readonly resource: string; readonly stats: InformerStats }[] {
    return [
      ...KIND_NAMES.filter((name) => this.#begun.has(name) || this.informer(name).isRunning)
        .map((name) => ({
          resource: KINDS[name].resource.plural,
          stats: this.informer(name).stats,
        })),
      ...this.#named.map(({ plural, stats }) => ({ resource: plural, stats })),
    ];
  }

  /**
   * Begins with all that this installation watches, but for kinds that have to be discovered; to be
   * called once.
   */
  start(): void {
    for (const name of this.#begun) this.informer(name).start();
    this.secrets.start();
  }

  /**
   * Begins with a kind that is not watched: its objects are there when all of them are listed. What
   * goes on does not wait for that.
   * @param version Of its API; one that is watched in another version goes on with this one, and its
   * objects stay until they have been listed anew.
   */
  startKind(name: KindName, version = KINDS[name].resource.version): void {
    this.informer(name).useVersion(version);
    this.informer(name).start();
    for (const other of KIND_NAMES.filter((other) => KINDS[other].watchedWith === name)) {
      this.informer(other).start();
    }
  }

  /**
   * False where the API server denies (403) a list of the kind, in the first of the namespaces that are served.
   * @param version Of its API.
   */
  async mayList(name: KindName, version: string, signal: AbortSignal): Promise<boolean> {
    const { resource, scope } = KINDS[name];
    const namespace = resource.namespaced ? this.#namespacesOf(scope)?.[0] ?? null : null;
    const listed = await this.#options.client.list({ ...resource, version }, { namespace }, {
      limit: 1,
      isOptional: true,
      signal,
    });
    return listed.ok || listed.error.code !== 403;
  }

  /** Ends the watch of a kind and forgets its objects, as when its API has gone. Never throws. */
  async stopKind(name: KindName): Promise<void> {
    this.#awaited.delete(name);
    await this.informer(name).reset();
  }

  /** Everything has ended when it resolves; stores stay as they are. Never throws. */
  async stop(): Promise<void> {
    for (const timer of this.#relists.values()) clearTimeout(timer);
    await Promise.all([
      ...KIND_NAMES.map((name) => this.informer(name).stop()),
      ...this.#named.map((named) => named.stop()),
    ]);
  }

  /** Objects that are read by name. */
  get #named(): readonly (NamedSecrets | ParameterConfigMaps)[] {
    return this.parameters === null ? [this.secrets] : [this.secrets, this.parameters];
  }

  #feeding(feed: Feed): Pick<Informer<KubeObject>, "store" | "onFailures">[] {
    return KIND_NAMES.filter((name) => KINDS[name].feeds.includes(feed))
      .map((name) => this.informer(name));
  }

  #make<T extends KubeObject>(kind: Kind<T>): Informer<T> {
    const { client, log, objectBounds, timing } = this.#options;
    const { resource, labelSelector, metadataOnly, isOptional, bounded } = kind;
    const ledger = bounded === undefined ? null : new ObjectLedger(
      bounded,
      objectBounds,
      () => this.#relistLater(informer),
    );
    const reduce = (object: T) => kind.reduce(object);
    const informer: Informer<T> = new Informer<T>({
      client,
      log,
      resource,
      namespaces: this.#namespacesOf(kind.scope),
      labelSelector,
      fieldSelector: this.#fieldSelectorOf(kind.scope),
      metadataOnly,
      isOptional,
      timing,
      reduce: ledger === null ? reduce : ledger.bounded(reduce),
      onListed: (namespace) =>
        ledger?.keepOnly(namespace, (of, name) => informer.store.get(of, name) !== null),
    });
    informer.store.subscribe(({ before, after }) => {
      if (after !== null || before === null) return;
      ledger?.forget(before.metadata.namespace ?? "", before.metadata.name);
    });
    return informer;
  }

  /** Null for all. */
  #namespacesOf(scope: Scope): readonly string[] | null {
    if (scope === "cluster") return null;
    // Without the flag it is not watched.
    if (scope === "configmap") return [this.#options.configMap?.namespace ?? ""];
    return scope === "system" ? [this.#options.namespace] : this.#options.watchNamespaces;
  }

  /** A list and a watch of one name may be granted for that name alone. */
  #fieldSelectorOf(scope: Scope): string | undefined {
    const { configMap } = this.#options;
    return scope === "configmap" && configMap !== null
      ? `metadata.name=${configMap.name}`
      : undefined;
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
}

type ObjectLookup = EventSubjects[string]["view"];

/** What the first of them has that has it. */
function firstOf(views: readonly ObjectLookup[]): ObjectLookup {
  return {
    get: (namespace, name) =>
      views.values().map((view) => view.get(namespace, name)).find((found) => found !== null) ??
        null,
  };
}

type IsServed = (name: KindName) => Promise<ApiResult<boolean>>;

const ALWAYS_SERVED = () => Promise.resolve({ ok: true, value: true } as const);

interface Absence {
  /** Whether a translation goes on without the kind. */
  readonly mayBeMissing: boolean;
  readonly isServed: () => Promise<ApiResult<boolean>>;
}

function asKind<T extends KubeObject>(
  about: Pick<WatchedKind, "kind" | "isOfGateways">,
  informer: Informer<T>,
  { mayBeMissing, isServed }: Absence,
): WatchedKind {
  return {
    ...about,
    get isSynced() {
      return mayBeMissing || informer.isSynced;
    },
    get seen() {
      return informer.seen;
    },
    get revision() {
      return informer.revision;
    },
    relist: async () => {
      const listed = await informer.relist();
      if (listed.ok || !mayBeMissing) return listed;
      // What may not be read is as well known as it can be.
      if (listed.error.code === 403) return { ok: true };
      if (listed.error.code !== 404 && informer.isRunning) return listed;
      const served = await isServed();
      if (!served.ok) return served;
      return served.value ? await informer.relist() : { ok: true };
    },
  };
}
