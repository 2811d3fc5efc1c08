/**
 * The streams of a connection by id (RFC 9113 §5.1.1). In: streams that open and close. Out: which
 * stream a frame is for, and of an id without a stream whether it is yet to come, or over.
 */
/** What became of an id that no open stream has. */
export type Fate =
  /** Nobody has opened it yet. */
  | "idle"
  /** It was passed over, and so closed without having been open. */
  | "skipped"
  /** We have reset it: the peer may not know yet, and what it sends is ignored. */
  | "reset"
  /** It has ended, or the peer has reset it. */
  | "closed";

/** Streams that we have reset and remember: frames to more than these are not on their way any more. */
const REMEMBERED = 256;
/**
 * The same of a backend's: of all its clients, thousands may leave within a round trip, and a late
 * answer to one of these must not end the connection of the others. A search takes 1.5 µs.
 */
const REMEMBERED_OF_BACKEND = 4096;
/** Gaps in the peer's ids that are remembered. Nobody but a test leaves any. */
const GAPS = 16;

/** `S`: the streams of the connection's role. */
export class Streams<S extends { readonly id: number }> {
  /** The highest id that the peer has opened. */
  lastPeerId = 0;
  /** The id that our next stream gets. */
  nextId: number;
  readonly #isServer: boolean;
  readonly #open = new Map<number, S>();
  /** Made when the first is reset: most connections have none. */
  #reset: Int32Array | null = null;
  #resets = 0;
  /** First and last id of each gap. */
  readonly #gaps: number[] = [];

  constructor(isServer: boolean) {
    this.#isServer = isServer;
    this.nextId = isServer ? 2 : 1;
  }

  get size(): number {
    return this.#open.size;
  }

  get(id: number): S | null {
    return this.#open.get(id) ?? null;
  }

  values(): Iterable<S> {
    return this.#open.values();
  }

  /** Whether the peer opens streams with such ids, and not we. */
  isPeers(id: number): boolean {
    return (id & 1) === (this.#isServer ? 1 : 0);
  }

  /** The peer has opened `id`, which is above all of its before; served or not. */
  openedByPeer(id: number): void {
    const first = this.lastPeerId === 0 ? (this.#isServer ? 1 : 2) : this.lastPeerId + 2;
    if (id > first && this.#gaps.length < 2 * GAPS) this.#gaps.push(first, id - 2);
    this.lastPeerId = id;
  }

  add(stream: S): void {
    this.#open.set(stream.id, stream);
  }

  delete(id: number): void {
    this.#open.delete(id);
  }

  /** We have sent RST_STREAM. */
  wasReset(id: number): void {
    const reset = this.#reset ??= new Int32Array(
      this.#isServer ? REMEMBERED : REMEMBERED_OF_BACKEND,
    );
    reset[this.#resets++ % reset.length] = id;
  }

  /** The peer has sent RST_STREAM as well: nothing of it is on its way any more. */
  resetByBoth(id: number): void {
    if (this.#reset === null) return;
    const index = this.#reset.indexOf(id);
    if (index !== -1) this.#reset[index] = 0;
  }

  /** What became of an id that `get` does not know; not 0. */
  fate(id: number): Fate {
    if (!this.isPeers(id)) return id >= this.nextId ? "idle" : this.#past(id);
    if (id > this.lastPeerId) return "idle";
    for (let i = 0; i < this.#gaps.length; i += 2) {
      if (id >= this.#gaps[i] && id <= this.#gaps[i + 1]) return "skipped";
    }
    return this.#past(id);
  }

  #past(id: number): Fate {
    return this.#reset?.includes(id) ? "reset" : "closed";
  }
}
