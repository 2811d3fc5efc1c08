import assert from "node:assert/strict";
import { ManualClock } from "../../shared/clock.ts";
import { Term } from "./term.ts";

Deno.test("a process that was suspended sees at once that its leadership has ended", () => {
  const clock = new ManualClock();
  const term = new Term(clock, 10_000, () => {});
  assert.equal(term.left, 10_000);
  assert.equal(term.signal.aborted, false);
  clock.advance(9_999);
  assert.equal(term.left, 1);
  assert.equal(term.signal.aborted, false);
  // No timer has had a chance to fire.
  clock.advance(1);
  assert.equal(term.left, 0);
  assert.equal(term.signal.aborted, true);
  term.end();
});

Deno.test("a renewal extends a term, and does not revive one that has ended", () => {
  const clock = new ManualClock();
  const term = new Term(clock, 10_000, () => {});
  clock.advance(5_000);
  term.extend(15_000);
  assert.equal(term.left, 10_000);
  term.extend(12_000);
  assert.equal(term.left, 10_000, "an older renewal takes nothing away");
  clock.advance(10_000);
  term.extend(99_000);
  assert.equal(term.isOver, true);
  assert.equal(term.signal.aborted, true);
  term.end();
});

Deno.test("a write in progress is aborted when the term ends", async () => {
  const clock = new ManualClock();
  const expired = Promise.withResolvers<void>();
  const term: Term = new Term(clock, 5, () => {
    term.end();
    expired.resolve();
  });
  const aborted = new Promise((resolve) => term.signal.addEventListener("abort", resolve));
  clock.advance(5);
  await Promise.all([expired.promise, aborted]);
});
