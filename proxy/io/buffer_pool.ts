/**
 * Buffers borrowed and returned, so that an idle connection holds little and a busy one allocates
 * nothing. In: a size in bytes. Out: `Uint8Array`s of just that size, with old bytes in them.
 */
export class BufferPool {
  readonly size: number;
  readonly #free: Uint8Array<ArrayBuffer>[] = [];
  readonly #keep: number;

  /** @param keep how many free buffers are kept; more are left to the garbage collector. */
  constructor(size: number, keep: number) {
    this.size = size;
    this.#keep = keep;
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#free.pop() ?? new Uint8Array(this.size);
  }

  /** A buffer for so many bytes, which may need more than one. */
  takeFor(_length: number): Uint8Array<ArrayBuffer> {
    return this.take();
  }

  /** Gives a buffer back. The caller keeps no view of it. A buffer of another size is let go. */
  give(buffer: Uint8Array<ArrayBuffer>): void {
    if (buffer.length === this.size && this.#free.length < this.#keep) this.#free.push(buffer);
  }
}

/** Buffers for bodies: plain ones, and a few large ones for long bodies. */
export class BulkPool extends BufferPool {
  readonly #longSize: number;
  readonly #limit: number;
  readonly #long: Uint8Array<ArrayBuffer>[] = [];
  /** Large ones that exist, free or not. */
  #made = 0;
  /** One that was cut off in an exchange is not given back: it is the collector that knows. */
  readonly #collected = new FinalizationRegistry<null>(() => this.#made--);

  /** @param limit of large buffers in all, so that slow peers hold no more than these. */
  constructor(size: number, keep: number, longSize: number, limit: number) {
    super(size, keep);
    this.#longSize = longSize;
    this.#limit = limit;
  }

  /** A buffer for so many bytes; a large one where they fill that, and one is left. */
  override takeFor(length: number): Uint8Array<ArrayBuffer> {
    if (length < this.#longSize) return this.take();
    const free = this.#long.pop();
    if (free !== undefined) return free;
    if (this.#made === this.#limit) return this.take();
    this.#made++;
    const buffer = new Uint8Array(this.#longSize);
    this.#collected.register(buffer, null);
    return buffer;
  }

  override give(buffer: Uint8Array<ArrayBuffer>): void {
    if (buffer.length !== this.#longSize) return super.give(buffer);
    // One that had to be as long for what was in it is not of those that were counted.
    if (this.#long.length < this.#limit) this.#long.push(buffer);
  }
}

/** The buffers of one event loop. */
export interface Buffers {
  /**
   * What a connection from a client waits in for its next request, unless those are larger; and a
   * stream from a backend for what it seldom says.
   */
  readonly idle: BufferPool;
  /** Where heads arrive: most fit one, a larger head grows by doubling outside the pool. */
  readonly head: BufferPool;
  /** Where heads and small bodies are put together for one write. */
  readonly out: BufferPool;
  /** Where bodies pass through. */
  readonly bulk: BufferPool;
}

export function createBuffers(): Buffers {
  return {
    idle: new BufferPool(1024, 1024),
    head: new BufferPool(4 * 1024, 256),
    out: new BufferPool(16 * 1024, 64),
    // Fewer and larger turns: a body of 1 MiB costs three quarters of what it does by 64 KiB.
    bulk: new BulkPool(64 * 1024, 64, 256 * 1024, 64),
  };
}
