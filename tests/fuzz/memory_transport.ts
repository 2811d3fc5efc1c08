/**
 * A peer whose bytes are all known beforehand. In: its bytes and where they are cut. Out: a
 * transport that delivers one piece a read and then FIN, and keeps what is written to it.
 */
import type { Transport } from "../../proxy/io/transport.ts";

export class MemoryTransport implements Transport {
  /** Bytes handed over so far. */
  delivered = 0;
  readonly written: Uint8Array[] = [];
  readonly #bytes: Uint8Array;
  readonly #cuts: readonly number[];
  #nextCut = 0;
  #closed = false;

  /** @param cuts offsets, ascending, at which a read ends; it may end earlier for want of room. */
  constructor(bytes: Uint8Array, cuts: readonly number[] = []) {
    this.#bytes = bytes;
    this.#cuts = cuts;
  }

  read(view: Uint8Array): Promise<number | null> {
    if (this.#closed) return Promise.reject(new Deno.errors.BadResource("closed"));
    if (view.length === 0) return Promise.reject(new RangeError("Cannot read: no room"));
    if (this.delivered === this.#bytes.length) return Promise.resolve(null);
    while (this.#cuts[this.#nextCut] <= this.delivered) this.#nextCut++;
    const end = this.#cuts[this.#nextCut] ?? this.#bytes.length;
    const count = Math.min(end - this.delivered, view.length);
    view.set(this.#bytes.subarray(this.delivered, this.delivered + count));
    this.delivered += count;
    return Promise.resolve(count);
  }

  write(view: Uint8Array): Promise<number> {
    if (this.#closed) return Promise.reject(new Deno.errors.BadResource("closed"));
    this.written.push(view.slice());
    return Promise.resolve(view.length);
  }

  closeWrite(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    this.#closed = true;
  }
}
