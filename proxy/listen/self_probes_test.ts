import assert from "node:assert/strict";
import { SelfProbes } from "./self_probes.ts";

Deno.test("a worker's probe is known to all until it ends, and undecided until it has a port", () => {
  const cells = SelfProbes.cellsFor(2);
  const [one, other] = [new SelfProbes(cells, 0), new SelfProbes(cells, 1)];
  assert.equal(other.includes(40_000), false);
  const call = one.begin();
  assert.equal(other.includes(40_000), null);
  one.name(call, 40_000);
  assert.deepEqual([other.includes(40_000), other.includes(40_001)], [true, false]);
  const second = other.begin();
  assert.deepEqual([one.includes(40_000), one.includes(40_001)], [true, null]);
  other.end(second);
  one.end(call);
  assert.equal(other.includes(40_000), false);
});

Deno.test("probes of a lost worker are removed, those of others are not", () => {
  const cells = SelfProbes.cellsFor(2);
  const [one, other] = [new SelfProbes(cells, 0), new SelfProbes(cells, 1)];
  one.begin();
  other.name(other.begin(), 40_000);
  SelfProbes.clear(cells, 0);
  assert.deepEqual([one.includes(1), one.includes(40_000)], [false, true]);
});

Deno.test("silent workers are known to all, and are not probes", () => {
  const cells = SelfProbes.cellsFor(2);
  const calls = new SelfProbes(cells, 1);
  assert.equal(calls.isSilenceForeign, false);
  SelfProbes.setSilent(cells, 1);
  assert.equal(calls.isSilenceForeign, true);
  SelfProbes.clear(cells, 1);
  assert.deepEqual([calls.isSilenceForeign, calls.includes(1)], [true, false]);
  SelfProbes.setSilent(cells, 0);
  assert.equal(calls.isSilenceForeign, false);
});

Deno.test("more probes than there is room for change nothing", () => {
  const calls = new SelfProbes();
  const begun: number[] = [];
  for (let call = calls.begin(); call !== -1; call = calls.begin()) begun.push(call);
  calls.name(-1, 40_000);
  assert.equal(calls.includes(40_000), null);
  for (const call of [...begun, -1]) calls.end(call);
  assert.equal(calls.includes(40_000), false);
});
