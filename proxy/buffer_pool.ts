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

  /** Gives a buffer back. The caller keeps no view of it. A buffer of another size is let go. */
  give(buffer: Uint8Array<ArrayBuffer>): void {
    if (buffer.length === this.size && this.#free.length < this.#keep) this.#free.push(buffer);
  }
}

/** The buffers of one event loop. */
export interface Buffers {
  /** Where heads arrive: most fit one, a larger head grows by doubling outside the pool. */
  readonly head: BufferPool;
  /** Where heads and small bodies are put together for one write. */
  readonly out: BufferPool;
  /** Where bodies pass through. */
  readonly bulk: BufferPool;
}

export function createBuffers(): Buffers {
  return {
    head: new BufferPool(4 * 1024, 256),
    out: new BufferPool(16 * 1024, 64),
    bulk: new BufferPool(64 * 1024, 64),
  };
}
