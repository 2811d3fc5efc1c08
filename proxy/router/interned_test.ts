import assert from "node:assert/strict";
import { Interned } from "./interned.ts";

Deno.test("an object has one number as long as it is referenced", () => {
  const interned = new Interned<object>();
  const [a, b, c] = [{}, {}, {}];
  const first = interned.take(a);
  assert.equal(interned.take(a), first);
  const second = interned.take(b);
  assert.notEqual(second, first);
  assert.equal(interned.release(first), false);
  assert.equal(interned.get(first), a);
  assert.equal(interned.release(first), true);
  assert.equal(interned.size, 1);
  assert.equal(interned.get(second), b);
  // Its number is another's now.
  assert.equal(interned.take(c), first);
  assert.equal(interned.get(first), c);
  assert.equal(interned.size, 2);
});
