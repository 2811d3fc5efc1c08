/**
 * Calls that this process makes to its own ports, to see whether they answer. In: the port that each
 * goes to, its local port as soon as that is known, its end. Out: whether a connection is one of them,
 * so that none counts as a client. The cells may be shared memory: the kernel gives the call of one
 * worker to another, so they also say whether there is a worker that answers nobody.
 */

/** Calls of one worker that are under way at once; more than these pass for clients. */
const SLOTS = 32;

/** In a slot stand the port that is called, in the high 16 bits, and the caller's own, or this. */
const FREE = 0;
/** The caller's own port, as long as it is not known. */
const UNNAMED = 0;

export class SelfProbes {
  readonly #cells: Int32Array;
  readonly #own: number;

  /**
   * @param cells as `cellsFor` makes them.
   * @param worker which of the workers this is, from 0.
   */
  constructor(cells: Int32Array = SelfProbes.cellsFor(1), worker = 0) {
    this.#cells = cells;
    this.#own = worker * SLOTS;
  }

  /** Cells for so many workers; pass the array (its buffer is shared) to each of them. */
  static cellsFor(workers: number): Int32Array<SharedArrayBuffer> {
    return new Int32Array(
      new SharedArrayBuffer((workers * SLOTS + 1) * Int32Array.BYTES_PER_ELEMENT),
    );
  }

  /** Forgets a worker's calls: it is gone. */
  static clear(cells: Int32Array, worker: number): void {
    for (let at = worker * SLOTS; at < (worker + 1) * SLOTS; at++) Atomics.store(cells, at, FREE);
  }

  /** So many workers answer nobody. */
  static setSilent(cells: Int32Array, workers: number): void {
    Atomics.store(cells, cells.length - 1, workers);
  }

  /** A worker answers nobody: a call that is not answered may be one that it was given. */
  get isSilenceForeign(): boolean {
    return Atomics.load(this.#cells, this.#cells.length - 1) > 0;
  }

  /** Before `port` is dialled. What `name` and `end` take for the call. */
  begin(port: number): number {
    const cell = cellOf(port, UNNAMED);
    for (let at = this.#own; at < this.#own + SLOTS; at++) {
      if (Atomics.compareExchange(this.#cells, at, FREE, cell) === FREE) return at;
    }
    return -1;
  }

  /** The call comes from this port of its own. */
  name(call: number, from: number): void {
    if (call !== -1) Atomics.or(this.#cells, call, from);
  }

  end(call: number): void {
    if (call !== -1) Atomics.store(this.#cells, call, FREE);
  }

  /**
   * Whether a connection that this machine has made to itself, from one port to another, is such a call. Null
   * while there is one of which it is not known yet: it is accepted sooner than its caller is told. The kernel
   * gives one port to callers of different ports at once, so a client may have the same as a call.
   */
  includes(from: number, port: number): boolean | null {
    const [named, unnamed] = [cellOf(port, from), cellOf(port, UNNAMED)];
    let answer: boolean | null = false;
    for (let at = 0; at < this.#cells.length - 1; at++) {
      const cell = Atomics.load(this.#cells, at);
      if (cell === named) return true;
      if (cell === unnamed) answer = null;
    }
    return answer;
  }
}

/** As an Int32Array holds it. */
function cellOf(port: number, from: number): number {
  return port << 16 | from;
}
