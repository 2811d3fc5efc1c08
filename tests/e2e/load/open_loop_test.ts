import assert from "node:assert/strict";
import { Latencies } from "./latencies.ts";
import { OpenLoop } from "./open_loop.ts";

Deno.test("requests start at their rate, also while none of them ends", async () => {
  const end = Promise.withResolvers<void>();
  const loop = new OpenLoop({ name: "requests", rate: 100 }, new Latencies(), () => end.promise);
  const begun = [0, 5, 95, 250, 1_000, 1_001].map((passed) => {
    loop.tick(passed);
    return loop.begun;
  });
  assert.deepEqual(begun, [0, 1, 10, 25, 100, 101]);
  end.resolve();
  await loop.settled();
});

Deno.test("requests that are due after a standstill start as earlier ones end, and none is left out", async () => {
  const ends: (() => void)[] = [];
  const lag = new Latencies();
  const loop = new OpenLoop({ name: "requests", rate: 200 }, lag, () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.push(resolve);
    return promise;
  });
  loop.tick(5_000);
  assert.equal(loop.begun, 400);
  loop.tick(5_000);
  assert.equal(loop.begun, 400, "none has ended");
  for (let total = 400; total < 1_000; total += 100) {
    for (const end of ends.splice(0, 100)) end();
    await new Promise((resume) => setTimeout(resume));
    loop.tick(5_000);
    assert.equal(loop.begun, total + 100);
  }
  for (const end of ends.splice(0)) end();
  await loop.settled();
  loop.tick(5_000);
  assert.equal(loop.begun, 1_000);
  assert.equal(lag.max, 5_000);
});
