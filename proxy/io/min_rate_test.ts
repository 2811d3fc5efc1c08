import assert from "node:assert/strict";
import { SWEEP_INTERVAL } from "./deadlines.ts";
import { MinRate } from "./min_rate.ts";

const SWEEPS_A_SECOND = 1000 / SWEEP_INTERVAL;

/** After how many seconds of waiting a peer with so many bytes a second is too slow; 60 for never. */
function patience(pace: MinRate, bytesPerSecond: number): number {
  for (let sweep = 1; sweep < 60 * SWEEPS_A_SECOND; sweep++) {
    if (pace.isTooSlow(sweep * bytesPerSecond / SWEEPS_A_SECOND)) return sweep / SWEEPS_A_SECOND;
  }
  return 60;
}

Deno.test("a peer that trickles is too slow after one window, one that keeps up never is", () => {
  assert.equal(patience(new MinRate(100, 10_000), 1), 10);
  assert.equal(patience(new MinRate(100, 10_000), 99), 10);
  assert.equal(patience(new MinRate(100, 10_000), 100), 60);
  assert.equal(patience(new MinRate(100, 10_000), 1e6), 60);
  assert.equal(patience(new MinRate(0, 10_000), 0), 60, "0 takes any rate");
});

Deno.test("a fast start does not compensate for a later trickle", () => {
  const pace = new MinRate(100, 1000);
  for (let sweep = 1; sweep <= SWEEPS_A_SECOND; sweep++) assert.equal(pace.isTooSlow(1e6), false);
  for (let sweep = 1; sweep < SWEEPS_A_SECOND; sweep++) assert.equal(pace.isTooSlow(1e6), false);
  assert.equal(pace.isTooSlow(1e6), true);
});

Deno.test("bytes before begin do not count", () => {
  const pace = new MinRate(100, 1000);
  for (let sweep = 1; sweep < SWEEPS_A_SECOND; sweep++) pace.isTooSlow(0);
  pace.begin(500);
  for (let sweep = 1; sweep < SWEEPS_A_SECOND; sweep++) assert.equal(pace.isTooSlow(500), false);
  assert.equal(pace.isTooSlow(600), false);
});
