/** Buffers are lent and used again, and of the large ones there are no more than a few. */
import assert from "node:assert/strict";
import { BufferPool, BulkPool } from "./buffer_pool.ts";

Deno.test("a returned buffer is reused for its size only", () => {
  const pool = new BufferPool(8, 1);
  const buffer = pool.take();
  pool.give(new Uint8Array(4));
  assert.notEqual(pool.take(), buffer);
  pool.give(buffer);
  pool.give(new Uint8Array(8));
  assert.equal(pool.take(), buffer);
  assert.equal(pool.take().length, 8);
});

Deno.test("long bodies use large buffers, up to their maximum number", () => {
  const pool = new BulkPool(8, 4, 32, 2);
  assert.equal(pool.takeFor(31).length, 8);
  const large = [pool.takeFor(32), pool.takeFor(1_000)];
  assert.deepEqual(large.map(({ length }) => length), [32, 32]);
  assert.equal(pool.takeFor(1_000).length, 8, "the third");
  pool.give(large[0]);
  assert.equal(pool.takeFor(1_000), large[0]);
  assert.equal(pool.takeFor(1_000).length, 8);
});

Deno.test("foreign buffers as long as the large ones are not kept without limit", () => {
  const pool = new BulkPool(8, 4, 32, 2);
  const given = Array.from({ length: 5 }, () => new Uint8Array(32));
  for (const buffer of given) pool.give(buffer);
  const taken = Array.from({ length: 5 }, () => pool.takeFor(32));
  assert.equal(given.filter((buffer) => taken.includes(buffer)).length, 2);
});
