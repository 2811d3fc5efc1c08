/**
 * How many client connections there are, in all and from each address, over all workers. In: an
 * address that comes or goes. Out: whether there is room. The numbers lie in one array of cells,
 * which may be shared memory: every worker adds to cells of its own and reads those of all, so what
 * a worker had counted goes with it (`clear`).
 *
 * Addresses are not stored. Each falls on one cell in each of two rows, by hashes with a random
 * seed, and the smaller of the two counts: two addresses that share a cell in one row hardly ever
 * share the other, and memory stays the same however many addresses there are.
 */
import { ownerOf } from "../../shared/net/address_owner.ts";

export interface ConnectionLimits {
  /** In all. */
  readonly connections: number;
  /** From one address; 0 is no limit. */
  readonly connectionsPerAddress: number;
}

export type LimitReached = "connection_limit" | "address_limit";

/** Cells of a row: twice the usual limit of connections, so that few addresses share one. */
const ROW = 32 * 1024;
/** A worker's cells: its total, and two rows. */
const REGION = 1 + 2 * ROW;

export class ConnectionCounts {
  readonly #cells: Int32Array;
  readonly #own: number;

  /**
   * @param cells as `cellsFor` makes them.
   * @param worker which of the workers this is, from 0.
   */
  constructor(cells: Int32Array = ConnectionCounts.cellsFor(1), worker = 0) {
    this.#cells = cells;
    this.#own = 1 + worker * REGION;
  }

  /** Cells for so many workers; pass the array (its buffer is shared) to each of them. */
  static cellsFor(workers: number): Int32Array<SharedArrayBuffer> {
    const bytes = (1 + workers * REGION) * Int32Array.BYTES_PER_ELEMENT;
    const cells = new Int32Array(new SharedArrayBuffer(bytes));
    cells[0] = crypto.getRandomValues(new Int32Array(1))[0];
    return cells;
  }

  /** Forgets what a worker has counted: it is gone, and its connections with it. */
  static clear(cells: Int32Array, worker: number): void {
    const start = 1 + worker * REGION;
    for (let at = start; at < start + REGION; at++) Atomics.store(cells, at, 0);
  }

  /** Connections of all workers. */
  get total(): number {
    return this.#sum(0);
  }

  /**
   * Which limit leaves no room for one more, besides `pending` that are not counted in yet; null
   * where there is room.
   */
  refusal(address: string, limits: ConnectionLimits, pending: number): LimitReached | null {
    if (this.total + pending >= limits.connections) return "connection_limit";
    if (limits.connectionsPerAddress === 0) return null;
    const { first, second } = this.#places(address);
    const count = Math.min(this.#sum(first), this.#sum(second));
    return count < limits.connectionsPerAddress ? null : "address_limit";
  }

  /** Counts a connection in, or says which limit leaves no room for it. */
  enter(address: string, limits: ConnectionLimits): LimitReached | null {
    // First in, then look: two workers that do so at once may both refuse, never both exceed.
    this.#add(0, 1);
    if (this.total > limits.connections) {
      this.#add(0, -1);
      return "connection_limit";
    }
    if (limits.connectionsPerAddress === 0) return null;
    const { first, second } = this.#places(address);
    this.#add(first, 1);
    this.#add(second, 1);
    if (Math.min(this.#sum(first), this.#sum(second)) <= limits.connectionsPerAddress) return null;
    this.leave(address, limits);
    return "address_limit";
  }

  /** A connection that was counted in is gone. */
  leave(address: string, limits: ConnectionLimits): void {
    this.#add(0, -1);
    if (limits.connectionsPerAddress === 0) return;
    const { first, second } = this.#places(address);
    this.#add(first, -1);
    this.#add(second, -1);
  }

  #add(place: number, count: number): void {
    Atomics.add(this.#cells, this.#own + place, count);
  }

  #sum(place: number): number {
    const cells = this.#cells;
    let sum = 0;
    for (let at = 1 + place; at < cells.length; at += REGION) sum += Atomics.load(cells, at);
    return sum;
  }

  #places(address: string): { first: number; second: number } {
    const key = ownerOf(address);
    let hash = this.#cells[0];
    for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
    const first = mix(hash);
    return { first: 1 + first % ROW, second: 1 + ROW + mix(first ^ 0x5bd1e995) % ROW };
  }
}

/** The finalizer of MurmurHash3: every bit of the result depends on every bit of `hash`. */
function mix(hash: number): number {
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
