/** Latencies of a stream. In: milliseconds, one after another. Out: their percentiles. */

/** Each bucket is wider than the one before by this factor: percentiles are right to 2 %. */
const STEP = 1.02;
/** The lower end of the first bucket but one, in ms. */
const LEAST = 0.05;

/** Takes a constant room, however many there are. */
export class Latencies {
  count = 0;
  max = 0;
  readonly #buckets: number[] = [];

  add(ms: number): void {
    const bucket = ms <= LEAST ? 0 : Math.ceil(Math.log(ms / LEAST) / Math.log(STEP));
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.count++;
    if (ms > this.max) this.max = ms;
  }

  /** For a `StreamResult`. */
  get summary(): { readonly p50: number; readonly p99: number; readonly max: number } {
    return { p50: this.percentile(0.5), p99: this.percentile(0.99), max: this.max };
  }

  /** The least value that at least this share (0 to 1) does not exceed, to 2 %; 0 of none. */
  percentile(share: number): number {
    let wanted = Math.ceil(share * this.count);
    for (const [bucket, count] of this.#buckets.entries()) {
      wanted -= count ?? 0;
      if (wanted <= 0) return Math.min(this.max, LEAST * STEP ** bucket);
    }
    return this.max;
  }
}
