import assert from "node:assert/strict";
import { Debounce } from "./debounce.ts";

function scene(time: number, limit: number) {
  let calls = 0;
  let called = Promise.withResolvers<void>();
  const gatherer = new Debounce({
    time,
    limit,
    onGathered() {
      calls++;
      called.resolve();
      called = Promise.withResolvers<void>();
    },
  });
  return {
    gatherer,
    get calls() {
      return calls;
    },
    /** Resolves at the next call. */
    next: () => called.promise,
  };
}

Deno.test("many changes in a row cause one call, and later ones another", async () => {
  const one = scene(1, 60_000);
  for (let round = 1; round <= 2; round++) {
    const next = one.next();
    for (let i = 0; i < 100; i++) one.gatherer.changed();
    assert.equal(one.calls, round - 1);
    assert.notEqual(one.gatherer.waiting, null);
    await next;
    assert.equal(one.calls, round);
    assert.equal(one.gatherer.waiting, null);
  }
});

Deno.test("continuous changes do not delay the call forever", async () => {
  // Without the limit it would take an hour.
  const one = scene(3_600_000, 10);
  const next = one.next();
  const changes = setInterval(() => one.gatherer.changed(), 1);
  await next;
  clearInterval(changes);
  one.gatherer.stop();
  assert.equal(one.calls, 1);
});

Deno.test("after close there are no calls", async () => {
  const one = scene(1, 1);
  one.gatherer.changed();
  one.gatherer.stop();
  assert.equal(one.gatherer.waiting, null);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(one.calls, 0);
});

Deno.test("an urgent change after a quiet while is not waited for, and what follows it is gathered", async () => {
  // Gathering takes an hour: what is called before is called at once.
  const one = scene(3_600_000, 3_600_000);
  const next = one.next();
  one.gatherer.changed(true);
  assert.equal(one.calls, 0);
  one.gatherer.changed();
  await next;
  assert.equal(one.calls, 1);
  assert.equal(one.gatherer.waiting, null);
  one.gatherer.changed(true);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(one.calls, 1);
  assert.notEqual(one.gatherer.waiting, null);
  one.gatherer.stop();
});

Deno.test("an urgent change waits with those that were there before it", async () => {
  const one = scene(3_600_000, 3_600_000);
  one.gatherer.changed();
  one.gatherer.changed(true);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(one.calls, 0);
  one.gatherer.stop();
});
