/** How long answers took. In: latencies in any order. Out: the ones that tell of the middle and the tail. */

export interface Percentiles {
  /** In the unit of what came in, as are the others; 0 of nothing. */
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
}

/** Sorts a copy. */
export function percentilesOf(latencies: Iterable<number>): Percentiles {
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999) };
}
