/**
 * What has arrived from a peer and has not been consumed. In: a transport. Out: `bytes[start, end)`,
 * and a promise for more.
 *
 * At most one read is under way. It may be started ahead of need (`watch`): on an idle upstream
 * connection and on a client that waits for its answer it is what notices the peer's end, at no
 * extra system call, and it becomes the next message's first read.
 */
import type { BufferPool } from "../buffer_pool.ts";
import type { Transport } from "../transport.ts";

export class Input {
  bytes: Uint8Array<ArrayBuffer>;
  start = 0;
  end = 0;
  /** The peer has sent FIN: no byte will follow. */
  ended = false;
  /** The read failed (a reset, or we closed): nothing more can be said of the peer. */
  failed: unknown = null;
  /** Called when a read that nobody waits for has settled. */
  onWatched: (() => void) | null = null;
  readonly #transport: Transport;
  readonly #pool: BufferPool;
  #pending: Promise<void> | null = null;
  #waiting = false;

  constructor(transport: Transport, pool: BufferPool) {
    this.#transport = transport;
    this.#pool = pool;
    this.bytes = pool.take();
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
    return this.#pending !== null;
  }

  /** Settles when bytes have arrived, or none can (`isOver`). Never rejects. Needs room behind `end`. */
  fill(): Promise<void> {
    this.#waiting = true;
    return this.#pending ?? this.#read();
  }

  /** Starts a read ahead of need, unless one is under way, the input is over or the buffer is full. */
  watch(): void {
    if (this.#pending !== null || this.isOver) return;
    if (this.start === this.end) this.start = this.end = 0;
    if (this.end < this.bytes.length) this.#read();
  }

  /**
   * Makes room for a read: at once where the buffer has some or is consumed, else by moving the
   * rest to the front, else by doubling up to `max` bytes. False when even that is full. Moving
   * changes every offset, so the caller starts its parse anew when it gets "moved".
   */
  makeRoom(max: number): "room" | "moved" | "full" {
    if (this.#pending !== null) return "room";
    if (this.start === this.end) {
      this.start = this.end = 0;
      return "room";
    }
    if (this.end < this.bytes.length) return "room";
    if (this.start > 0) {
      this.bytes.copyWithin(0, this.start, this.end);
    } else {
      if (this.bytes.length >= max) return "full";
      const grown = new Uint8Array(Math.min(this.bytes.length * 2, max));
      grown.set(this.bytes);
      this.#pool.give(this.bytes);
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

  /** Another buffer of its own size, for `exchangeBuffer`. */
  takeSpare(): Uint8Array<ArrayBuffer> {
    return this.#pool.take();
  }

  /** Returns a buffer that `exchangeBuffer` gave to its pool, this one or `other`. */
  giveBack(buffer: Uint8Array<ArrayBuffer>, other: BufferPool): void {
    (buffer.length === other.size ? other : this.#pool).give(buffer);
  }

  /** Returns the buffer once the transport is closed; a read under way keeps its own. */
  release(): void {
    if (this.#pending === null) this.#pool.give(this.bytes);
    this.start = this.end = 0;
    this.onWatched = null;
  }

  #read(): Promise<void> {
    const { bytes, end } = this;
    const view = end === 0 ? bytes : bytes.subarray(end);
    return this.#pending = this.#transport.read(view).then(this.#arrived, this.#broke);
  }

  #arrived = (count: number | null): void => {
    this.#pending = null;
    if (count === null) this.ended = true;
    else this.end += count;
    this.#settled();
  };

  #broke = (error: unknown): void => {
    this.#pending = null;
    this.failed = error ?? new Error("read failed");
    this.#settled();
  };

  #settled(): void {
    const waited = this.#waiting;
    this.#waiting = false;
    if (!waited) this.onWatched?.();
  }
}
