/**
 * One flow-control window (RFC 9113 §5.2, §6.9), of a stream or of a connection. In: bytes that pass
 * and increments. Out: how much may pass, and when to tell the peer of more.
 */
import { MAX_31_BITS } from "./frame.ts";

/** What the peer lets us send. */
export class SendWindow {
  /** In bytes; negative after the peer has made its initial window smaller (§6.9.2). */
  available = 0;
  /** All that it has grown by. */
  granted = 0;

  /** Adds what WINDOW_UPDATE or SETTINGS say; false where that is past 2^31-1. */
  grow(increment: number): boolean {
    this.available += increment;
    this.granted += increment;
    return this.available <= MAX_31_BITS;
  }
}

/** What we let the peer send. */
export class ReceiveWindow {
  readonly #size: number;
  readonly #isShared: boolean;
  #available: number;
  #owed = 0;

  /**
   * @param size in bytes, that may come ahead of being consumed.
   * @param isShared by streams that are consumed independently: that of a connection.
   */
  constructor(size: number, isShared = false) {
    this.#size = size;
    this.#isShared = isShared;
    this.#available = size;
  }

  /** The peer may send something. */
  get isOpen(): boolean {
    return this.#available > 0;
  }

  /** Begins anew; `extra` bytes may come besides, as the peer does not know the size yet. */
  reset(extra: number): void {
    this.#available = this.#size + extra;
    this.#owed = 0;
  }

  /** Bytes have come, padding included; false where they are more than were granted. */
  take(count: number): boolean {
    this.#available -= count;
    return this.#available >= 0;
  }

  /**
   * Bytes have been consumed. The increment to send to the peer now, or 0: half of the window at a time, as
   * otherwise each byte would cost a frame. Of a shared window, half of what is not held: streams that
   * nobody reads may hold more than half of it, and all others would wait for them.
   */
  give(count: number): number {
    this.#owed += count;
    const circulating = this.#isShared ? this.#available + this.#owed : this.#size;
    if (this.#owed * 2 < circulating) return 0;
    const increment = this.#owed;
    this.#owed = 0;
    this.#available += increment;
    return increment;
  }
}
