import assert from "node:assert/strict";
import { RetryBudget } from "./retry_budget.ts";

/** At `at` seconds `requests` come, and then `wanted` retries, of which `taken` are allowed. */
type Step = readonly [at: number, requests: number, wanted: number, taken: number];

interface Case {
  readonly says: string;
  readonly percent?: number;
  readonly steps: readonly Step[];
}

const CASES: readonly Case[] = [
  { says: "a lone request is retried", steps: [[0, 1, 1, 1]] },
  { says: "30 retries are allowed in a window, however few requests", steps: [[0, 1, 40, 30]] },
  { says: "with many requests a fifth of them is retried", steps: [[0, 1000, 1000, 200]] },
  { says: "spent budget is not granted twice", steps: [[0, 1000, 150, 150], [1, 0, 100, 50]] },
  { says: "more requests make room for more", steps: [[0, 500, 500, 100], [1, 500, 500, 100]] },
  {
    says: "the window slides: old requests and retries count less and less",
    // At 15 s half of the first window counts: 500 requests, 100 retries.
    steps: [[0, 1000, 1000, 200], [9.9, 0, 1, 0], [15, 0, 1, 0], [15, 1000, 1000, 200]],
  },
  {
    says: "old requests make room as they expire",
    steps: [[0, 1, 40, 30], [10, 0, 1, 0], [15, 1, 40, 15], [20, 0, 40, 15]],
  },
  {
    says: "after a pause of two windows earlier requests do not count",
    steps: [[0, 1000, 1000, 200], [20, 1, 40, 30], [500, 200, 200, 40]],
  },
  { says: "0 percent leave the 30", percent: 0, steps: [[0, 1000, 1000, 30]] },
  { says: "100 percent are one for each", percent: 100, steps: [[0, 1000, 2000, 1000]] },
];

for (const { says, percent = 20, steps } of CASES) {
  Deno.test(says, () => {
    const budget = new RetryBudget(percent);
    for (const [at, requests, wanted, taken] of steps) {
      for (let i = 0; i < requests; i++) budget.request(at * 1000);
      let count = 0;
      for (let i = 0; i < wanted; i++) if (budget.take(at * 1000)) count++;
      assert.equal(count, taken, `at ${at} s`);
    }
  });
}
