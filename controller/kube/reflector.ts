/**
 * One list-watch that goes on until it is stopped. In: a kind, a namespace or all, and a client. Out:
 * a store that follows the API server, and how far it has got.
 *
 * What is stored stays until the server says otherwise: a list counts when its last page has come,
 * and whatever ends a watch, the next one resumes where it broke off. Only when the server has
 * forgotten that point (410) is everything listed again, and what is the same stays the same.
 *
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes and
 * https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/956-watch-bookmark
 */
import { isOutage } from "./answer.ts";
import { Backoff, type BackoffLimits } from "./backoff.ts";
import type { KubeClient, Selection } from "./client.ts";
import { Lister } from "./lister.ts";
import { compareRevisions } from "./revision.ts";
import type { ObjectStore } from "./store.ts";
import {
  ABORTED,
  type ApiError,
  type KubeObject,
  type Resource,
  type WatchEvent,
} from "./types.ts";

export interface ReflectorTiming {
  readonly backoff: BackoffLimits;
  /** Seconds after which the server is to end a watch in order: at least, and at most. */
  readonly watchSeconds: readonly [number, number];
  /** Milliseconds beyond those after which a watch that was silent all the time counts as dead. */
  readonly grace: number;
  /** Milliseconds that a watch must live to count as a success. */
  readonly steady: number;
}

/**
 * kube-apiserver sends a bookmark two seconds before a watch ends in its time, and else one a
 * minute. With these, a quiet watch has a fresh bookmark before it is renewed, and one that is
 * silent for 58 s is dead.
 */
export const REFLECTOR_TIMING: ReflectorTiming = {
  backoff: { first: 1_000, last: 30_000 },
  watchSeconds: [40, 50],
  grace: 8_000,
  steady: 5_000,
};

/** Why a list or a watch came to its end. `asked`: by `relist`. */
export const RESTART_REASONS = [
  "ended",
  "silent",
  "broken",
  "refused",
  "expired",
  "garbled",
  "asked",
] as const;
export type RestartReason = typeof RESTART_REASONS[number];

export type ReflectorState = "listing" | "watching" | "waiting" | "stopped";

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource;
  readonly selection: Selection;
  readonly store: ObjectStore<T>;
  readonly reduce: (object: T) => T;
  readonly timing: ReflectorTiming;
  /** Numbers from 0 up to 1, for jitter. */
  readonly random: () => number;
  readonly on: ReflectorListener;
}

/** What the owner is told. None of these may throw. */
export interface ReflectorListener {
  restarted(reason: RestartReason): void;
  /** A list or watch failed and is tried again after a pause. */
  failed(error: ApiError): void;
  /** Listed, and a watch has lived for some seconds. */
  recovered(): void;
  /** The first list is complete; called before the store changes by it. */
  synced(): void;
  /** The store has exactly the objects of a complete list. */
  stored(): void;
}

export type RelistResult = { readonly ok: true } | { readonly ok: false; readonly error: ApiError };

/** Milliseconds between the starts of two lists, at least. */
const LIST_INTERVAL = 1_000;

/** Milliseconds that a pause lasts at least before the client's recovery may end it. */
const SHORTEST_PAUSE = 3_000;

export const STOPPED: ApiError = {
  code: 0,
  reason: ABORTED,
  message: "the informer was stopped",
  retryAfter: null,
};

