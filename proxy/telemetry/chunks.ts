/**
 * Memory for slots that are all alike. In: how many cells a slot has. Out: chunks of some thousand
 * slots, which are added while slots are needed and shared with the other thread.
 */

/**
 * Each chunk is an object that is read on the way to a cell, so that few are better; 2 MiB of routes, of
 * which only the pages that are written to take memory.
 */
export const SLOTS_PER_CHUNK = 4096;

type Cells = Float64Array<SharedArrayBuffer>;

export class Chunks {
  readonly #bytes: number;
  readonly #chunks: Cells[] = [];

  /** @param cells of one slot. */
  constructor(cells: number) {
    this.#bytes = SLOTS_PER_CHUNK * cells * Float64Array.BYTES_PER_ELEMENT;
  }

  get count(): number {
    return this.#chunks.length;
  }

  get buffers(): SharedArrayBuffer[] {
    return this.#chunks.map(({ buffer }) => buffer);
  }

  /** Without `memory` it makes its own. */
  add(memory: SharedArrayBuffer = new SharedArrayBuffer(this.#bytes)): SharedArrayBuffer {
    this.#chunks.push(new Float64Array(memory));
    return memory;
  }

  /** Adds chunks until there are `count`; those that it has added. */
  grow(count: number): SharedArrayBuffer[] {
    const added: SharedArrayBuffer[] = [];
    while (this.#chunks.length < count) added.push(this.add());
    return added;
  }

  /** The cells that a slot's stand in, undefined where its chunk has not been added. */
  of(slot: number): Cells | undefined {
    return this.#chunks[(slot / SLOTS_PER_CHUNK) | 0];
  }

  /** Likewise, once there are enough. */
  grownFor(slot: number): Cells {
    this.grow(chunksFor(slot + 1));
    return this.of(slot)!;
  }

  /** Has `add` take each chunk of `other` into the one here. */
  fold(other: Chunks, add: (own: Cells, other: Cells) => void): void {
    this.grow(other.count);
    for (const [index, chunk] of other.#chunks.entries()) add(this.#chunks[index], chunk);
  }
}

/** How many chunks so many slots take. */
export function chunksFor(slots: number): number {
  return Math.ceil(slots / SLOTS_PER_CHUNK);
}

/** Which of its chunk's slots a slot is. */
export function indexInChunk(slot: number): number {
  return slot % SLOTS_PER_CHUNK;
}
