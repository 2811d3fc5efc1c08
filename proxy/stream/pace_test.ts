import assert from "node:assert/strict";
import { ReconnectPace } from "./pace.ts";

Deno.test("after a stream that worked the next one is soon, after failures ever later, to 1.5 s at the most", () => {
  const pace = new ReconnectPace(() => 1);
  const failures = Array.from({ length: 7 }, () => pace.next(false));
  assert.deepEqual(failures, [100, 200, 400, 800, 1500, 1500, 1500]);
  assert.equal(pace.next(true), 250);
  assert.equal(pace.next(false), 100);
});

Deno.test("pauses are spread over their whole length, so that proxies do not come together", () => {
  let chance = 0;
  const pace = new ReconnectPace(() => chance);
  assert.equal(pace.next(true), 0);
  chance = 0.5;
  assert.equal(pace.next(true), 125);
  assert.equal(pace.next(false), 50);
});
