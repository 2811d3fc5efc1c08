import assert from "node:assert/strict";
import { Latencies } from "./latencies.ts";

Deno.test("percentiles are accurate to two percent", () => {
  const latencies = new Latencies();
  for (let i = 1; i <= 1000; i++) latencies.add(i);
  for (const [share, exact] of [[0.5, 500], [0.99, 990], [0.001, 1]]) {
    const got = latencies.percentile(share);
    assert.ok(Math.abs(got - exact) <= 0.021 * exact, `${share}: ${got}`);
  }
  assert.equal(latencies.percentile(1), 1000);
  assert.equal(latencies.max, 1000);
});

Deno.test("without latencies the percentiles are 0", () => {
  assert.equal(new Latencies().percentile(0.99), 0);
});
