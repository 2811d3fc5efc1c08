/**
 * Reading on while a response is awaited or sent, which is what notices a client that goes away.
 * In: the input of a connection whose request is complete. Out: a read under way, and a head whose
 * bytes stay where they are.
 */
import type { BufferPool } from "../io/buffer_pool.ts";
import type { Input } from "../io/input.ts";

export class ReadAhead {
  readonly #input: Input;
  readonly #buffers: BufferPool;
  readonly #maxBytes: number;
  /** The buffer that holds the head under way, while `input` reads into another. */
  #headBuffer: Uint8Array<ArrayBuffer> | null = null;

  /** @param maxBytes that are kept of the requests behind this one; a client further ahead waits. */
  constructor(input: Input, buffers: BufferPool, maxBytes: number) {
    this.#input = input;
    this.#buffers = buffers;
    this.#maxBytes = maxBytes;
  }

  /** Starts a read, unless one is under way or nothing can come. */
  begin(): void {
    const input = this.#input;
    if (input.isReading || input.isOver) return;
    const unread = input.end - input.start;
    // Behind what has been piped along there is room in the same buffer, until that is full.
    if (unread === 0 ? this.#headBuffer === null : input.end === input.bytes.length) {
      if (unread >= this.#maxBytes) return;
      const before = input.exchangeBuffer(this.#take(unread));
      this.#headBuffer ??= before;
    }
    input.watch();
  }

  /**
   * Copies the head, which ends at `end`, and gives its buffer back: for a response that may last. Returns the
   * copy, or null where nothing but the head's buffer is there to read into.
   */
  shrinkHead(end: number): Uint8Array<ArrayBuffer> | null {
    const before = this.#headBuffer;
    if (before === null) return null;
    this.#headBuffer = before.slice(0, end);
    this.#input.giveBack(before, this.#buffers);
    return this.#headBuffer;
  }

  /** The head is no longer needed. */
  end(): void {
    if (this.#headBuffer !== null) this.#input.giveBack(this.#headBuffer, this.#buffers);
    this.#headBuffer = null;
  }

  /** A buffer with room behind `unread` bytes. */
  #take(unread: number): Uint8Array<ArrayBuffer> {
    if (unread === 0) return this.#input.takeIdle();
    return unread < this.#buffers.size
      ? this.#buffers.take()
      : new Uint8Array(Math.min(2 * unread, this.#maxBytes));
  }
}
