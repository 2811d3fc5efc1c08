/**
 * Writes to the API server, one for each key, paced. In: keys of what may have to be written. Out:
 * a call of `write` for each, when there is leave, a token and a free place; again after a failure,
 * later each time.
 *
 * Level-triggered: what there is to write is looked up when its turn comes, not when it is added.
 */
import { type Clock, systemClock } from "../../../shared/clock.ts";
import { Backoff, type BackoffLimits } from "../../kube/backoff.ts";
import { NOT_LEADING } from "../../kube/fenced_client.ts";
import type { WriteFence } from "../../kube/term.ts";
import type { ApiError } from "../../kube/types.ts";
import { NewestFirst } from "./newest_first.ts";
import type { Pace } from "./pace.ts";
import { TokenBucket } from "./token_bucket.ts";

/** Calls `run` once in `ms`; what it returns calls that off. */
export type After = (ms: number, run: () => void) => () => void;

export const systemAfter: After = (ms, run) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};

export type WriteOutcome =
  /** Over; `again`: in so many milliseconds the key is looked at once more. */
  | { readonly kind: "done"; readonly again?: number }
  /** No call was made. */
  | { readonly kind: "unneeded"; readonly again?: number }
  | { readonly kind: "failed"; readonly error: ApiError };

export interface WriteQueueOptions {
  readonly pace: Pace;
  /** Asked before each write; the client asks again. */
  readonly fence: Pick<WriteFence, "mayWrite">;
  /** Never rejects. */
  readonly write: (key: string) => Promise<WriteOutcome>;
  readonly clock?: Clock;
  readonly after?: After;
  /** From 0 up to 1, for jitter. */
  readonly random?: () => number;
}

/** Milliseconds until the fence is asked again. */
const LEAVE_INTERVAL = 1000;

/** Of one key. */
const BACKOFF: BackoffLimits = { first: 500, last: 60_000 };

/** Of all, after so many failures in a row: the server is ill then, not the objects. */
const PAUSE: BackoffLimits = { first: 250, last: 30_000 };
const ILL_AFTER = 3;

/** Milliseconds between two looks at what is due; many come due together. */
const LEAST_SLEEP = 10;

interface Failure {
  readonly backoff: Backoff;
  readonly notBefore: number;
}

export class WriteQueue {
  readonly #options: WriteQueueOptions;
  readonly #clock: Clock;
  readonly #after: After;
  readonly #random: () => number;
  readonly #bucket: TokenBucket;
  readonly #waiting = new NewestFirst();
  /** When each is added to those that wait. */
  readonly #delayed = new Map<string, number>();
  readonly #failures = new Map<string, Failure>();
  /** Keys that are being written; the value is when to look again, if there is need. */
  readonly #writing = new Map<string, number | null>();
  /** Called when, after `close`, nothing is being written any more. */
  #onIdle: () => void = () => {};
  #nextDue = Infinity;
  readonly #pause: Backoff;
  #failuresInARow = 0;
  #pausedUntil = 0;
  #wakesAt = Infinity;
  #cancelWake: () => void = () => {};
  #isClosed = false;

  constructor(options: WriteQueueOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#after = options.after ?? systemAfter;
    this.#random = options.random ?? Math.random;
    this.#pause = new Backoff(PAUSE, this.#random);
    this.#bucket = new TokenBucket(options.pace.rate, options.pace.burst, this.#clock.monotonic());
  }

  /** Keys that wait for their turn or are being written. */
  get backlog(): number {
    return this.#waiting.size + this.#writing.size;
  }

