/**
 * Requests that are shown beside the histogram of durations, so that a slow one leads to its trace. In:
 * sampled requests that have ended. Out: the last one of each bucket, by message to the main thread, where
 * they are kept for scrapes.
 */
import { bucketIndex } from "./block.ts";

/** A sampled request; can be posted. */
export interface Exemplar {
  /** Where it was counted. */
  readonly slot: number;
  readonly bucket: number;
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Its duration. */
  readonly seconds: number;
  /** When it ended, in ms since the epoch. */
  readonly endedAt: number;
}

/** As `trace_id` in the documents of Prometheus and Grafana. */
export const TRACE_ID_LABEL = "trace_id";

/** A message leaves this long after the first request in it, in ms: Prometheus scrapes seldom more often. */
const INTERVAL = 1000;
/** Exemplars in one message: with as many hosts, some have none in a second. */
const MAX_IN_MESSAGE = 256;
/** Kept for scrapes: Prometheus itself keeps 100,000 of all its targets, if it is not told otherwise. */
const MAX_KEPT = 10_000;
/** No histogram has as many buckets. */
const BUCKETS = 64;

/** The worker's end. */
export class ExemplarBatch {
  readonly #send: (exemplars: readonly Exemplar[]) => void;
  /** By slot and bucket. */
  readonly #last = new Map<number, Exemplar>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(send: (exemplars: readonly Exemplar[]) => void) {
    this.#send = send;
  }

  /** @param duration in ms. @param endedAt in ms since the epoch. */
  add(slot: number, duration: number, traceId: string, endedAt: number): void {
    const seconds = duration / 1000;
    const bucket = bucketIndex(seconds);
    const key = slot * BUCKETS + bucket;
    if (this.#last.size >= MAX_IN_MESSAGE && !this.#last.has(key)) return;
    this.#last.set(key, { slot, bucket, traceId, seconds, endedAt });
    this.#timer ??= setTimeout(() => this.flush(), INTERVAL);
  }

  /** Hands over what there is. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#last.size === 0) return;
    const exemplars = [...this.#last.values()];
    this.#last.clear();
    this.#send(exemplars);
  }
}

/** By bucket; undefined where a bucket has none. */
export type SlotExemplars = readonly (Exemplar | undefined)[];

/** The main thread's end. */
export class ExemplarStore {
  /** By slot, the one that was written to last at the end. */
  readonly #slots = new Map<number, (Exemplar | undefined)[]>();
  #kept = 0;

  of(slot: number): SlotExemplars | undefined {
    return this.#slots.get(slot);
  }

  take(exemplars: readonly Exemplar[]): void {
    for (const exemplar of exemplars) this.#put(exemplar);
    for (const slot of this.#slots.keys()) {
      if (this.#kept <= MAX_KEPT) break;
      this.clear(slot);
    }
  }

  /** The slot is another's from now on. */
  clear(slot: number): void {
    const own = this.#slots.get(slot);
    if (own === undefined) return;
    this.#slots.delete(slot);
    this.#kept -= own.filter((exemplar) => exemplar !== undefined).length;
  }

  #put(exemplar: Exemplar): void {
    const { slot, bucket, endedAt } = exemplar;
    const own = this.#slots.get(slot) ?? [];
    const before = own[bucket];
    // Workers report in any order, and Prometheus takes no older one than the last.
    if (before !== undefined && before.endedAt >= endedAt) return;
    if (before === undefined) this.#kept++;
    own[bucket] = exemplar;
    this.#slots.delete(slot);
    this.#slots.set(slot, own);
  }
}
