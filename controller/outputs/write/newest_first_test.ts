import assert from "node:assert/strict";
import { Random } from "../../../tests/fuzz/random.ts";
import { NewestFirst } from "./newest_first.ts";

function takeAll(queue: NewestFirst): string[] {
  const taken: string[] = [];
  for (let key = queue.take(); key !== null; key = queue.take()) taken.push(key);
  return taken;
}

Deno.test("the newest key is taken first, and every fourth time the oldest", () => {
  const queue = new NewestFirst();
  for (const key of ["1", "2", "3", "4", "5", "6", "7", "8", "9"]) queue.add(key);
  assert.deepEqual(takeAll(queue), ["9", "8", "7", "1", "6", "5", "4", "2", "3"]);
});

Deno.test("a key that is added again waits once, at the front", () => {
  const queue = new NewestFirst();
  for (const key of ["a", "b", "c", "a"]) queue.add(key);
  assert.equal(queue.size, 3);
  assert.deepEqual(takeAll(queue), ["a", "c", "b"]);
});

Deno.test("a cancelled key is not taken", () => {
  const queue = new NewestFirst();
  for (const key of ["a", "b", "c"]) queue.add(key);
  queue.delete("c");
  queue.delete("a");
  assert.deepEqual([queue.has("a"), queue.has("b")], [false, true]);
  assert.deepEqual(takeAll(queue), ["b"]);
});

Deno.test("no key is lost or repeated, however often keys are added, cancelled and taken", () => {
  const queue = new NewestFirst();
  const waiting = new Set<string>();
  const random = new Random(7);
  for (let i = 0; i < 20_000; i++) {
    const key = String(random.below(200));
    const action = random.below(3);
    if (action === 0) {
      queue.add(key);
      waiting.add(key);
    } else if (action === 1) {
      queue.delete(key);
      waiting.delete(key);
    } else {
      const taken = queue.take();
      if (taken === null) assert.equal(waiting.size, 0);
      else assert.ok(waiting.delete(taken), `${taken} did not wait`);
    }
    assert.equal(queue.size, waiting.size);
  }
});
