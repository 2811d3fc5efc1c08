/**
 * A peer that moves bytes, but hardly any. In: how many have moved, looked at in each sweep of the
 * deadlines in which it is waited for. Out: whether it is too slow.
 *
 * A timeout that every byte renews lets a client hold a connection with a byte a second. So what
 * moves is also measured over windows as long as the timeout, of which only time spent waiting for
 * the peer counts: a backend that is slow to take an upload is not the client's fault, and a stream
 * with nothing to say waits for nobody. (Apache's `MinRate` and Kestrel's minimum data rate.)
 */
import { SWEEP_INTERVAL } from "./deadlines.ts";

export class MinRate {
  readonly #rate: number;
  readonly #window: number;
  #waited = 0;
  #from = 0;

  /**
   * @param rate in bytes a second; 0 takes any.
   * @param window in ms.
   */
  constructor(rate: number, window: number) {
    this.#rate = rate;
    this.#window = window;
  }

  /** Starts anew; `moved` as `isTooSlow` takes it. */
  begin(moved: number): void {
    this.#waited = 0;
    this.#from = moved;
  }

  /** Nobody has been waited for since the last window. */
  get isFresh(): boolean {
    return this.#waited === 0;
  }

  /** To be asked once a sweep, while the peer is waited for. `moved` is all bytes so far. */
  isTooSlow(moved: number): boolean {
    if (this.#rate === 0) return false;
    this.#waited += SWEEP_INTERVAL;
    if (this.#waited < this.#window) return false;
    const isSlow = (moved - this.#from) * 1000 < this.#rate * this.#waited;
    this.begin(moved);
    return isSlow;
  }
}