  /**
   * Has a key looked at in `after` milliseconds, or earlier where that is due; not before the end of
   * its backoff, if it has failed.
   */
  add(key: string, after = 0): void {
    if (this.#isClosed) return;
    const now = this.#clock.monotonic();
    const due = Math.max(now + after, this.#failures.get(key)?.notBefore ?? 0);
    const writing = this.#writing.get(key);
    if (writing !== undefined) {
      this.#writing.set(key, Math.min(writing ?? Infinity, due));
      return;
    }
    if (due > now) {
      if (this.#waiting.has(key) || (this.#delayed.get(key) ?? Infinity) <= due) return;
      this.#delayed.set(key, due);
      this.#nextDue = Math.min(this.#nextDue, due);
      this.#wakeAt(due, now);
      return;
    }
    this.#delayed.delete(key);
    this.#waiting.add(key);
    this.#wakeAt(now, now);
  }

  /** Whether a key waits or is being written; not so where it is only due later. */
  has(key: string): boolean {
    return this.#waiting.has(key) || this.#writing.has(key);
  }

  /** Calls a key off. One that is being written is written to the end. */
  delete(key: string): void {
    this.#waiting.delete(key);
    this.#delayed.delete(key);
    this.#failures.delete(key);
    if (this.#writing.has(key)) this.#writing.set(key, null);
  }

  /** Starts nothing more. Settles when what is being written is over. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelWake();
    if (this.#writing.size === 0) return;
    await new Promise<void>((resolve) => this.#onIdle = resolve);
  }

  #pump(): void {
    if (this.#isClosed) return;
    const now = this.#clock.monotonic();
    if (this.#nextDue <= now) this.#releaseDue(now);
    let wakeAt = this.#nextDue;
    while (this.#waiting.size > 0 && this.#writing.size < this.#options.pace.inFlight) {
      const wait = this.#waitForLeave(now);
      if (wait > 0) {
        wakeAt = Math.min(wakeAt, now + wait);
        break;
      }
      void this.#write(this.#waiting.take()!);
    }
    if (wakeAt < Infinity) this.#wakeAt(wakeAt, now);
  }

  /** Milliseconds; 0 with a token taken. */
  #waitForLeave(now: number): number {
    if (now < this.#pausedUntil) return this.#pausedUntil - now;
    return this.#options.fence.mayWrite() ? this.#bucket.take(now) : LEAVE_INTERVAL;
  }

  #releaseDue(now: number): void {
    this.#nextDue = Infinity;
    for (const [key, due] of this.#delayed) {
      if (due <= now) {
        this.#delayed.delete(key);
        this.#waiting.add(key);
      } else this.#nextDue = Math.min(this.#nextDue, due);
    }
  }

  async #write(key: string): Promise<void> {
    this.#writing.set(key, null);
    const outcome = await this.#options.write(key);
    const due = this.#writing.get(key) ?? null;
    this.#writing.delete(key);
    if (outcome.kind === "failed") this.#fail(key, outcome.error);
    else {
      this.#failures.delete(key);
      if (outcome.kind === "unneeded") this.#bucket.giveBack();
      else this.#recover();
      if (outcome.again !== undefined) this.add(key, outcome.again);
    }
    if (due !== null) this.add(key, Math.max(0, due - this.#clock.monotonic()));
    if (this.#isClosed && this.#writing.size === 0) this.#onIdle();
    this.#pump();
  }

  #fail(key: string, { code, reason, retryAfter }: ApiError): void {
    if (reason === NOT_LEADING) return this.add(key);
    const now = this.#clock.monotonic();
    const backoff = this.#failures.get(key)?.backoff ?? new Backoff(BACKOFF, this.#random);
    this.#failures.set(key, { backoff, notBefore: now + backoff.next(retryAfter) });
    this.add(key);
    // 4xx are about the object or our rights, but for 429.
    if (code !== 0 && code !== 429 && code < 500) return;
    this.#failuresInARow++;
    if (this.#failuresInARow < ILL_AFTER && retryAfter === null) return;
    this.#pausedUntil = Math.max(this.#pausedUntil, now + this.#pause.next(retryAfter));
  }

  #recover(): void {
    this.#failuresInARow = 0;
    this.#pause.reset();
  }

  #wakeAt(time: number, now: number): void {
    if (this.#isClosed || this.#wakesAt <= time) return;
    this.#cancelWake();
    this.#wakesAt = time;
    this.#cancelWake = this.#after(time <= now ? 0 : Math.max(LEAST_SLEEP, time - now), () => {
      this.#wakesAt = Infinity;
      this.#pump();
    });
  }
}
