/**
 * How long to wait before the next try. In: that a try failed, and what the server asks for. Out:
 * milliseconds; twice as many each time, with jitter, so that many who failed together do not come
 * back together.
 */

export interface BackoffLimits {
  /** Milliseconds after the first failure. */
  readonly first: number;
  /** Milliseconds that no pause's lower end exceeds, unless the server asks for more. */
  readonly last: number;
}

/** A server that asks for more is not believed: it would silence us for good. Milliseconds. */
const LONGEST_REQUEST = 120_000;

/** A pause is up to this much longer than its lower end. */
const JITTER = 0.5;

export class Backoff {
  readonly #limits: BackoffLimits;
  readonly #random: () => number;
  #failures = 0;

  /** @param random Numbers from 0 up to 1. */
  constructor(limits: BackoffLimits, random: () => number = Math.random) {
    this.#limits = limits;
    this.#random = random;
  }

  /** Failures since the last success. */
  get failures(): number {
    return this.#failures;
  }

  /**
   * Counts a failure.
   * @param retryAfter Milliseconds of the server's Retry-After; null without one.
   */
  next(retryAfter: number | null = null): number {
    const { first, last } = this.#limits;
    const lower = Math.min(last, first * 2 ** Math.min(this.#failures, 30));
    this.#failures++;
    const asked = Math.min(retryAfter ?? 0, LONGEST_REQUEST);
    return Math.round(Math.max(lower, asked) * (1 + JITTER * this.#random()));
  }

  reset(): void {
    this.#failures = 0;
  }
}
