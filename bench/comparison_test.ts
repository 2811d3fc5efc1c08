import assert from "node:assert/strict";
import { compare, judge } from "./comparison.ts";
import { randomNumbers } from "../tests/support/rich_cluster.ts";

Deno.test("equal costs give 1 with no uncertainty", () => {
  assert.deepEqual(compare([[1, 1, 1], [1, 1]]), { pairs: 5, median: 1, low: 1, high: 1 });
});

Deno.test("the same rounds give the same interval", () => {
  const blocks = [[1.02, 0.98, 1.1], [0.9, 1.01, 1.03]];
  assert.deepEqual(compare(blocks), compare(blocks));
});

Deno.test("the interval contains the median, and is within the measured values", () => {
  const { median, low, high } = compare([[1.3, 0.7, 1.1, 0.9, 1.04], [1, 1.06, 0.95, 1.2, 0.8]]);
  assert.equal(median, 1.02);
  assert.ok(0.7 <= low && low < median && median < high && high <= 1.3, `${low} ${high}`);
});

/** As 150 pairs are measured: each pair with noise, each start of the programs with its own luck. */
function drawn(seed: number, ratio: number, pairNoise: number, startNoise: number): number[][] {
  const random = randomNumbers(seed);
  const noise = () => random() + random() + random() + random() - 2;
  return Array.from({ length: 15 }, () => {
    const start = ratio * (1 + startNoise * noise());
    return Array.from({ length: 10 }, () => start * (1 + pairNoise * noise()));
  });
}

Deno.test("the interval contains the true ratio in about 95 of 100 experiments", () => {
  for (const [pairNoise, startNoise] of [[0.1, 0], [0.03, 0.03]]) {
    let held = 0;
    for (let seed = 0; seed < 40; seed++) {
      const { low, high } = compare(drawn(seed, 1.02, pairNoise, startNoise));
      if (low <= 1.02 && 1.02 <= high) held++;
    }
    assert.ok(held >= 35, `${held} of 40 with noise ${pairNoise}, ${startNoise}`);
  }
});

Deno.test("a difference of five per cent is detected in noise of several", () => {
  const { low, high } = compare(drawn(7, 1.05, 0.06, 0.02));
  assert.ok(1.02 < low && high < 1.08, `${low} ${high}`);
});

Deno.test("a bound holds only if the whole interval does", () => {
  const measured = { pairs: 40, median: 1.01, low: 0.99, high: 1.03 };
  assert.equal(judge(measured, 1.03), "within");
  assert.equal(judge(measured, 1.02), "open");
  assert.equal(judge(measured, 0.99), "open");
  assert.equal(judge(measured, 0.98), "over");
});

Deno.test("without comparable rounds there is no result", () => {
  assert.throws(() => compare([[], []]), /no pair has a ratio/);
});
