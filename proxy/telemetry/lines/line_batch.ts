/**
 * Lines on their way to the main thread. In: lines, written into a buffer one after another. Out: batches
 * of them after a time or at a size, as long as whoever takes them keeps up.
 */
import { LogBuffer } from "./log_buffer.ts";

export interface LineBatchOptions {
  /** A batch leaves at the latest after this, in ms. */
  readonly interval: number;
  /** Or when it has this many bytes. */
  readonly size: number;
  /** Writes the lines into `out` that `added` has counted and that are not there yet. */
  readonly writeRest?: () => void;
  /** Gets whole lines; `bytes` is no longer the caller's. */
  readonly send: (bytes: Uint8Array<ArrayBuffer>, lines: number) => void;
}

/** Bytes that may be on their way to a main thread that is busy; then lines are dropped. */
const MAX_ON_THE_WAY = 4 * 1024 * 1024;

export class LineBatch {
  readonly out: LogBuffer;
  readonly #options: LineBatchOptions;
  #lines = 0;
  /** `added` has been called since the last batch. */
  #isDue = false;
  #onTheWay = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: LineBatchOptions) {
    this.out = new LogBuffer(options.size);
    this.#options = options;
  }

  /** No line is to be written: too many are on their way. */
  get isFull(): boolean {
    return this.#onTheWay > MAX_ON_THE_WAY;
  }

  /**
   * So many lines have been written into `out`, or will be by `writeRest`. With none, a batch leaves all the
   * same.
   */
  added(lines = 1): void {
    this.#isDue = true;
    this.#lines += lines;
    if (this.out.length >= this.#options.size) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), this.#options.interval);
  }

  /** Hands over what there is. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#isDue) return;
    this.#isDue = false;
    this.#options.writeRest?.();
    const bytes = this.out.take();
    const lines = this.#lines;
    this.#lines = 0;
    this.#onTheWay += bytes.length;
    this.#options.send(bytes, lines);
  }

  /** So many bytes have been taken. */
  taken(bytes: number): void {
    this.#onTheWay -= bytes;
  }
}
