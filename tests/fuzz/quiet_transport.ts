/**
 * A peer of HTTP/2 whose bytes are all known beforehand. In: its bytes and where they are cut. Out: a
 * transport that says FIN only once nothing more is written to it, so that answers get out, and that
 * takes what is written in pieces and not at once.
 */
import type { Transport } from "../../proxy/io/transport.ts";
import { join } from "../support/h2_frames.ts";
import type { Random } from "./random.ts";

/** Turns of the event loop without a write, after which nothing more is expected. */
const QUIET_TURNS = 3;

export class QuietTransport implements Transport {
  /** What was written last has been taken as a whole, or it was not closed before that. */
  isWhole = true;
  /** Called before each read. */
  onRead: (() => void) | null = null;
  readonly #bytes: Uint8Array;
  readonly #cuts: readonly number[];
  readonly #random: Random | null;
  readonly #written: Uint8Array[] = [];
  #delivered = 0;
  #nextCut = 0;
  #closed: PromiseWithResolvers<never> = Promise.withResolvers();
  #isClosed = false;
  #turns = 0;

  /**
   * @param cuts offsets, ascending, at which a read ends; it may end earlier for want of room.
   * @param random decides how much of a write is taken, and when; null takes all at once.
   */
  constructor(bytes: Uint8Array, cuts: readonly number[], random: Random | null) {
    this.#bytes = bytes;
    this.#cuts = cuts;
    this.#random = random;
    this.#closed.promise.catch(() => {});
  }

  get written(): Uint8Array {
    return join(...this.#written);
  }

  async read(view: Uint8Array): Promise<number | null> {
    if (this.#isClosed) return await this.#closed.promise;
    if (view.length === 0) throw new RangeError("Cannot read: no room");
    this.onRead?.();
    if (this.#delivered === this.#bytes.length) return await this.#quiet();
    while (this.#cuts[this.#nextCut] <= this.#delivered) this.#nextCut++;
    const end = this.#cuts[this.#nextCut] ?? this.#bytes.length;
    const count = Math.min(end - this.#delivered, view.length);
    view.set(this.#bytes.subarray(this.#delivered, this.#delivered + count));
    this.#delivered += count;
    if (this.#random?.oneIn(4)) await Promise.race([nextTurn(), this.#closed.promise]);
    return count;
  }

  async write(view: Uint8Array): Promise<number> {
    if (this.#isClosed) return await this.#closed.promise;
    this.#turns = 0;
    this.isWhole = false;
    let count = view.length;
    if (this.#random?.oneIn(4)) {
      count = this.#random.between(1, view.length);
      await Promise.race([nextTurn(), this.#closed.promise]);
    }
    this.isWhole = count === view.length;
    // Only now: what is written holds until then, and no longer.
    this.#written.push(view.slice(0, count));
    return count;
  }

  closeWrite(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    this.#isClosed = true;
    this.#closed.reject(new Deno.errors.BadResource("closed"));
  }

  async #quiet(): Promise<null> {
    for (this.#turns = 0; this.#turns < QUIET_TURNS; this.#turns++) {
      await Promise.race([nextTurn(), this.#closed.promise]);
    }
    return null;
  }
}

/** Settles when the event loop has turned. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
