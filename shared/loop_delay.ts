/**
 * How late an event loop is. In: a look every second. Out: the longest delay of the last minute, so that
 * scrapes that are further apart than a second see all delays.
 *
 * Deno 2.9 has `monitorEventLoopDelay` in name only: it measures nothing.
 */

/** In ms. */
const INTERVAL = 1_000;
/** Looks that are remembered: a minute of them. */
const MEMORY = 60;

export class LoopDelay {
  readonly #delays = new Float64Array(MEMORY);
  readonly #onLook: () => void;
  #looks = 0;
  #lookedAt = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @param onLook called after each look. */
  constructor(onLook: () => void = () => {}) {
    this.#onLook = onLook;
  }

  /** Looks from now on, until `close`. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#lookedAt = performance.now();
    this.#timer = setInterval(() => this.look(performance.now()), INTERVAL);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** In seconds. */
  get longest(): number {
    return this.#delays.reduce((longest, delay) => Math.max(longest, delay)) / 1000;
  }

  /** @param now in ms, monotonic. */
  look(now: number): void {
    this.#delays[this.#looks++ % MEMORY] = Math.max(0, now - this.#lookedAt - INTERVAL);
    this.#lookedAt = now;
    this.#onLook();
  }
}
