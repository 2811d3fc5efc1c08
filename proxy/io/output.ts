/**
 * What is written to a peer. In: views of bytes. Out: whole writes, one after another, and a deadline
 * that each write which gets on renews.
 */
import { type Deadlines, NO_DEADLINE } from "./deadlines.ts";
import type { ProxyError } from "../errors.ts";
import { MinRate } from "./min_rate.ts";
import type { Transport } from "./transport.ts";

const NOTHING = new Uint8Array(0);

export class Output {
  /** When the write under way is overdue; its owner's `check` looks. */
  deadline = NO_DEADLINE;
  /** A write is under way. */
  writing = false;
  /** Bytes that were handed over to be written. */
  sent = 0;
  /** Bytes that the system has taken, over all writes. */
  #taken = 0;
  /** The last write that nobody awaits; never rejects. */
  pending: Promise<void> | null = null;
  readonly #transport: Transport;
  readonly #deadlines: Deadlines;
  /** Of a write without progress, in ms; of the next write on. */
  timeout: number;
  readonly #pace: MinRate;
  readonly #broke: (cause: unknown) => ProxyError;

  /**
   * @param timeout of a write without progress, in ms, until it is set anew.
   * @param rate that the peer must take on average, in bytes a second; 0 takes any.
   * @param broke ends the connection when a write fails; what it returns is what `write` rejects
   * with.
   */
  constructor(
    transport: Transport,
    deadlines: Deadlines,
    timeout: number,
    rate: number,
    broke: (cause: unknown) => ProxyError,
  ) {
    this.#transport = transport;
    this.#deadlines = deadlines;
    this.timeout = timeout;
    this.#pace = new MinRate(rate, timeout);
    this.#broke = broke;
  }

  /** Nothing is being written, and the peer's pace is not being measured. */
  get isFree(): boolean {
    return this.pending === null && !this.writing && this.#pace.isFresh;
  }

  /** Writes all of `view`, which may be used again once this settles. */
  readonly write = (view: Uint8Array): Promise<void> => {
    this.writing = true;
    this.sent += view.length;
    return this.#write(view);
  };

  /** No async function: it runs twice a request, and the frames of those show in the benchmark. */
  #write(view: Uint8Array): Promise<void> {
    this.deadline = this.#deadlines.in(this.timeout);
    return this.#transport.write(view).then((count) => {
      this.#taken += count;
      if (count < view.length) return this.#write(view.subarray(count));
      this.#settled();
    }, this.#failed);
  }

  readonly #failed = (cause: unknown): never => {
    const error = this.#broke(cause);
    this.#settled();
    throw error;
  };

  #settled(): void {
    this.writing = false;
    this.deadline = NO_DEADLINE;
  }

  /** Whether the write under way gets on too slowly; to be asked once a sweep. `now` in ms. */
  isOverdue(now: number): boolean {
    if (this.deadline === NO_DEADLINE) return false;
    return now >= this.deadline || this.#pace.isTooSlow(this.#taken);
  }

  /** Asks the system, with a write of no bytes, whether the peer has reset the connection. */
  touch(): void {
    this.#transport.write(NOTHING).catch(this.#broke);
  }

  /**
   * As `write`, with `done` and `failed` in place of a promise that tells: what it returns settles
   * after one of them, and never rejects unless they throw.
   */
  writeThen(
    view: Uint8Array,
    done: () => void,
    failed: (error: unknown) => void,
  ): Promise<void> {
    this.writing = true;
    this.sent += view.length;
    this.deadline = this.#deadlines.in(this.timeout);
    return this.#transport.write(view).then((count) => {
      this.#taken += count;
      if (count < view.length) return this.#write(view.subarray(count)).then(done, failed);
      this.#settled();
      done();
    }, (cause) => {
      const error = this.#broke(cause);
      this.#settled();
      failed(error);
    });
  }

  /** Writes `view` without waiting; whoever writes next waits by `after`. `done` on success only. */
  writeLater(view: Uint8Array, done?: () => void): void {
    const writing = this.writeThen(view, () => {
      if (this.pending === writing) this.pending = null;
      done?.();
    }, () => {
      // The connection has been ended: there is nobody left to tell.
      if (this.pending === writing) this.pending = null;
    });
    this.pending = writing;
  }

  /** Runs `next` once the last write is done; at once where none is under way. */
  after<T>(next: () => T): T | Promise<Awaited<T>> {
    return this.pending === null ? next() : this.pending.then(next) as Promise<Awaited<T>>;
  }
}
