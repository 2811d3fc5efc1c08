/** A transport without a socket: what arrives is read, and what is written kept, within one turn. */
import type { Transport } from "../../proxy/io/transport.ts";
import { join } from "./h2_frames.ts";

export class MemoryTransport implements Transport {
  readonly writes: Uint8Array[] = [];
  /** Writes wait until this settles. */
  held: PromiseWithResolvers<void> | null = null;
  isClosed = false;
  /** FIN has been sent. */
  hasEnded = false;
  /** FIN has arrived. */
  #isOver = false;
  #unread: Uint8Array<ArrayBufferLike> = new Uint8Array(0);
  #reading: PromiseWithResolvers<void> | null = null;

  arrive(bytes: Uint8Array): void {
    this.#unread = join(this.#unread, bytes);
    this.#reading?.resolve();
  }

  /** The peer sends FIN. */
  end(): void {
    this.#isOver = true;
    this.#reading?.resolve();
  }

  async read(view: Uint8Array): Promise<number | null> {
    while (this.#unread.length === 0) {
      if (this.isClosed) throw new Error("closed");
      if (this.#isOver) return 0;
      this.#reading = Promise.withResolvers();
      await this.#reading.promise;
    }
    const count = Math.min(view.length, this.#unread.length);
    view.set(this.#unread.subarray(0, count));
    this.#unread = this.#unread.subarray(count);
    return count;
  }

  async write(view: Uint8Array): Promise<number> {
    this.writes.push(view.slice());
    await this.held?.promise;
    return view.length;
  }

  closeWrite(): Promise<void> {
    this.hasEnded = true;
    return Promise.resolve();
  }

  close(): void {
    this.isClosed = true;
    this.#reading?.resolve();
  }
}
