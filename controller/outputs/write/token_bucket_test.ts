import assert from "node:assert/strict";
import { TokenBucket } from "./token_bucket.ts";

Deno.test("a burst passes at once, and then one at a time", () => {
  const bucket = new TokenBucket(10, 3, 0);
  assert.deepEqual([bucket.take(0), bucket.take(0), bucket.take(0)], [0, 0, 0]);
  assert.ok(Math.abs(bucket.take(0) - 100) < 1e-3);
  assert.ok(Math.abs(bucket.take(40) - 60) < 1e-3);
  assert.equal(bucket.take(100), 0);
  assert.notEqual(bucket.take(100), 0);
});

Deno.test("a pause refills one burst, however long it is", () => {
  const bucket = new TokenBucket(10, 2, 0);
  assert.deepEqual([bucket.take(0), bucket.take(0)], [0, 0]);
  const later = 3_600_000;
  assert.deepEqual([bucket.take(later), bucket.take(later)], [0, 0]);
  assert.notEqual(bucket.take(later), 0);
});

Deno.test("an unused token can be returned", () => {
  const bucket = new TokenBucket(1, 1, 0);
  assert.equal(bucket.take(0), 0);
  bucket.giveBack();
  bucket.giveBack();
  assert.equal(bucket.take(0), 0);
  assert.notEqual(bucket.take(0), 0);
});

Deno.test("the rate holds over ten minutes", () => {
  const bucket = new TokenBucket(20, 50, 0);
  let taken = 0;
  for (let now = 0; now < 600_000; now += 7) if (bucket.take(now) === 0) taken++;
  assert.ok(taken >= 11_990 && taken <= 12_050, String(taken));
});
