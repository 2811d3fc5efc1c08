/**
 * Whether one version costs more than another. In: ratios of CPU per request, one a pair of rounds
 * beside each other, in blocks of pairs that the same processes measured. Out: their median, an
 * interval that holds the true one with 95 per cent, and whether it keeps within a bound.
 */
import { median } from "./report.ts";

export interface Comparison {
  readonly pairs: number;
  readonly median: number;
  /** Both ends of the 95 % interval. */
  readonly low: number;
  readonly high: number;
}

/**
 * - `within`: the whole interval is at most the bound;
 * - `over`: the whole interval is above it;
 * - `open`: the interval holds the bound, and more pairs are needed.
 */
export type Verdict = "within" | "over" | "open";

const RESAMPLES = 2_000;

/**
 * Percentile bootstrap of the median, in two stages: blocks with replacement, then pairs of each.
 * Two starts of the same program differ, by what gets compiled when, so pairs of one block are no
 * independent measurements: without the first stage the interval would be too narrow.
 * The seed is fixed: the same rounds have the same interval.
 */
export function compare(blocks: readonly (readonly number[])[]): Comparison {
  const all = blocks.flat();
  if (all.length === 0) throw new Error("no pair has a ratio");
  const random = randomNumbers(1);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)];
  const filled = blocks.filter((block) => block.length > 0);
  const medians = Float64Array.from({ length: RESAMPLES }, () => {
    const sample: number[] = [];
    for (let i = 0; i < filled.length; i++) {
      const block = pick(filled);
      for (let j = 0; j < block.length; j++) sample.push(pick(block));
    }
    return median(sample);
  }).sort();
  return {
    pairs: all.length,
    median: median(all),
    low: medians[Math.floor(0.025 * RESAMPLES)],
    high: medians[Math.ceil(0.975 * RESAMPLES) - 1],
  };
}

export function judge({ low, high }: Comparison, bound: number): Verdict {
  if (high <= bound) return "within";
  return low > bound ? "over" : "open";
}

/** Repeatable numbers from 0 to 1 (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
