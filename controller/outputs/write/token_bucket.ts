/**
 * Pace. In: how often something may happen, and how often at once after a pause. Out: whether it may
 * happen now, or how long to wait.
 */

export class TokenBucket {
  readonly #rate: number;
  readonly #burst: number;
  #tokens: number;
  #filledAt: number;

  /**
   * @param rate A second, on average.
   * @param now Milliseconds on a clock that never goes back, as in every call.
   */
  constructor(rate: number, burst: number, now: number) {
    this.#rate = rate;
    this.#burst = burst;
    this.#tokens = burst;
    this.#filledAt = now;
  }

  /** Takes a token. Milliseconds until there is one; 0 where one was taken. */
  take(now: number): number {
    const earned = (now - this.#filledAt) / 1000 * this.#rate;
    this.#tokens = Math.min(this.#burst, this.#tokens + earned);
    this.#filledAt = now;
    // Sums of fractions come out a hair short of the whole.
    if (this.#tokens < 1 - 1e-6) return (1 - this.#tokens) / this.#rate * 1000;
    this.#tokens = Math.max(0, this.#tokens - 1);
    return 0;
  }

  /** Gives back what was taken for nothing. */
  giveBack(): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + 1);
  }
}
