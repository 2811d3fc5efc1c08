/**
 * Frames on their way to a peer. In: frames, written one behind another into one buffer. Out: one
 * write for all that came up in a turn; what comes up while a write is under way is gathered for the
 * next.
 */
import type { Buffers } from "../../io/buffer_pool.ts";
import type { Output } from "../../io/output.ts";

/** Bytes that may be gathered while a write is under way; streams wait where there are more. */
const GATHERED = 60 * 1024;
/** Less room than this is none: it is not worth a frame. */
const WORTHWHILE = 2 * 1024;
/** With so much to say and a peer that does not read, it is not heard either until it does. */
const CLOGGED = 256 * 1024;

export const NOTHING: Uint8Array<ArrayBuffer> = new Uint8Array(0);

export class FrameOutput {
  /** Where frames are gathered; from the end of `reserve` to `commit` only. */
  bytes: Uint8Array<ArrayBuffer> = NOTHING;
  /** Called when there is room again, before it is written. */
  onRoom: (() => void) | null = null;
  /** Called when all of what has been gathered goes to the system. */
  onFlush: (() => void) | null = null;
  readonly #output: Output;
  readonly #buffers: Buffers;
  #length = 0;
  #writing: Uint8Array<ArrayBuffer> | null = null;
  #scheduled = false;
  #closed = false;
  /** Called once all is written. */
  #onEmpty: (() => void) | null = null;
  #flowing: (() => void) | null = null;

  constructor(output: Output, buffers: Buffers) {
    this.#output = output;
    this.#buffers = buffers;
  }

  /** Bytes that a stream may add now; 0 where it has to wait. */
  get room(): number {
    const room = GATHERED - this.#length;
    return room < WORTHWHILE ? 0 : room;
  }

  /** Nothing waits to be written, and no write is under way. */
  get isEmpty(): boolean {
    return this.#length === 0 && this.#writing === null;
  }

  /** Makes room for `count` bytes; the position in `bytes` where they are to be written. */
  reserve(count: number): number {
    if (this.#length + count > this.bytes.length) this.#grow(this.#length + count);
    return this.#length;
  }

  /** What has been written up to `end` goes out at the end of this turn. */
  commit(end: number): void {
    this.#length = end;
    if (this.#scheduled || this.#writing !== null) return;
    this.#scheduled = true;
    queueMicrotask(this.#flush);
  }

  /** Settles when the peer has taken enough of what waits for it; null where it has already. */
  whenFlowing(): Promise<void> | null {
    if (this.#length < CLOGGED || this.#closed) return null;
    return new Promise((resolve) => this.#flowing = resolve);
  }

  /** Calls `next` when all that has been gathered is written; at once where that is so. */
  whenEmpty(next: () => void): void {
    if (this.isEmpty) next();
    else this.#onEmpty = next;
  }

  /** The connection is closed: nothing is written any more. */
  close(): void {
    this.#closed = true;
    this.#onEmpty = null;
    this.onRoom = null;
    this.onFlush = null;
    this.#give(this.bytes);
    this.bytes = NOTHING;
    this.#length = 0;
    this.#flow();
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    if (this.#length === 0 || this.#writing !== null || this.#closed) return;
    const bytes = this.bytes;
    const view = bytes.subarray(0, this.#length);
    this.#writing = bytes;
    this.bytes = NOTHING;
    this.#length = 0;
    this.onFlush?.();
    this.#output.write(view).then(this.#written, this.#failed);
    this.#flow();
    // While that is written, the next can be gathered.
    this.onRoom?.();
  };

  readonly #written = (): void => {
    if (this.#writing !== null) this.#give(this.#writing);
    this.#writing = null;
    this.#flush();
    if (this.#writing === null && this.#onEmpty !== null) {
      const next = this.#onEmpty;
      this.#onEmpty = null;
      next();
    }
  };

  /** The output has ended the connection, which has closed this. */
  readonly #failed = (): void => {
    this.#writing = null;
  };

  #flow(): void {
    const flowing = this.#flowing;
    this.#flowing = null;
    flowing?.();
  }

  #grow(length: number): void {
    const { out, bulk } = this.#buffers;
    let bytes: Uint8Array<ArrayBuffer>;
    if (length <= out.size) bytes = out.take();
    else if (length <= bulk.size) bytes = bulk.take();
    else bytes = new Uint8Array(Math.max(length, 2 * this.bytes.length));
    if (this.#length > 0) bytes.set(this.bytes.subarray(0, this.#length));
    this.#give(this.bytes);
    this.bytes = bytes;
  }

  #give(bytes: Uint8Array<ArrayBuffer>): void {
    const { out, bulk } = this.#buffers;
    (bytes.length === out.size ? out : bulk).give(bytes);
  }
}
