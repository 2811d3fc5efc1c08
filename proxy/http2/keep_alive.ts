/**
 * Whether a peer is still there (RFC 9113 §6.7). In: when it was heard. Out: a PING where it has been
 * silent for too long, and whether it has answered in time.
 */
import type { Deadlines } from "../io/deadlines.ts";

export class KeepAlive {
  readonly #deadlines: Deadlines;
  readonly #timeout: number;
  readonly #ping: () => void;
  #heardAt: number;
  #isPinged = false;
  #pingedAt = 0;
  #deadline = 0;
  #onPong: (() => void) | null = null;

  /**
   * @param timeout of silence, in ms, and again of an answer to PING; 0 waits for ever.
   * @param ping sends PING.
   */
  constructor(deadlines: Deadlines, timeout: number, ping: () => void) {
    this.#deadlines = deadlines;
    this.#timeout = timeout;
    this.#ping = ping;
    this.#heardAt = deadlines.now;
  }

  /** Bytes have come. */
  heard(): void {
    this.#heardAt = this.#deadlines.now;
  }

  /** Asks it now; `onPong` is called at its answer. */
  ask(onPong: (() => void) | null): void {
    this.#onPong = onPong ?? this.#onPong;
    if (this.#isPinged) return;
    this.#isPinged = true;
    this.#await();
    this.#ping();
  }

  /** An acknowledgement of PING has come; false where none is waited for. */
  answered(): boolean {
    if (!this.#isPinged) return false;
    this.#isPinged = false;
    const onPong = this.#onPong;
    this.#onPong = null;
    onPong?.();
    return true;
  }

  /** To be called once a sweep while it is expected to be there: false where it is gone. */
  check(now: number): boolean {
    if (this.#timeout === 0) return true;
    if (!this.#isPinged) {
      if (now - this.#heardAt >= this.#timeout) this.ask(null);
      return true;
    }
    if (now < this.#deadline) return true;
    if (this.#heardAt <= this.#pingedAt) return false;
    // It speaks, if not of that: it is there.
    this.#await();
    return true;
  }

  #await(): void {
    this.#pingedAt = this.#deadlines.now;
    this.#deadline = this.#deadlines.in(this.#timeout);
  }
}
