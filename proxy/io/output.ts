/**
 * What is written to a peer. In: views of bytes. Out: whole writes, one after another, and a deadline
 * that each write which gets on renews.
 */
import type { BufferPool } from "./buffer_pool.ts";
import { type Deadlined, type Deadlines, LONGEST_REST, NO_DEADLINE } from "./deadlines.ts";
import type { ProxyError } from "../errors.ts";
import { MinRate } from "./min_rate.ts";
import type { Transport } from "./transport.ts";

const NOTHING = new Uint8Array(0);

/** From this timeout on, in ms, a write may be noticed as overdue a tenth late. */
const LONG_TIMEOUT = 10 * LONGEST_REST;

/** Waits for a write. Neither method may throw. */
export interface WriteWaiter {
  /** All has been written. */
  wrote(): void;
  /** @param error what `Output.write` would reject with. */
  writeBroke(error: unknown): void;
}

/** Writes to the transport directly, without the output. */
export interface DirectWriter {
  /** Counts what it has written, and hands a write in progress over to the output. */
  look(): void;
  /** Writes nothing more after the write in progress. */
  stop(): void;
}

export class Output {
  /** When the write under way is overdue; its owner's `check` looks. */
  deadline = NO_DEADLINE;
  /** A write is under way. */
  writing = false;
  /** Bytes that were handed over to be written. */
  sent = 0;
  /** Bytes that the system has taken, over all writes. */
  #taken = 0;
  /** Null while all writes come from here. */
  directWriter: DirectWriter | null = null;
  /** The last write that nobody awaits; never rejects. */
  pending: Promise<void> | null = null;
  readonly transport: Transport;
  readonly deadlines: Deadlines;
  readonly #owner: Deadlined | null;
  /** Of a write without progress, in ms; of the next write on. */
  timeout: number;
  readonly #pace: MinRate;
  readonly #broke: (cause: unknown) => ProxyError;
  /** What `writeLater` is writing, null where nothing, and how many bytes of it. */
  #later: Uint8Array<ArrayBuffer> | null = null;
  #length = 0;
  #pool: BufferPool | null = null;
  /** Told where that fails. */
  #laterFailed: ((error: unknown) => void) | null = null;
  /** Settles behind that, and never rejects. */
  #laterPending: Promise<void> | null = null;
  /** What `writeThen` is writing: `#bytes[#from, #to)`, and who is told. */
  #bytes: Uint8Array | null = null;
  #from = 0;
  #to = 0;
  #waiter: WriteWaiter | null = null;
  /**
   * Callbacks of the transport's promises, created on first use: most connections need one pair, and
   * there may be thousands of connections.
   */
  #someTaken: ((count: number) => void) | null = null;
  #noneTaken: ((cause: unknown) => void) | null = null;
  #laterTaken: ((count: number) => Promise<void> | void) | null = null;
  #laterBroke: ((cause: unknown) => void) | null = null;

  /**
   * @param timeout of a write without progress, in ms, until it is set anew.
   * @param rate that the peer must take on average, in bytes a second; 0 takes any.
   * @param owner is stirred by each write with a short timeout; null where each sweep looks at it.
   * @param broke ends the connection when a write fails; what it returns is what `write` rejects
   * with.
   */
  constructor(
    transport: Transport,
    deadlines: Deadlines,
    timeout: number,
    rate: number,
    owner: Deadlined | null,
    broke: (cause: unknown) => ProxyError,
  ) {
    this.transport = transport;
    this.deadlines = deadlines;
    this.#owner = owner;
    this.timeout = timeout;
    this.#pace = new MinRate(rate, timeout);
    this.#broke = broke;
  }

  /** As a sink: its writes are the only ones of the connection (see `DuplexSink`). */
  get output(): this {
    return this;
  }

  /** Nothing is being written, and the peer's pace is not being measured. */
  get isFree(): boolean {
    return this.pending === null && !this.writing && this.#pace.isFresh;
  }

  /** Writes all of `view`, which may be used again once this settles. */
  write(view: Uint8Array): Promise<void> {
    this.writing = true;
    this.sent += view.length;
    return this.#write(view);
  }

  /**
   * Writes `bytes[0, length)`, and tells `waiter`; they may be used again then. As `write`, without a
   * promise and a function for each. One at a time, and not beside another write.
   */
  writeThen(bytes: Uint8Array, length: number, waiter: WriteWaiter): void {
    this.#begin(bytes, length, waiter);
    this.#writeOn();
  }

  /**
   * Takes over a write of `view` that the direct writer has started, and sets its deadline. The direct writer
   * reports the result by `tookSome` or `tookNone`; then `waiter` is told.
   */
  takeOver(view: Uint8Array, waiter: WriteWaiter): void {
    this.#begin(view, view.length, waiter);
    this.#beginWait();
  }

  #begin(bytes: Uint8Array, length: number, waiter: WriteWaiter): void {
    this.#bytes = bytes;
    // Where a stream of events waits, the fields have left the processor's caches: this one does not change.
    if (this.#waiter !== waiter) this.#waiter = waiter;
    this.#from = 0;
    this.#to = length;
    this.writing = true;
    this.sent += length;
  }

  /** Counts bytes that a direct writer has written. */
  count(bytes: number): void {
    this.sent += bytes;
    this.#taken += bytes;
  }

  /** Lets go of who waited last. */
  endWrites(): void {
    this.#waiter = null;
  }

