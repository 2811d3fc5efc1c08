import assert from "node:assert/strict";
import { Retention } from "./retention.ts";

Deno.test("a superseded part is retained from the time when it was found superseded", () => {
  let now = 0;
  const retention = new Retention(100, () => now);
  assert.equal(retention.next, null);
  retention.update(["a"]);
  assert.deepEqual([retention.holds("a"), retention.holds("b"), retention.next], [
    true,
    false,
    100,
  ]);
  now = 60;
  retention.update(["a", "b"]);
  assert.deepEqual([retention.since("a"), retention.since("b"), retention.next], [0, 60, 40]);
  now = 100;
  assert.deepEqual([retention.holds("a"), retention.holds("b"), retention.next], [false, true, 60]);
  now = 160;
  assert.deepEqual([retention.holds("b"), retention.next], [false, null]);
});

Deno.test("a part that is used again and superseded again is retained for the full time", () => {
  let now = 0;
  const retention = new Retention(100, () => now);
  retention.update(["a"]);
  now = 90;
  retention.update([]);
  retention.update(["a"]);
  now = 120;
  assert.equal(retention.holds("a"), true);
});
