import assert from "node:assert/strict";
import { Backoff } from "./backoff.ts";

const LIMITS = { first: 1_000, last: 30_000 };

Deno.test("delays double up to the limit and start over after a success", () => {
  const backoff = new Backoff(LIMITS, () => 0);
  const pauses = Array.from({ length: 8 }, () => backoff.next());
  assert.deepEqual(pauses, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  assert.equal(backoff.failures, 8);
  backoff.reset();
  assert.equal(backoff.next(), 1_000);
});

Deno.test("a delay gets up to half of it as jitter, so that clients do not reconnect together", () => {
  const backoff = new Backoff(LIMITS, () => 0.999);
  assert.equal(backoff.next(), 1_500);
});

Deno.test("a longer Retry-After of the server is honoured, up to a limit", () => {
  const backoff = new Backoff(LIMITS, () => 0);
  assert.equal(backoff.next(10_000), 10_000);
  assert.equal(backoff.next(0), 2_000);
  assert.equal(backoff.next(86_400_000), 120_000);
});

Deno.test("ten thousand failures in a row still give a finite delay", () => {
  const backoff = new Backoff(LIMITS, () => 0);
  for (let i = 0; i < 10_000; i++) assert.ok(backoff.next() <= 30_000);
});
