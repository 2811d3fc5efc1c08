import assert from "node:assert/strict";
import { afterRunning } from "./running_timer.ts";

Deno.test("a pause of the process does not use up a time limit, and time does", async () => {
  let isDue = false;
  const due = new Promise<void>((resolve) =>
    afterRunning(1_000, () => {
      isDue = true;
      resolve();
    })
  );
  // As a process that gets no CPU: the time is over when it goes on.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
  for (let turn = 0; turn < 3; turn++) await new Promise((resume) => setTimeout(resume));
  assert.equal(isDue, false);
  await due;
});

Deno.test("a stopped time limit is never due", async () => {
  let isDue = false;
  const stop = afterRunning(1, () => isDue = true);
  stop();
  await new Promise<void>((resolve) => afterRunning(300, resolve));
  assert.equal(isDue, false);
});
