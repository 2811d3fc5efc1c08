/**
 * One kind of objects, followed. In: a client, a kind, the namespaces to watch, and what to keep of
 * an object. Out: a store that follows the API server from `start` to `stop` whatever happens in
 * between, and how far it has got. After `reset` it can be started again.
 */
import { silentLogger } from "../../shared/log.ts";
import type { Logger } from "../../shared/log.ts";
import type { KubeClient, Selection } from "./client.ts";
import { complaintAbout } from "./complaint.ts";
import {
  Reflector,
  REFLECTOR_TIMING,
  type ReflectorListener,
  type ReflectorState,
  type ReflectorTiming,
  type RelistResult,
  RESTART_REASONS,
  type RestartReason,
  STOPPED,
} from "./reflector.ts";
import { newestRevision, oldestRevision } from "./revision.ts";
import { ObjectStore, type ObjectView } from "./store.ts";
import type { ApiError, KubeObject, Resource } from "./types.ts";

export type { RelistResult, RestartReason } from "./reflector.ts";

export interface InformerOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource;
  /** Null for all; means nothing for cluster-wide kinds. */
  readonly namespaces: readonly string[] | null;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Only `metadata` crosses the wire. */
  readonly metadataOnly?: boolean;
  /** Makes what is kept of an object; see `reduce.ts`. Must not change its argument's parts. */
  readonly reduce: (object: T) => T;
  /**
   * Called when the store has a complete list of this namespace, null for all. Objects that `reduce` got from a
   * list that failed, and that were deleted before the next one, are not in the store, and no deletion is reported.
   */
  readonly onListed?: (namespace: string | null) => void;
  /** Whether a new resourceVersion alone is a change that subscribers are told of. */
  readonly countsVersions?: boolean;
  /** Whether older API servers lack the kind, which then is no complaint. */
  readonly isOptional?: boolean;
  /** Told once when watching fails, and once when it works again. */
  readonly log?: Logger;
  /** For tests. */
  readonly timing?: Partial<ReflectorTiming>;
  readonly random?: () => number;
}

export interface InformerStats {
  /** The worst of its namespaces: `waiting` before `listing` before `watching`. */
  readonly state: ReflectorState;
  readonly objects: number;
  /** Lists and watches that came to an end, by why. */
  readonly restarts: Readonly<Record<RestartReason, number>>;
  /** Milliseconds since the epoch of the last list, event or bookmark; null before. */
  readonly lastEventAt: number | null;
}

/** How far a store has got of which nothing is listed. */
const UNSEEN = { seen: "0", revision: "0" };

const WORST_FIRST: readonly ReflectorState[] = ["stopped", "waiting", "listing", "watching"];

