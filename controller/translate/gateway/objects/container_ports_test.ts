import assert from "node:assert/strict";
import { allocatePorts, portKey } from "./container_ports.ts";

const RANGE = { from: 10_000, to: 10_003 };

function allocate(
  gateways: Readonly<Record<string, readonly number[]>>,
  published: Readonly<Record<string, number>> = {},
  range = RANGE,
): Readonly<Record<string, number>> {
  const list = Object.entries(gateways).map(([key, ports]) => ({ key, ports }));
  return Object.fromEntries(allocatePorts(list, new Map(Object.entries(published)), range));
}

Deno.test("each public port of a Gateway gets one container port of the range, also if listeners share it", () => {
  const ports = allocate({ "a/web": [80, 443, 80], "b/web": [80] });
  assert.deepEqual(Object.keys(ports).sort(), ["a/web 443", "a/web 80", "b/web 80"]);
  assert.equal(new Set(Object.values(ports)).size, 3);
  for (const port of Object.values(ports)) assert.ok(port >= RANGE.from && port <= RANGE.to);
});

Deno.test("a published container port stays when other Gateways come and go", () => {
  const before = allocate({ "a/web": [80], "b/web": [80, 443] });
  const after = allocate({ "0/older": [1, 2], "b/web": [80, 443] }, before);
  assert.equal(after[portKey("b/web", 80)], before[portKey("b/web", 80)]);
  assert.equal(after[portKey("b/web", 443)], before[portKey("b/web", 443)]);
  assert.equal(new Set(Object.values(after)).size, 4);
});

Deno.test("where the range is full, the oldest Gateways keep theirs and the last get none", () => {
  const ports = allocate({ "a/web": [1, 2, 3], "b/web": [1, 2, 3] });
  assert.deepEqual(Object.keys(ports).sort(), ["a/web 1", "a/web 2", "a/web 3", "b/web 1"]);
});

Deno.test("a published port outside of the range, or claimed twice, is chosen again", () => {
  const ports = allocate({ "a/web": [1, 2] }, { "a/web 1": 9_999, "a/web 2": 10_000 });
  assert.equal(ports["a/web 2"], 10_000);
  assert.ok(ports["a/web 1"] > 10_000);
  const twice = allocate({ "a/web": [1, 2] }, { "a/web 1": 10_001, "a/web 2": 10_001 });
  assert.equal(twice["a/web 1"], 10_001);
  assert.notEqual(twice["a/web 2"], 10_001);
});

/** So many public ports. */
function many(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}

function countsOf(ports: Readonly<Record<string, number>>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const key of Object.keys(ports)) {
    const namespace = key.split("/")[0];
    counts[namespace] = (counts[namespace] ?? 0) + 1;
  }
  return counts;
}

Deno.test("a namespace gets at most half of the ports that others leave, so that newer ones get some", () => {
  const range = { from: 10_000, to: 10_255 };
  const flood = { "a/1": many(64), "a/2": many(64), "a/3": many(64), "a/4": many(64) };
  const first = allocate({ ...flood, "b/web": [80] }, {}, range);
  assert.deepEqual(countsOf(first), { a: 128, b: 1 });
  // What is served stays, and of what is left others get half.
  const second = allocate(
    { ...flood, "c/1": many(64), "c/2": many(64), "b/web": [80, 443] },
    first,
    range,
  );
  assert.deepEqual(countsOf(second), { a: 128, b: 2, c: 64 });
  for (const [key, port] of Object.entries(first)) assert.equal(second[key], port);
});

Deno.test("published ports stay where a namespace has more than half of those that others leave", () => {
  const range = { from: 10_000, to: 10_255 };
  const published = Object.fromEntries(many(200).map((port) => [`a/web ${port}`, 10_000 + port]));
  const ports = allocate({ "a/web": many(201), "b/web": [80] }, published, range);
  assert.deepEqual(countsOf(ports), { a: 200, b: 1 });
});

Deno.test("the last port of a large range is for a namespace that has none", () => {
  const range = { from: 10_000, to: 10_127 };
  const published = Object.fromEntries(many(127).map((port) => [`a/web ${port}`, 10_000 + port]));
  assert.deepEqual(countsOf(allocate({ "a/web": many(128), "b/web": [80] }, published, range)), {
    a: 127,
    b: 1,
  });
});
