/**
 * Objects of one kind that others name. In: their names, and a client. Out: a store that has them, and no
 * others, as the API server has them now.
 *
 * A watch of metadata alone says which version there is of each object, and those that are wanted are read
 * by name; no data of another one crosses the wire. Where the controller may not list and watch the kind, it
 * asks for each wanted one again and again, which needs `get` alone. With a field selector, one watch of all
 * objects that it selects with their data; wanted ones beside these are asked for like that.
 *
 * An object that cannot be read stays as it was; one that is not wanted any more is forgotten.
 */
import { type Logger, silentLogger } from "../../shared/log.ts";
import type { BackoffLimits } from "../kube/backoff.ts";
import type { KubeClient } from "../kube/client.ts";
import { excessOf } from "../kube/excess.ts";
import { Informer, type InformerStats, type RelistResult } from "../kube/informer.ts";
import type { ObjectLedger } from "../kube/object_bounds.ts";
import { reduceToVersion } from "../kube/reduce.ts";
import { REFLECTOR_TIMING, type ReflectorTiming } from "../kube/reflector.ts";
import { compareRevisions, newestRevision } from "../kube/revision.ts";
import { ObjectStore, type ObjectView } from "../kube/store.ts";
import type { ApiError, KubeObject, Resource } from "../kube/types.ts";
import { ObjectFetcher, type Verdict } from "./object_fetcher.ts";

export interface NamedTiming {
  /** Milliseconds between two reads of an object that cannot be watched, about. */
  readonly poll: number;
  /** Between two tries where there is no answer, or no object. */
  readonly backoff: BackoffLimits;
  /** Milliseconds that `relist` waits for all answers. */
  readonly patience: number;
  readonly watch: ReflectorTiming;
}

export const NAMED_TIMING: NamedTiming = {
  poll: 30_000,
  backoff: { first: 1_000, last: 30_000 },
  patience: 30_000,
  watch: REFLECTOR_TIMING,
};

export interface NamedObjectsOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource;
  /** What is kept of each. */
  readonly reduce: (object: T) => T;
  /** Of objects that are watched with their data: takes each, and those that go; missing where all are kept. */
  readonly ledger?: Pick<ObjectLedger, "bounded" | "forget" | "keepOnly">;
  /** Told of each object that was read, null for one that is not there; returns what is stored in its place. */
  readonly admit?: (key: string, object: T | null) => T | null;
  /** Of objects that are watched with their data; null where metadata is watched. */
  readonly fieldSelector: string | null;
  /** Where the right to read them is granted, for messages: `manifests/`. */
  readonly rights: string;
  /** Null for all. */
  readonly namespaces: readonly string[] | null;
  readonly log?: Logger;
  readonly timing?: Partial<NamedTiming>;
  /** Numbers from 0 up to 1, for jitter. */
  readonly random?: () => number;
}

/** Calls at a time: a thousand objects take a second or two, and the API server has others to serve. */
const PARALLEL = 8;

/** One that is wanted. */
interface Wanted {
  readonly namespace: string;
  readonly name: string;
  /** What was read last: its resourceVersion, "" for none there. Null before, or where it must be new. */
  version: string | null;
}

export class NamedObjects<T extends KubeObject> {
  readonly kind: string;
  readonly plural: string;
  readonly store: ObjectView<T>;
  /** Resolves when `isSynced` is true for the first time. */
  readonly synced: Promise<void>;
  readonly #onSynced: () => void;
  readonly #store = new ObjectStore<T>();
  readonly #options: NamedObjectsOptions<T>;
  /** Only versions are watched. */
  readonly #isByVersion: boolean;
  readonly #timing: NamedTiming;
  readonly #random: () => number;
  readonly #log: Logger;
  readonly #client: KubeClient;
  /** Which objects there are: their versions, or all that the field selector selects. */
  readonly #index: Informer<T>;
  readonly #fetcher: ObjectFetcher<T>;
  readonly #wanted = new Map<string, Wanted>();
  /** Wanted ones that are not known as they are now. */
  readonly #pending = new Set<string>();
  readonly #waiting = new Set<() => void>();
  readonly #onKnown: (() => void)[] = [];
  /** Ways in which reading failed since everything was read, each logged once. */
  readonly #logged = new Set<string>();
  readonly #ends: (() => void)[] = [];
  #isPolling = false;
  #isStopped = false;
  #seen = "0";

