/**
 * Time, passed in. In: nothing. Out: the two readings that a program needs, so that pure code
 * takes them as an argument and tests decide what time it is.
 */

export interface Clock {
  /** Wall time in milliseconds since the epoch; may jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds since some start; never goes back. For deadlines and durations. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

/** A clock that stands still until it is moved. */
export class ManualClock implements Clock {
  #now: number;
  #monotonic = 0;

  /** `now` in milliseconds since the epoch, or an ISO 8601 date. */
  constructor(now: number | string = 0) {
    this.#now = typeof now === "string" ? Date.parse(now) : now;
    if (Number.isNaN(this.#now)) throw new RangeError(`Cannot read the date ${now}`);
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  /** Moves both readings forward by `ms`. */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError(`Cannot move a clock by ${ms} ms`);
    this.#now += ms;
    this.#monotonic += ms;
  }
}
