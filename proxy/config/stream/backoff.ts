/**
 * How soon another stream is begun, and how long it may take. In: what became of the last one. Out: the
 * pause before the next, with jitter: all proxies of a controller that ends must not come to the next
 * one at once; and how much time that one has, since a controller to which they come may lack CPU.
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

/** No part of beginning a stream takes longer, in ms. */
const LONGEST_PATIENCE = 10_000;

/**
 * How long to wait for a controller. One that is asked by a thousand proxies and is slow with each
 * would serve none if all of them gave up and began anew.
 */
export class ConnectPatience {
  #factor = 1;

  /** @param ms as long as it may take at first. */
  of(ms: number): number {
    return Math.max(ms, Math.min(ms * this.#factor, LONGEST_PATIENCE));
  }

  /** It took longer. */
  wasTooShort(): void {
    this.#factor *= 2;
  }

  /** A stream has brought something. */
  reset(): void {
    this.#factor = 1;
  }
}