  #writeOn(): void {
    const bytes = this.#bytes!;
    const from = this.#from;
    const to = this.#to;
    this.#beginWait();
    const view = from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to);
    if (this.#someTaken === null) this.#createCallbacks();
    this.transport.write(view).then(this.#someTaken, this.#noneTaken);
  }

  #createCallbacks(): void {
    const taken = (count: number) => this.tookSome(count);
    const broke = (cause: unknown) => this.tookNone(cause);
    this.#someTaken = taken;
    this.#noneTaken = broke;
  }

  /** The system has taken `count` bytes of the write under way. */
  tookSome(count: number): void {
    this.#taken += count;
    this.#from += count;
    if (this.#from < this.#to) return this.#writeOn();
    // Its buffer is another's now: a thousand streams would each keep one that the pool has dropped.
    this.#bytes = null;
    this.#settled();
    this.#waiter?.wrote();
  }

  /** The write under way has failed. */
  tookNone(cause: unknown): void {
    const error = this.#broke(cause);
    this.#bytes = null;
    this.#settled();
    this.#waiter?.writeBroke(error);
  }

  /** No async function: it runs twice a request, and the frames of those show in the benchmark. */
  #write(view: Uint8Array): Promise<void> {
    this.#beginWait();
    return this.transport.write(view).then((count) => {
      this.#taken += count;
      if (count < view.length) return this.#write(view.subarray(count));
      this.#settled();
    }, (cause) => this.#fail(cause));
  }

  #fail(cause: unknown): never {
    const error = this.#broke(cause);
    this.#settled();
    throw error;
  }

  /**
   * Deadlines of a connection at rest are checked once in `LONGEST_REST`: that is enough for one that is far
   * away, which may be noticed that much late. With a thousand streams, a check in the next sweep would be
   * one for each event, of objects that have left the processor's caches.
   */
  #beginWait(): void {
    this.deadline = this.deadlines.in(this.timeout);
    if (this.hasShortTimeout && this.#owner !== null) this.deadlines.stir(this.#owner);
  }

  /** A write that is noticed as overdue a second late would be so by a good part of its timeout. */
  get hasShortTimeout(): boolean {
    return this.timeout < LONG_TIMEOUT;
  }

  #settled(): void {
    this.writing = false;
    this.deadline = NO_DEADLINE;
  }

  /** Whether the write under way gets on too slowly; to be asked once a sweep. `now` in ms. */
  isOverdue(now: number): boolean {
    this.directWriter?.look();
    if (this.deadline === NO_DEADLINE) return false;
    return now >= this.deadline || this.#pace.isTooSlow(this.#taken);
  }

  /** Asks the system, with a write of no bytes, whether the peer has reset the connection. */
  touch(): void {
    this.transport.write(NOTHING).catch(this.#broke);
  }

  /**
   * Writes the first `length` bytes of `buffer` without waiting; whoever writes next waits by `after`.
   * What this needs is kept in fields: it runs twice a request, and functions and their scopes would be
   * a tenth of all memory that a request takes.
   *
   * @param pool that gets `buffer` back once all is written; null where it belongs to nobody. One that
   *   has not been written is left to the garbage collector.
   * @param failed hears why it was not written, once the connection has been ended.
   */
  writeLater(
    buffer: Uint8Array<ArrayBuffer>,
    length: number,
    pool: BufferPool | null,
    failed: ((error: unknown) => void) | null = null,
  ): void {
    if (this.#later !== null) return this.#writeBehind(buffer, length, pool, failed);
    this.#later = buffer;
    this.#length = length;
    this.#pool = pool;
    this.#laterFailed = failed;
    this.writing = true;
    this.sent += length;
    this.#beginWait();
    if (this.#laterTaken === null) this.#createLaterCallbacks();
    this.pending = this.#laterPending = this.transport.write(buffer.subarray(0, length))
      .then(this.#laterTaken, this.#laterBroke);
  }

  /** As `writeLater`, once the one before is through. */
  #writeBehind(
    buffer: Uint8Array<ArrayBuffer>,
    length: number,
    pool: BufferPool | null,
    failed: ((error: unknown) => void) | null,
  ): void {
    this.pending = this.pending!.then(() => {
      this.writeLater(buffer, length, pool, failed);
      return this.pending!;
    });
  }

  #createLaterCallbacks(): void {
    const taken = (count: number) => this.#tookLater(count);
    const broke = (cause: unknown) => this.#breakLater(cause);
    this.#laterTaken = taken;
    this.#laterBroke = broke;
  }

  #tookLater(count: number): Promise<void> | void {
    this.#taken += count;
    if (count === this.#length) return this.#laterDone();
    const rest = this.#later!.subarray(count, this.#length);
    return this.#write(rest).then(() => this.#laterDone(), (error) => this.#laterOver()?.(error));
  }

  #breakLater(cause: unknown): void {
    const error = this.#broke(cause);
    this.#laterOver()?.(error);
  }

  #laterDone(): void {
    const buffer = this.#later!;
    const pool = this.#pool;
    this.#laterOver();
    pool?.give(buffer);
  }

  /** Nothing is written later any more. Who is to be told of a failure. */
  #laterOver(): ((error: unknown) => void) | null {
    const failed = this.#laterFailed;
    if (this.pending === this.#laterPending) this.pending = null;
    this.#later =
      this.#pool =
      this.#laterFailed =
      this.#laterPending =
        null;
    this.#settled();
    return failed;
  }

  /** Runs `next` once the last write is done; at once where none is under way. */
  after<T>(next: () => T): T | Promise<Awaited<T>> {
    return this.pending === null ? next() : this.pending.then(next) as Promise<Awaited<T>>;
  }
}
