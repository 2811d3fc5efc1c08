import assert from "node:assert/strict";
import { allocatePorts, portKey } from "./container_ports.ts";

const RANGE = { from: 10_000, to: 10_003 };

function allocate(
  gateways: Readonly<Record<string, readonly number[]>>,
  published: Readonly<Record<string, number>> = {},
): Readonly<Record<string, number>> {
  const list = Object.entries(gateways).map(([key, ports]) => ({ key, ports }));
  return Object.fromEntries(allocatePorts(list, new Map(Object.entries(published)), RANGE));
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
