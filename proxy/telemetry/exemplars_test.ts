import assert from "node:assert/strict";
import { type Exemplar, ExemplarBatch, ExemplarStore } from "./exemplars.ts";

function exemplar(slot: number, bucket: number, endedAt: number): Exemplar {
  return { slot, bucket, traceId: String(endedAt), seconds: 0, endedAt };
}

Deno.test("a message has the last request of each bucket, of 256 buckets at most", () => {
  const sent: (readonly Exemplar[])[] = [];
  const batch = new ExemplarBatch((exemplars) => sent.push(exemplars));
  for (let slot = 0; slot < 1000; slot++) batch.add(slot, 1, "a", slot);
  batch.add(0, 1, "b", 1000);
  batch.flush();
  batch.flush();
  assert.equal(sent.length, 1);
  const [[first, ...others]] = sent;
  assert.equal(others.length, 255);
  assert.deepEqual(first, { slot: 0, bucket: 0, traceId: "b", seconds: 0.001, endedAt: 1000 });
});

Deno.test("the newest request of a bucket is kept, whichever worker reports first", () => {
  const store = new ExemplarStore();
  store.take([exemplar(3, 0, 7), exemplar(3, 2, 1)]);
  store.take([exemplar(3, 0, 5)]);
  assert.deepEqual([0, 1, 2].map((bucket) => store.of(3)?.[bucket]?.endedAt), [7, undefined, 1]);
  store.take([exemplar(3, 0, 9)]);
  assert.equal(store.of(3)?.[0]?.endedAt, 9);
});

Deno.test("a slot of another host has none of the host before", () => {
  const store = new ExemplarStore();
  store.take([exemplar(3, 0, 7), exemplar(4, 0, 7)]);
  store.clear(3);
  assert.equal(store.of(3), undefined);
  assert.equal(store.of(4)?.length, 1);
});

Deno.test("10,000 exemplars are kept: those of the hosts that were quiet for longest go first", () => {
  const store = new ExemplarStore();
  for (let slot = 0; slot < 9_999; slot++) store.take([exemplar(slot, 0, 1)]);
  store.take([exemplar(0, 1, 2)]);
  assert.ok(store.of(1) !== undefined);
  store.take([exemplar(10_000, 0, 3)]);
  assert.equal(store.of(1), undefined);
  assert.equal(store.of(0)?.length, 2);
  assert.equal(store.of(2)?.length, 1);
});