export class Informer<T extends KubeObject> {
  readonly store: ObjectView<T>;
  /** Resolves when every namespace has been listed whole for the first time; see `store.onUpdate`. */
  readonly synced: Promise<void>;
  readonly #options: InformerOptions<T>;
  readonly #store: ObjectStore<T>;
  readonly #onSynced: () => void;
  #resource: Resource;
  #reflectors: readonly Reflector<T>[];
  /** How far the store had got when the version changed, until all is listed in the new one. */
  #before = UNSEEN;
  readonly #failures: Map<number, ApiError> = new Map();
  readonly #restarts = Object.fromEntries(RESTART_REASONS.map((reason) => [reason, 0])) as Record<
    RestartReason,
    number
  >;
  readonly #failureSubscribers = new Set<() => void>();
  /** Since when there are failures, on the monotonic clock in ms; null while there are none. */
  #failingSince: number | null = null;
  #isRunning = false;
  /** Those of before a `reset` may still be ending. */
  readonly #runs = new Set<Promise<void>>();

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.#resource = options.resource;
    this.store = this.#store = new ObjectStore<T>({ countsVersions: options.countsVersions });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.synced = promise;
    this.#onSynced = resolve;
    this.#reflectors = this.#newReflectors();
  }

  /** Whether every namespace has been listed whole at least once. */
  get isSynced(): boolean {
    return this.store.isSynced;
  }

  /**
   * The newest resourceVersion that the store stands for by a list or an event, in decimal digits;
   * "0" before the first list. Of several namespaces the newest.
   */
  get seen(): string {
    return newestRevision([this.#before.seen, ...this.#reflectors.map(({ seen }) => seen)]);
  }

  /**
   * Whatever happened up to this resourceVersion is in the store; bookmarks count. Of several
   * namespaces the oldest.
   */
  get revision(): string {
    const listed = oldestRevision(this.#reflectors.map(({ revision }) => revision));
    return newestRevision([this.#before.revision, listed]);
  }

  get stats(): InformerStats {
    const times = this.#reflectors.flatMap(({ lastEventAt }) => lastEventAt ?? []);
    const states = new Set(this.#reflectors.map(({ state }) => state));
    return {
      state: WORST_FIRST.find((state) => states.has(state)) ?? "stopped",
      objects: this.store.size,
      restarts: { ...this.#restarts },
      lastEventAt: times.length === 0 ? null : Math.max(...times),
    };
  }

  /** How lists and watches that are tried again failed last: one for each namespace that fails. */
  get failures(): readonly ApiError[] {
    return [...this.#failures.values()];
  }

  /** Milliseconds for which there have been failures without a pause; 0 while there are none. */
  get failingFor(): number {
    return this.#failingSince === null ? 0 : performance.now() - this.#failingSince;
  }

  /** Calls `subscriber` whenever `failures` has changed. Returns what ends it. */
  onFailures(subscriber: () => void): () => void {
    this.#failureSubscribers.add(subscriber);
    return () => void this.#failureSubscribers.delete(subscriber);
  }

  /** Whether it has been started, and not been stopped since. */
  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** Begins, unless it has; once it was stopped, only after a `reset`. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (const reflector of this.#reflectors) {
      const run = reflector.run().finally(() => this.#runs.delete(run));
      this.#runs.add(run);
    }
  }

  /**
   * Goes on with another version of the API, of which the objects are the same: the store stays as it is
   * until they have been listed in that version, and so does how far it has got: an object has the same
   * resourceVersion in every version of its API.
   */
  useVersion(version: string): void {
    if (version === this.#resource.version) return;
    const { seen, revision } = this;
    this.#before = { seen, revision };
    this.#resource = { ...this.#resource, version };
    const wasRunning = this.#isRunning;
    for (const reflector of this.#reflectors) reflector.stop();
    this.#reflectors = this.#newReflectors();
    if (this.#forgetFailures()) this.#tellFailures();
    this.#isRunning = false;
    if (wasRunning) this.start();
  }

  /** Everything has ended when it resolves; the store stays as it is. Never throws. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    for (const reflector of this.#reflectors) reflector.stop();
    await Promise.all(this.#runs);
  }

  /**
   * Stops, and forgets all objects and failures at once: as if it had never been started, but for
   * the counts of restarts. Everything has ended when it resolves; it can be started again before.
   */
  async reset(): Promise<void> {
    const stopped = this.stop();
    this.#reflectors = this.#newReflectors();
    this.#before = UNSEEN;
    const hadFailures = this.#forgetFailures();
    this.#store.clear();
    if (hadFailures) this.#tellFailures();
    await stopped;
  }

  /**
   * Lists everything anew by a consistent read that begins after this call. Resolves when the store
   * has what was listed, or when that failed; the store is then as it was and the watch goes on.
   */
  async relist(): Promise<RelistResult> {
    if (!this.#isRunning) return { ok: false, error: STOPPED };
    const results = await Promise.all(this.#reflectors.map((reflector) => reflector.relist()));
    return results.find(({ ok }) => !ok) ?? { ok: true };
  }

  #newReflectors(): Reflector<T>[] {
    const { client, reduce, timing, random = Math.random } = this.#options;
    const resource = this.#resource;
    const { labelSelector, fieldSelector, metadataOnly } = this.#options;
    const namespaces = resource.namespaced && this.#options.namespaces !== null
      ? [...new Set(this.#options.namespaces)]
      : [null];
    let unsynced = namespaces.length;
    return namespaces.map((namespace, i) => {
      const selection: Selection = { namespace, labelSelector, fieldSelector, metadataOnly };
      const on: ReflectorListener = {
        ...this.#listen(i, namespace, this.#options),
        synced: () => {
          unsynced--;
          if (unsynced > 0) return;
          this.#before = UNSEEN;
          this.#store.isSynced = true;
          this.#onSynced();
        },
      };
      return new Reflector({
        client,
        resource,
        selection,
        store: this.#store,
        reduce,
        timing: { ...REFLECTOR_TIMING, ...timing },
        random,
        on,
      });
    });
  }

  #listen(
    index: number,
    namespace: string | null,
    { resource, log = silentLogger, isOptional = false, onListed }: InformerOptions<T>,
  ): Omit<ReflectorListener, "synced"> {
    // A server that fails in two ways by turns must not fill the log.
    const logged = new Set<string>();
    const about = { resource: resource.plural, ...(namespace === null ? {} : { namespace }) };
    return {
      restarted: (reason) => void this.#restarts[reason]++,
      stored: () => onListed?.(namespace),
      failed: (error) => {
        this.#failures.set(index, error);
        this.#failingSince ??= performance.now();
        this.#tellFailures();
        const key = error.code === 0 ? error.reason : String(error.code);
        if (logged.has(key)) return;
        logged.add(key);
        if (isOptional && error.code === 404) return log.debug("Kind is not served", about);
        log.warn("Cannot watch", { ...about, ...complaintAbout(resource, namespace, error) });
      },
      recovered: () => {
        const wasFailing = this.#failures.delete(index);
        if (this.#failures.size === 0) this.#failingSince = null;
        if (wasFailing) this.#tellFailures();
        if (logged.size > 0) log.info("Watching again", about);
        logged.clear();
      },
    };
  }

  /** Whether there were any, which subscribers have not been told of. */
  #forgetFailures(): boolean {
    const hadFailures = this.#failures.size > 0;
    this.#failures.clear();
    this.#failingSince = null;
    return hadFailures;
  }

  #tellFailures(): void {
    for (const subscriber of this.#failureSubscribers) subscriber();
  }
}
