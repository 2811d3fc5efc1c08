/** The time of exchanges stands still while one turn is worked off, and goes on behind it. */
import assert from "node:assert/strict";
import { turnNow } from "./turn_clock.ts";

Deno.test("synchronous code sees one time, and later code a later one", async () => {
  const before = performance.now();
  const first = turnNow();
  assert.ok(first >= before);
  while (performance.now() < first + 2);
  assert.equal(turnNow(), first);
  await new Promise((resume) => setTimeout(resume, 0));
  const next = turnNow();
  assert.ok(next >= first + 2);
  assert.ok(next <= performance.now());
});