export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #lister: Lister<T>;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  /** Ends the watch or the pause that goes on. */
  #wake: () => void = () => {};
  /** Brings the end of the pause that goes on nearer. */
  #hasten: () => void = () => {};
  /** Whether there is no moment to watch from: everything must be listed. */
  #isLost = true;
  #isListed = false;
  /** Whether the server was away, and may have come back with another past. */
  #isDoubtful = false;
  #relists: ((result: RelistResult) => void)[] = [];
  #listedAt = -Infinity;
  #seen = "0";
  #revision = "0";
  #state: ReflectorState = "stopped";
  #lastEventAt: number | null = null;
  #canHasten = false;
  #shortestPause = SHORTEST_PAUSE;
  /** Whether a watch has expired since one was steady, and the server has not been away since. */
  #hasExpired = false;
  /** Whether a list goes on, or begins without being woken for it. */
  #isListing = false;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#lister = new Lister(options);
    this.#backoff = new Backoff(options.timing.backoff, options.random);
  }

  get state(): ReflectorState {
    return this.#state;
  }

  /** Newest resourceVersion of a list or an event. "0" before the first list. */
  get seen(): string {
    return this.#seen;
  }

  /** The same with bookmarks: whatever happened up to it is in the store. */
  get revision(): string {
    return this.#revision;
  }

  /** Milliseconds since the epoch of the last list, event or bookmark; null before. */
  get lastEventAt(): number | null {
    return this.#lastEventAt;
  }

  /** Resolves when `stop` was called and everything has ended. Never throws. */
  async run(): Promise<void> {
    const endOfRecoveries = this.#options.client.onRecovery(() => this.#hasten());
    while (!this.#isStopped) {
      const pause = this.#isLost || this.#relists.length > 0
        ? await this.#list()
        : await this.#watch();
      if (pause > 0 && !this.#isStopped && this.#relists.length === 0) {
        this.#state = "waiting";
        await this.#sleep(pause);
      }
    }
    endOfRecoveries();
    this.#state = "stopped";
    for (const resolve of this.#relists) resolve({ ok: false, error: STOPPED });
  }

  stop(): void {
    this.#stop.abort();
    this.#wake();
  }

  /**
   * Lists anew, from a consistent read that starts after this call. Resolves when that list is
   * complete, or has failed; then the watch goes on from where it was.
   */
  relist(): Promise<RelistResult> {
    if (this.#isStopped) return Promise.resolve({ ok: false, error: STOPPED });
    return new Promise((resolve) => {
      this.#relists.push(resolve);
      if (!this.#isListing) this.#wake();
    });
  }

  get #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Milliseconds to wait then. */
  async #list(): Promise<number> {
    this.#isListing = true;
    const sinceLast = performance.now() - this.#listedAt;
    if (sinceLast < LIST_INTERVAL) await this.#sleep(LIST_INTERVAL - sinceLast);
    this.#state = "listing";
    this.#listedAt = performance.now();
    // Who asks from here on wants another one.
    const relists = this.#relists;
    this.#relists = [];
    const listed = await this.#lister.list(this.#stop.signal);
    this.#isListing = false;
    let result: RelistResult = listed.ok ? { ok: true } : listed;
    // Whoever has stopped it may have emptied the store since.
    if (listed.ok && !this.#isStopped) {
      const { objects, revision } = listed.value;
      try {
        this.#take(objects, revision);
      } catch (error) {
        result = { ok: false, error: subscriberFailed(error) };
      }
    }
    for (const resolve of relists) resolve(result);
    if (result.ok || this.#isStopped) return 0;
    this.#options.on.restarted(this.#reasonOf(result.error, false));
    // A relist that failed leaves the watch as good as it was.
    return this.#isLost ? this.#failed(result.error) : 0;
  }

  #take(objects: readonly T[], revision: string): void {
    const { store, selection, on } = this.#options;
    // Even where it is older than what we had: etcd was restored from a backup, and this is the truth.
    this.#seen = this.#revision = revision;
    this.#lastEventAt = Date.now();
    this.#isLost = this.#isDoubtful = false;
    if (!this.#isListed) {
      this.#isListed = true;
      on.synced();
    }
    store.replace(objects, selection.namespace, revision);
    on.stored();
  }

  /** Milliseconds to wait then. */
  async #watch(): Promise<number> {
    const doubt = this.#isDoubtful ? await this.#verify() : null;
    if (this.#isLost || this.#isStopped || this.#relists.length > 0) return 0;
    if (doubt !== null) return this.#failed(doubt);
    const { client, resource, selection, timing, random, on } = this.#options;
    const [least, most] = timing.watchSeconds;
    const timeoutSeconds = Math.round(least + random() * (most - least));
    const stop = new AbortController();
    this.#wake = () => stop.abort();
    let openedAt: number | null = null;
    let steady: ReturnType<typeof setTimeout> | undefined;
    const start = this.#revision;
    const error = await client.watch(resource, selection, {
      resourceVersion: start,
      timeoutSeconds,
      silence: timeoutSeconds * 1000 + timing.grace,
      signal: stop.signal,
      onOpen: () => {
        this.#state = "watching";
        openedAt = performance.now();
        steady = setTimeout(() => {
          if (this.#isStopped) return;
          this.#backoff.reset();
          this.#hasExpired = false;
          on.recovered();
        }, timing.steady);
      },
      onEvent: (event) => this.#follow(event),
    });
    clearTimeout(steady);
    this.#wake = () => {};
    if (this.#isStopped) return 0;
    const wasSteady = openedAt !== null && performance.now() - openedAt >= timing.steady;
    const reason = this.#reasonOf(error, openedAt !== null);
    on.restarted(reason);
    if (["refused", "broken", "silent"].includes(reason)) this.#isDoubtful = true;
    if (reason === "expired" || reason === "garbled") this.#isLost = true;
    if (wasSteady || reason === "asked") return 0;
    // At once, but a list that turned out to be of no use must not be made again at once.
    if (this.#isLost && !this.#hasExpired) {
      this.#hasExpired = true;
      return 0;
    }
    // Whatever breaks a watch may meet one that has just begun, as when the server is restarted.
    const isChance = openedAt !== null && this.#backoff.failures === 0;
    return this.#failed(error ?? SHORT, isChance);
  }

  /**
   * Where etcd was restored from a backup, a watch from the lost future would be silent until that
   * has passed: the server must have got as far as we have.
   */
  async #verify(): Promise<ApiError | null> {
    const now = await this.#lister.revision(this.#stop.signal);
    if (!now.ok && isPassing(now.error)) {
      this.#options.on.restarted(this.#reasonOf(now.error, false));
      return now.error;
    }
    this.#isDoubtful = false;
    if (now.ok && compareRevisions(now.value, this.#revision) < 0) this.#isLost = true;
    return null;
  }

  #reasonOf(error: ApiError | null, wasOpen: boolean): RestartReason {
    if (error === null) return "ended";
    if (error.reason === ABORTED) return "asked";
    if (isUseless(error)) return "expired";
    if (error.reason === "Garbled") return "garbled";
    if (!wasOpen) return "refused";
    return error.reason === "Deadline" ? "silent" : "broken";
  }

  #follow({ type, object }: WatchEvent<KubeObject>): void {
    if (this.#isStopped) return;
    const { store, reduce } = this.#options;
    const { name, namespace, resourceVersion } = object.metadata;
    if (type === "DELETED") store.remove(namespace ?? "", name);
    // The server sends the kind that was asked for.
    else if (type !== "BOOKMARK") store.put(reduce(object as T));
    this.#lastEventAt = Date.now();
    if (compareRevisions(resourceVersion!, this.#revision) > 0) this.#revision = resourceVersion!;
    if (type !== "BOOKMARK") this.#seen = resourceVersion!;
  }

  #failed(error: ApiError, isQuiet = false): number {
    if (!isQuiet) this.#options.on.failed(error);
    this.#canHasten = isOutage(error.code);
    this.#shortestPause = Math.max(SHORTEST_PAUSE, error.retryAfter ?? 0);
    // A server that was away may have forgotten by its restart: that says nothing of the last list.
    if (error.code === 0 && !this.#isLost) this.#hasExpired = false;
    return this.#backoff.next(error.retryAfter);
  }

  /** `stop` ends it, `relist` too, and the server's recovery may, a little later. */
  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#wake = this.#hasten = () => {};
        resolve();
      };
      let timer = setTimeout(end, ms);
      const shortest = performance.now() + this.#shortestPause;
      const longest = performance.now() + ms;
      this.#wake = end;
      this.#hasten = () => {
        if (!this.#canHasten) return;
        const now = performance.now();
        // Not all reflectors at the same moment.
        const left = Math.max(0, shortest - now) + this.#options.random() * 1000;
        if (now + left > longest) return;
        clearTimeout(timer);
        timer = setTimeout(end, left);
      };
    });
  }
}

/** A watch that the server ended at once, in order. */
const SHORT: ApiError = {
  code: 0,
  reason: "Unreachable",
  message: "the API server ends watches as soon as they begin",
  retryAfter: null,
};

/** Whether the server says that it cannot watch from there, rather than that it cannot watch. */
function isUseless({ code, message }: ApiError): boolean {
  return code === 410 || code === 400 || /too large resource version/i.test(message);
}

/** Whether the server could not be asked, rather than would not answer. */
function isPassing({ code }: ApiError): boolean {
  return code < 400 || code === 429 || code >= 500;
}

function subscriberFailed(error: unknown): ApiError {
  const message = error instanceof Error ? error.message : String(error);
  return { code: 0, reason: "Failed", message, retryAfter: null };
}
