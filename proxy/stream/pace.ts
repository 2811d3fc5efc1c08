/**
 * How soon another stream is begun. In: what became of the last one. Out: the pause before the next,
 * with jitter: all proxies of a controller that ends must not come to the next one at once.
 */

/** Both in ms. */
const AFTER_STREAM = 250;
const LONGEST = 1500;

/** The first pause after a failure is at most this long, in ms; each further one twice as long. */
const SHORTEST = 100;

export class ReconnectPace {
  readonly #random: () => number;
  #failures = 0;

  /** @param random from 0 to 1. */
  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /**
   * The pause in ms.
   * @param worked The last stream has brought something.
   */
  next(worked: boolean): number {
    if (worked) {
      this.#failures = 0;
      return this.#random() * AFTER_STREAM;
    }
    const longest = Math.min(SHORTEST * 2 ** this.#failures, LONGEST);
    if (longest < LONGEST) this.#failures++;
    return this.#random() * longest;
  }
}
