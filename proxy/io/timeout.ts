/**
 * One timeout of one operation. In: milliseconds, and what ends the operation. Out: `cancel()`.
 *
 * A process that stood still (a collection, no CPU, SIGSTOP) fires its timers first and reads
 * afterwards: a connection that was made meanwhile would be given up unseen. So a timeout that fires
 * lets the event loop read for one more moment before it ends anything; `deadlines.ts` does the same
 * for its sweeps.
 */

/** What the event loop gets to notice what has come meanwhile, in ms. */
const GRACE = 20;

export class Timeout {
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param timeout ms until `onTimeout` is called, some 20 ms late; 0 for never. */
  constructor(timeout: number, onTimeout: () => void) {
    if (timeout === 0) return;
    this.#timer = setTimeout(() => this.#timer = setTimeout(onTimeout, GRACE), timeout);
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }
}
