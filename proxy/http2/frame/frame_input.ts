/**
 * What has arrived from a peer of HTTP/2. In: a transport. Out: an `Input` whose buffer is small
 * where little comes, so that an idle connection holds little, and has room for a whole frame.
 */
import type { BufferPool, Buffers } from "../../io/buffer_pool.ts";
import { Input } from "../../io/input.ts";
import type { Transport } from "../../io/transport.ts";
import { FRAME_HEADER, FRAME_SIZE } from "./frame.ts";

export class FrameInput extends Input {
  readonly #quiet: BufferPool;
  readonly #bulk: BufferPool;
  /** Where the read that is under way, or was last, begins. */
  #from = 0;

  constructor(transport: Transport, { idle, head, bulk }: Buffers) {
    super(transport, head, idle);
    this.#quiet = idle;
    this.#bulk = bulk;
  }

  /** Takes what somebody else has read of the connection; before any read. */
  preload(first: Uint8Array): void {
    if (first.length > this.bytes.length) {
      this.#replace(new Uint8Array(Math.max(first.length, FRAME_HEADER + FRAME_SIZE)));
    }
    this.bytes.set(first);
    this.end = first.length;
  }

  /**
   * Before a read: chooses a buffer with room for a frame of `wanted` bytes that is half here, or of
   * unknown size (0): a large one where the frame is, or the last read filled the buffer; and a small
   * one where nothing is half here and the last read was short, as before a long wait.
   */
  prepare(wanted: number): void {
    const { bytes, start, end } = this;
    const small = this.poolSize;
    const read = end - this.#from;
    const need = Math.max(FRAME_HEADER, wanted);
    const isFull = read > 0 && end === bytes.length;
    const hasRoom = start === end || bytes.length - start >= need;
    const quiet = this.#quiet.size;
    const isShort = start === end ? read <= quiet / 2 : bytes.length === quiet && hasRoom;
    if (isShort && !isFull && need <= quiet) {
      if (bytes.length !== quiet) this.#replace(this.#quiet.take());
    } else if (
      need > small || (isFull && bytes.length >= small) || (bytes.length > small && read > small)
    ) {
      if (bytes.length < this.#bulk.size || !hasRoom) this.#replace(this.#bulk.take());
    } else if (bytes.length !== small || !hasRoom) {
      // What is unread is part of a frame that fits.
      this.#replace(this.takeSpare());
    }
    if (this.start === this.end) this.start = this.end = 0;
    this.#from = this.end;
  }

  #replace(buffer: Uint8Array<ArrayBuffer>): void {
    this.giveBack(this.exchangeBuffer(buffer), this.#bulk);
  }
}
