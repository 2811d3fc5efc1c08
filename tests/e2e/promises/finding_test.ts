import assert from "node:assert/strict";
import { Finding, percentile } from "./finding.ts";

Deno.test("a nonzero count breaks a promise, with reasons", () => {
  const finding = new Finding("p");
  finding.count("failed", 0, 0, ["no"]);
  assert.deepEqual(finding.broken, []);
  finding.count("failed", 2, 0, ["a", "b"]);
  assert.deepEqual(finding.broken, ["failed: 2, not 0", "a", "b"]);
  assert.match(finding.toString(), /^p: failed: 2 \(aim 0, NOT MET\)$/m);
});

Deno.test("a time over its target is shown, and breaks a promise at ten times the target", () => {
  const finding = new Finding("p");
  finding.time("p50", 150, 100);
  assert.deepEqual(finding.broken, []);
  assert.match(finding.toString(), /^p: p50: 150 ms \(aim < 100 ms, NOT MET\)$/m);
  finding.time("p99", 1_000, 100);
  assert.equal(finding.broken.length, 1);
});

Deno.test("a time that was never measured breaks a promise", () => {
  const finding = new Finding("p");
  finding.time("p50", percentile([], 0.5), 100);
  assert.equal(finding.broken.length, 1);
});

Deno.test("percentiles are values that occurred", () => {
  const values = Array.from({ length: 200 }, (_, i) => 200 - i);
  assert.deepEqual([0, 0.5, 0.99, 1].map((share) => percentile(values, share)), [1, 100, 198, 200]);
});