  constructor(options: NamedObjectsOptions<T>) {
    const { client, resource, namespaces, fieldSelector, reduce, ledger } = options;
    this.#options = options;
    this.kind = resource.kind;
    this.plural = resource.plural;
    this.store = this.#store;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.synced = promise;
    this.#onSynced = resolve;
    this.#isByVersion = fieldSelector === null;
    this.#client = client;
    this.#log = options.log ?? silentLogger;
    this.#timing = { ...NAMED_TIMING, ...options.timing };
    this.#random = options.random ?? Math.random;
    this.#index = new Informer<T>({
      ...{ client, resource, namespaces },
      ...(fieldSelector === null
        ? { metadataOnly: true, reduce: reduceToVersion, countsVersions: true }
        : { fieldSelector, reduce: ledger === undefined ? reduce : ledger.bounded(reduce) }),
      onListed: (namespace) =>
        ledger?.keepOnly(namespace, (of, name) => this.#index.store.get(of, name) !== null),
      log: options.log,
      timing: this.#timing.watch,
      random: this.#random,
    });
    this.#fetcher = new ObjectFetcher<T>({
      ...{ client, resource },
      parallel: PARALLEL,
      backoff: this.#timing.backoff,
      random: this.#random,
      onFetched: (key, object) => this.#fetched(key, object),
      onFailed: (key, error) => this.#complain(key, error),
    });
  }

  /** Whether it is known which objects there are, or that each must be asked for. */
  get isSynced(): boolean {
    return this.#store.isSynced;
  }

  /**
   * The newest resourceVersion that the store stands for, of list, event or object. While wanted
   * ones are still to be read it stays below theirs.
   */
  get seen(): string {
    this.#look();
    return this.#seen;
  }

  /** Whatever happened to wanted objects up to this resourceVersion is in the store. */
  get revision(): string {
    const isExact = this.#isCurrent && !this.#isPolling;
    return isExact ? newestRevision([this.seen, this.#index.revision]) : this.seen;
  }

  /** Wanted objects that have not been read yet, or cannot be; as `namespace/name`. */
  get unread(): readonly string[] {
    return [...this.#pending].filter((key) => {
      const { namespace, name, version } = this.#wanted.get(key)!;
      return version === null && this.#store.get(namespace, name) === null;
    });
  }

  /** Of the watch; `objects` are all that it knows of. */
  get stats(): InformerStats {
    return this.#index.stats;
  }

  /** Whether each wanted object is asked for by itself, since none can be watched. */
  get isPolling(): boolean {
    return this.#isPolling;
  }

  /** Begins; to be called once. */
  start(): void {
    this.#ends.push(
      this.#index.store.subscribe(({ before, after }) => {
        const { namespace, name } = (after ?? before)!.metadata;
        if (after === null) this.#options.ledger?.forget(namespace ?? "", name);
        const key = `${namespace}/${name}`;
        const wanted = this.#wanted.get(key);
        if (wanted === undefined) return;
        // Gone from the selected ones, it may be there as another.
        if (!this.#isByVersion) wanted.version = null;
        this.#check(key);
      }),
      this.#index.onFailures(() => this.#choose()),
      this.#client.onRecovery(() => {
        for (const key of this.#pending) this.#check(key);
      }),
    );
    this.#index.synced.then(() => this.#choose());
    this.#index.start();
  }

  /** Everything has ended when it resolves; the store stays as it is. Never throws. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const end of this.#ends) end();
    await Promise.all([this.#index.stop(), this.#fetcher.stop()]);
    this.#tell();
  }

  /** From now on these are wanted, as `namespace/name`, and no others. */
  want(names: ReadonlySet<string>): void {
    for (const [key, { namespace, name }] of this.#wanted) {
      if (names.has(key)) continue;
      this.#wanted.delete(key);
      this.#pending.delete(key);
      this.#fetcher.forget(key);
      this.#store.remove(namespace, name);
    }
    for (const key of names) {
      if (this.#wanted.has(key)) continue;
      const [namespace, name] = key.split("/");
      this.#wanted.set(key, { namespace, name, version: null });
      this.#check(key);
    }
    this.#tell();
  }

  /** Stores an object that nobody reads, or less of one that was read. */
  protected keep(object: T): void {
    this.#store.put(object);
  }

  /** Forgets an object that `keep` stored, unless it is wanted. */
  protected forget(key: string): void {
    const [namespace, name] = key.split("/");
    if (!this.#wanted.has(key)) this.#store.remove(namespace, name);
  }

  /** Reads a wanted object once more, of which not all was stored. */
  protected reread(key: string): void {
    const wanted = this.#wanted.get(key);
    if (wanted === undefined) return;
    wanted.version = null;
    this.#check(key);
  }

  /**
   * Resolves to true as soon as each wanted object is in the store as the API server has it, or is
   * known to be missing; to false after so many milliseconds.
   */
  settled(milliseconds: number): Promise<boolean> {
    if (this.#isCurrent) return Promise.resolve(true);
    return new Promise((resolve) => {
      const end = () => {
        if (!this.#isCurrent && !this.#isStopped) return;
        finish(this.#isCurrent);
      };
      const finish = (isSettled: boolean) => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        resolve(isSettled);
      };
      const timer = setTimeout(() => finish(false), milliseconds);
      this.#waiting.add(end);
    });
  }

  /** Whether the watch fails, so that nothing is known of objects that have not been read. */
  get isFailing(): boolean {
    return this.#index.failures.length > 0;
  }

  /** Calls `known` whenever more is known of wanted objects, or it is known that nothing can be had. */
  onKnown(known: () => void): void {
    this.#onKnown.push(known);
  }

  /** Looks at everything anew. Resolves when the store has that, or when it cannot be had. */
  async relist(): Promise<RelistResult> {
    if (!this.#isPolling) {
      const listed = await this.#index.relist();
      if (!listed.ok) return listed;
    } else {
      this.#forgetVersions();
      this.#checkAll();
    }
    if (await this.settled(this.#timing.patience)) return { ok: true };
    const message = `not all ${this.#kinds} that are named could be read`;
    return { ok: false, error: { code: 0, reason: "Deadline", message, retryAfter: null } };
  }

  /** For messages. */
  get #kinds(): string {
    return `${this.kind}s`;
  }

  get #isCurrent(): boolean {
    return this.isSynced && this.#pending.size === 0;
  }

  /** By watching or, where that is forbidden, by asking. */
  #choose(): void {
    const { failures } = this.#index;
    // Where watching fails otherwise, nothing is known of our rights: the way stays as it was.
    const isForbidden = failures.some(({ code }) => code === 403) ||
      (failures.length > 0 && this.#isPolling);
    this.#store.isSynced = this.#index.isSynced || isForbidden;
    if (this.#store.isSynced) this.#onSynced();
    if (isForbidden && !this.#isPolling) {
      this.#log.info(`Cannot watch ${this.#kinds}, reading each by name`, {
        seconds: this.#timing.poll / 1000,
      });
      this.#forgetVersions();
    }
    this.#isPolling = isForbidden;
    this.#checkAll();
    for (const known of this.#onKnown) known();
  }

  /** Whatever is known may have changed without our being told. */
  #forgetVersions(): void {
    for (const wanted of this.#wanted.values()) wanted.version = null;
  }

  #checkAll(): void {
    for (const key of this.#wanted.keys()) this.#check(key);
    this.#tell();
  }

  /** Does what is to be done that the store has it as it is. */
  #check(key: string): void {
    const { namespace, name, version } = this.#wanted.get(key)!;
    const isIndexed = this.#index.isSynced && !this.#isPolling;
    const listed = isIndexed ? this.#index.store.get(namespace, name) : null;
    // One of which the watch keeps a stub is asked for.
    if (!this.#isByVersion && listed !== null && excessOf(listed) === null) {
      this.#fetcher.forget(key);
      this.#settle(key, listed);
    } else if (this.#isByVersion && isIndexed && listed === null) {
      this.#fetcher.forget(key);
      this.#settle(key, null);
    } else if (!this.isSynced) {
      this.#pending.add(key);
    } else if (version === null || this.#isOutdated(namespace, name, version)) {
      this.#pending.add(key);
      this.#fetcher.fetch(key);
    }
  }

  #fetched(key: string, found: T | null): Verdict {
    const { namespace, name } = this.#wanted.get(key)!;
    const version = found?.metadata.resourceVersion ?? "";
    const isWatched = this.#isByVersion && this.#index.isSynced && !this.#isPolling;
    if (isWatched && this.#isOutdated(namespace, name, version)) return "retry";
    this.#settle(key, found === null ? null : this.#options.reduce(found));
    if (isWatched) return "done";
    if (found === null) return "retry";
    return this.#timing.poll * (1 + this.#random() / 4);
  }

  /** Whether the watch knows of something newer than this version, be it that it is gone. */
  #isOutdated(namespace: string, name: string, version: string): boolean {
    if (!this.#isByVersion || this.#isPolling) return false;
    const known = this.#index.store.versionOf(namespace, name);
    if (known === version) return false;
    if (version === "") return true;
    return compareRevisions(version, known === "" ? this.#index.revision : known) < 0;
  }

  #settle(key: string, object: T | null): void {
    const wanted = this.#wanted.get(key)!;
    const wasPending = this.#pending.delete(key);
    wanted.version = object?.metadata.resourceVersion ?? "";
    const kept = this.#options.admit === undefined ? object : this.#options.admit(key, object);
    if (kept === null) this.#store.remove(wanted.namespace, wanted.name);
    else this.#store.put(kept);
    this.#seen = newestRevision([this.#seen, object?.metadata.resourceVersion ?? "0"]);
    if (!wasPending) return;
    if (this.#pending.size === 0) this.#tell();
    for (const known of this.#onKnown) known();
  }

  /** Once all is read, the watch's word is ours. */
  #look(): void {
    if (this.#isCurrent && !this.#isPolling) {
      this.#seen = newestRevision([this.#seen, this.#index.seen]);
    }
  }

  #tell(): void {
    this.#look();
    if (this.#isCurrent && this.#logged.size > 0) {
      this.#logged.clear();
      this.#log.info(`Reading all referenced ${this.#kinds} again`);
    }
    for (const tell of this.#waiting) tell();
  }

  #complain(key: string, { code, reason, message }: ApiError): void {
    const way = code === 0 ? reason : String(code);
    if (this.#logged.has(way)) return;
    this.#logged.add(way);
    const { kind, plural } = this;
    const { rights } = this.#options;
    this.#log.warn(`Cannot read a ${kind}`, {
      [kind.toLowerCase()]: key,
      reason: message,
      remedy: code === 403
        ? `Allow the controller's service account the verb get on ${plural}; ${rights} has the rules`
        : "None if it is temporary; the last state stays in use, and the controller retries",
    });
  }
}
