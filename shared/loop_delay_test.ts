import assert from "node:assert/strict";
import { LoopDelay } from "./loop_delay.ts";

Deno.test("the longest delay of an event loop is shown for a minute", () => {
  let looks = 0;
  const delay = new LoopDelay(() => looks++);
  let now = 0;
  const look = (late: number) => delay.look(now += 1_000 + late);
  look(0);
  assert.equal(delay.longest, 0);
  look(2_500);
  look(20);
  assert.equal(delay.longest, 2.5);
  for (let i = 0; i < 58; i++) look(0);
  assert.equal(delay.longest, 2.5);
  look(-3);
  assert.equal(delay.longest, 0.02);
  look(0);
  assert.equal(delay.longest, 0);
  assert.equal(looks, 63);
});
