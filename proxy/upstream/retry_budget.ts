/**
 * How many of an upstream's requests may be tried again. In: requests and retries as they come. Out:
 * whether one more retry is allowed. Knows no protocol.
 *
 * When all of an upstream is failing, retries would double its load just as it needs less: they are
 * held to a share of the requests. A backend with few requests gets a few retries whatever the
 * share, so that one endpoint that is down fails nobody.
 */

/** Requests and retries of this long count, in ms: longer than a burst, shorter than an outage. */
const WINDOW = 10_000;

/** Retries that are always allowed in a window, three a second: what ends an outage of few. */
const FLOOR = 30;

/** Two windows, the older one counted less the further the newer one gets: no list of moments. */
export class RetryBudget {
  readonly #share: number;
  /** Where the newer window begins, in ms. */
  #begin = -Infinity;
  #requests = 0;
  #retries = 0;
  #requestsBefore = 0;
  #retriesBefore = 0;

  /** @param percent of the requests, 0 to 100. */
  constructor(percent: number) {
    this.#share = percent / 100;
  }

  /** A request has come at `now` (ms, never less than before). */
  request(now: number): void {
    this.#advance(now);
    this.#requests++;
  }

  /** Takes one retry at `now`, or says that none is left. */
  take(now: number): boolean {
    this.#advance(now);
    const old = 1 - (now - this.#begin) / WINDOW;
    const requests = this.#requests + this.#requestsBefore * old;
    const retries = this.#retries + this.#retriesBefore * old;
    if (retries + 1 > Math.max(FLOOR, requests * this.#share)) return false;
    this.#retries++;
    return true;
  }

  #advance(now: number): void {
    const passed = now - this.#begin;
    if (passed < WINDOW) return;
    const follows = passed < 2 * WINDOW;
    this.#requestsBefore = follows ? this.#requests : 0;
    this.#retriesBefore = follows ? this.#retries : 0;
    this.#requests = this.#retries = 0;
    this.#begin = follows ? this.#begin + WINDOW : now;
  }
}
