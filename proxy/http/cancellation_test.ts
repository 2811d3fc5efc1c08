import assert from "node:assert/strict";
import { ProxyError } from "../errors.ts";
import { Cancellation } from "./cancellation.ts";

const GONE = new ProxyError("client_gone");
const LATE = new ProxyError("deadline_passed");

/** Work that notes why it was stopped, each time. */
function work(): { readonly stop: (reason: ProxyError) => void; readonly reasons: ProxyError[] } {
  const reasons: ProxyError[] = [];
  return { stop: (reason) => reasons.push(reason), reasons };
}

Deno.test("cancelling an exchange stops each of its operations once", () => {
  const cancellation = new Cancellation();
  const works = [work(), work(), work()];
  for (const { stop } of works) cancellation.register(stop);
  assert.equal(cancellation.isAwaited, true);
  cancellation.cancel(GONE);
  cancellation.cancel(LATE);
  assert.deepEqual(works.map(({ reasons }) => reasons), [[GONE], [GONE], [GONE]]);
  assert.equal(cancellation.reason, GONE);
  assert.equal(cancellation.isAwaited, false);
});

Deno.test("an operation that starts after the cancellation is stopped at once", () => {
  const cancellation = new Cancellation();
  cancellation.cancel(LATE);
  const late = work();
  cancellation.register(late.stop);
  assert.deepEqual(late.reasons, [LATE]);
  assert.equal(cancellation.isAwaited, false);
});

Deno.test("completed operations are not stopped, in whatever order they end", () => {
  for (const done of [[0], [1], [2], [0, 1], [1, 0], [2, 0], [0, 1, 2], [2, 1, 0]]) {
    const cancellation = new Cancellation();
    const works = [work(), work(), work()];
    for (const { stop } of works) cancellation.register(stop);
    for (const i of done) cancellation.unregister(works[i].stop);
    assert.equal(cancellation.isAwaited, done.length < works.length);
    cancellation.cancel(GONE);
    const stopped = works.map(({ reasons }) => reasons.length);
    assert.deepEqual(stopped, works.map((_, i) => done.includes(i) ? 0 : 1), String(done));
  }
});

Deno.test("an operation that ends late removes no other one", () => {
  const cancellation = new Cancellation();
  const [first, second] = [work(), work()];
  cancellation.register(first.stop);
  cancellation.unregister(first.stop);
  cancellation.register(second.stop);
  cancellation.unregister(first.stop);
  cancellation.cancel(GONE);
  assert.deepEqual([first.reasons, second.reasons], [[], [GONE]]);
});

Deno.test("the next exchange has no state of the previous one", () => {
  for (const isCancelled of [true, false]) {
    const cancellation = new Cancellation();
    const before = [work(), work()];
    for (const { stop } of before) cancellation.register(stop);
    if (isCancelled) cancellation.cancel(GONE);
    cancellation.reset();
    assert.deepEqual([cancellation.reason, cancellation.isAwaited], [null, false]);
    const next = work();
    cancellation.register(next.stop);
    cancellation.cancel(LATE);
    assert.deepEqual(next.reasons, [LATE]);
    assert.equal(before[0].reasons.includes(LATE), false);
  }
});
