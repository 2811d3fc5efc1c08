/**
 * Reads objects of one kind one by one. In: names. Out: for each what the API server has, a few at a time, tried
 * again with growing pauses until there is an answer, and again later where the owner says so.
 */
import { Backoff, type BackoffLimits } from "../kube/backoff.ts";
import type { KubeClient } from "../kube/client.ts";
import type { ApiError, KubeObject, Resource } from "../kube/types.ts";

/** What follows from an answer: nothing, another try with backoff, or one after so many ms. */
export type Verdict = "done" | "retry" | number;

export interface FetcherOptions<T extends KubeObject> {
  readonly client: Pick<KubeClient, "get">;
  readonly resource: Resource;
  /** Calls at a time. */
  readonly parallel: number;
  readonly backoff: BackoffLimits;
  readonly random: () => number;
  /** Told of an answer; null where there is no such object. */
  readonly onFetched: (key: string, object: T | null) => Verdict;
  /** Told of a call that failed; it is tried again. */
  readonly onFailed: (key: string, error: ApiError) => void;
}

interface Entry {
  readonly backoff: Backoff;
  timer: ReturnType<typeof setTimeout> | undefined;
  state: "idle" | "queued" | "running";
  /** Whether it was asked for while a call went on, whose answer may be older than that. */
  again: boolean;
}

export class ObjectFetcher<T extends KubeObject> {
  readonly #options: FetcherOptions<T>;
  readonly #entries = new Map<string, Entry>();
  readonly #queue: string[] = [];
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<void>>();

  constructor(options: FetcherOptions<T>) {
    this.#options = options;
  }

  /** Reads it as soon as a call is free, by a call that begins after this one. */
  fetch(key: string): void {
    if (this.#stop.signal.aborted) return;
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      const { backoff, random } = this.#options;
      entry = {
        backoff: new Backoff(backoff, random),
        timer: undefined,
        state: "idle",
        again: false,
      };
      this.#entries.set(key, entry);
    }
    clearTimeout(entry.timer);
    if (entry.state === "running") entry.again = true;
    if (entry.state !== "idle") return;
    entry.state = "queued";
    this.#queue.push(key);
    this.#next();
  }

  /** What is on its way is not told of any more. */
  forget(key: string): void {
    clearTimeout(this.#entries.get(key)?.timer);
    this.#entries.delete(key);
  }

  /** Nothing goes on when it resolves. */
  async stop(): Promise<void> {
    this.#stop.abort();
    for (const key of [...this.#entries.keys()]) this.forget(key);
    await Promise.all(this.#running);
  }

  #next(): void {
    while (this.#running.size < this.#options.parallel) {
      const key = this.#queue.shift();
      if (key === undefined) return;
      const entry = this.#entries.get(key);
      if (entry?.state !== "queued") continue;
      entry.state = "running";
      const run = this.#run(key, entry).finally(() => {
        this.#running.delete(run);
        this.#next();
      });
      this.#running.add(run);
    }
  }

  async #run(key: string, entry: Entry): Promise<void> {
    const { client, resource, onFetched, onFailed } = this.#options;
    const [namespace, name] = key.split("/");
    const result = await client.get<T>(resource, namespace, name, {
      signal: this.#stop.signal,
    });
    // Forgotten, and perhaps asked for again: that is another entry.
    if (this.#entries.get(key) !== entry || this.#stop.signal.aborted) return;
    entry.state = "idle";
    let pause: number | null = null;
    if (result.ok || result.error.code === 404) {
      const verdict = onFetched(key, result.ok ? result.value : null);
      if (verdict !== "retry") entry.backoff.reset();
      if (verdict !== "done") pause = verdict === "retry" ? entry.backoff.next() : verdict;
    } else {
      onFailed(key, result.error);
      pause = entry.backoff.next(result.error.retryAfter);
    }
    if (this.#entries.get(key) !== entry) return;
    if (entry.again) {
      entry.again = false;
      this.fetch(key);
    } else if (pause !== null) {
      entry.timer = setTimeout(() => this.fetch(key), pause);
    }
  }
}
