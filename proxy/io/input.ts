/**
 * What has arrived from a peer and has not been consumed. In: a transport. Out: `bytes[start, end)`,
 * and a promise for more.
 *
 * At most one read is under way. It may be started ahead of need (`watch`): on an idle upstream
 * connection and on a client that waits for its answer it is what notices the peer's end, at no
 * extra system call, and it becomes the next message's first read.
 */
import type { BufferPool } from "./buffer_pool.ts";
import type { Transport } from "./transport.ts";

export class Input {
  bytes: Uint8Array<ArrayBuffer>;
  start = 0;
  end = 0;
  /** The peer has sent FIN: no byte will follow. */
  ended = false;
  /** The read failed (a reset, or we closed): nothing more can be said of the peer. */
  failed: unknown = null;
  /**
   * A write has met the peer's reset, which the system tells only once: a read then finds an end that looks as if
   * FIN had come.
   */
  reset: unknown = null;
  /** Called when a read that nobody waits for has settled. */
  onWatched: (() => void) | null = null;
  readonly transport: Transport;
  readonly #pool: BufferPool;
  readonly #idle: BufferPool;
  #isPending = false;
  /** Told of the read under way. */
  #filled: (() => void) | null = null;
  /** Messages do not fit the buffers of `idle`. */
  #isLarge = false;

  /**
   * @param pool where its buffers come from.
   * @param idle where those come from in which it waits for a message, unless the last one filled
   * such a buffer.
   */
  constructor(transport: Transport, pool: BufferPool, idle: BufferPool = pool) {
    this.transport = transport;
    this.#pool = pool;
    this.#idle = idle;
    this.bytes = idle.take();
  }

  get isEmpty(): boolean {
    return this.start === this.end;
  }

  /** True when no further byte can come. */
  get isOver(): boolean {
    return this.ended || this.failed !== null;
  }

  /** A read is under way: `bytes` must not be moved. */
  get isReading(): boolean {
    return this.#isPending;
  }

  /** Reads on and throws away, as long as that `isWanted` and bytes can come. */
  async discard(isWanted: () => boolean): Promise<void> {
    while (isWanted() && !this.isOver) {
      this.start = this.end;
      this.makeRoom(this.bytes.length);
      await this.fill();
    }
  }

  /** Settles when bytes have arrived, or none can (`isOver`). Never rejects. Needs room behind `end`. */
  fill(): Promise<void> {
    return new Promise((filled) => this.fillThen(filled));
  }

  /** As `fill`, without a promise of its own. `filled` must not throw. */
  fillThen(filled: () => void): void {
    const before = this.#filled;
    this.#filled = before === null ? filled : () => {
      before();
      filled();
    };
    if (!this.#isPending) this.#read();
  }

  /** Starts a read ahead of need, unless one is under way, the input is over or the buffer is full. */
  watch(): void {
    if (this.#isPending || this.isOver) return;
    if (this.start === this.end) this.start = this.end = 0;
    if (this.end < this.bytes.length) this.#read();
  }

  /**
   * Makes room for a read: at once where the buffer has some or is consumed, else by moving the
   * rest to the front, else by doubling up to `max` bytes. False when even that is full. Moving
   * changes every offset, so the caller starts its parse anew when it gets "moved".
   */
  makeRoom(max: number): "room" | "moved" | "full" {
    if (this.#isPending) return "room";
    if (this.start === this.end) {
      this.start = this.end = 0;
      return "room";
    }
    if (this.end < this.bytes.length) return "room";
    if (this.start > 0) {
      this.bytes.copyWithin(0, this.start, this.end);
    } else {
      if (this.bytes.length >= max) return "full";
      const size = this.#pool.size;
      const grown = this.bytes.length < size
        ? this.#pool.take()
        : new Uint8Array(Math.min(this.bytes.length * 2, max));
      grown.set(this.bytes);
      this.giveBack(this.bytes, this.#idle);
      this.bytes = grown;
    }
    this.end -= this.start;
    this.start = 0;
    return "moved";
  }

  /**
   * Puts `bytes` in place of the buffer, which the caller now owns; what has not been consumed moves
   * along, so offsets change. Only while no read is under way.
   */
  exchangeBuffer(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const { bytes: old, start, end } = this;
    if (start !== end) bytes.set(old.subarray(start, end));
    this.bytes = bytes;
    this.start = 0;
    this.end = end - start;
    return old;
  }

  /** The size of its own buffers, in bytes. */
  get poolSize(): number {
    return this.#pool.size;
  }

  /** A buffer to wait in for the next message, for `exchangeBuffer`. */
  takeIdle(): Uint8Array<ArrayBuffer> {
    return (this.#isLarge ? this.#pool : this.#idle).take();
  }

  /** Another buffer of its own size, for `exchangeBuffer`. */
  takeSpare(): Uint8Array<ArrayBuffer> {
    return this.#pool.take();
  }

  /** Returns a buffer that `exchangeBuffer` gave to its pool, this one or `other`. */
  giveBack(buffer: Uint8Array<ArrayBuffer>, other: BufferPool): void {
    if (buffer.length === this.#idle.size) this.#idle.give(buffer);
    else (buffer.length === other.size ? other : this.#pool).give(buffer);
  }

  /**
   * The whole buffer, for any number of reads at the transport. The result of the last one goes to `arrived`
   * or `broke`, which call `filled`. To be called while nothing has come and no read is in progress.
   */
  beginDirectReads(filled: () => void): Uint8Array<ArrayBuffer> {
    this.start = this.end = 0;
    this.#isPending = true;
    this.#filled = filled;
    return this.bytes;
  }

  /** Ends direct reads, of which none is in progress. */
  endDirectReads(): void {
    this.#isPending = false;
    this.#filled = null;
  }

  /** Returns the buffer once the transport is closed; a read under way keeps its own. */
  release(): void {
    if (!this.#isPending) this.giveBack(this.bytes, this.#idle);
    this.start = this.end = 0;
    this.onWatched = null;
  }

  #read(): void {
    const { bytes, end } = this;
    const view = end === 0 ? bytes : bytes.subarray(end);
    this.#isPending = true;
    this.transport.read(view).then(this.arrived, this.broke);
  }

  /** A read into what was free of the buffer has settled. */
  readonly arrived = (count: number | null): void => {
    this.#isPending = false;
    if (count !== null && count !== 0) this.end += count;
    else if (this.reset === null) this.ended = true;
    else this.failed = this.reset;
    if (this.end === this.bytes.length) this.#isLarge = true;
    this.#settled();
  };

  readonly broke = (error: unknown): void => {
    this.#isPending = false;
    this.failed = error ?? new Error("read failed");
    this.#settled();
  };

  #settled(): void {
    const filled = this.#filled ?? this.onWatched;
    this.#filled = null;
    filled?.();
  }
}
