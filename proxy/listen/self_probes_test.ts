import assert from "node:assert/strict";
import { SelfProbes } from "./self_probes.ts";

Deno.test("a worker's probe is known to all until it ends, and undecided until it has a port", () => {
  const cells = SelfProbes.cellsFor(2);
  const [one, other] = [new SelfProbes(cells, 0), new SelfProbes(cells, 1)];
  assert.equal(other.includes(40_000, 443), false);
  const call = one.begin(443);
  assert.equal(other.includes(40_000, 443), null);
  one.name(call, 40_000);
  assert.deepEqual([other.includes(40_000, 443), other.includes(40_001, 443)], [true, false]);
  const second = other.begin(443);
  assert.deepEqual([one.includes(40_000, 443), one.includes(40_001, 443)], [true, null]);
  other.end(second);
  one.end(call);
  assert.equal(other.includes(40_000, 443), false);
});

Deno.test("a client with the source port of a probe to another port is not taken for a probe", () => {
  const calls = new SelfProbes();
  const call = calls.begin(65_535);
  assert.equal(calls.includes(40_000, 443), false);
  calls.name(call, 40_000);
  assert.deepEqual([calls.includes(40_000, 443), calls.includes(40_000, 65_535)], [false, true]);
});

Deno.test("probes of a lost worker are removed, those of others are not", () => {
  const cells = SelfProbes.cellsFor(2);
  const [one, other] = [new SelfProbes(cells, 0), new SelfProbes(cells, 1)];
  one.begin(443);
  other.name(other.begin(443), 40_000);
  SelfProbes.clear(cells, 0);
  assert.deepEqual([one.includes(1, 443), one.includes(40_000, 443)], [false, true]);
});

Deno.test("silent workers are known to all, and are not probes", () => {
  const cells = SelfProbes.cellsFor(2);
  const calls = new SelfProbes(cells, 1);
  assert.equal(calls.isSilenceForeign, false);
  SelfProbes.setSilent(cells, 1);
  assert.equal(calls.isSilenceForeign, true);
  SelfProbes.clear(cells, 1);
  assert.deepEqual([calls.isSilenceForeign, calls.includes(1, 443)], [true, false]);
  SelfProbes.setSilent(cells, 0);
  assert.equal(calls.isSilenceForeign, false);
});

Deno.test("more probes than there is room for change nothing", () => {
  const calls = new SelfProbes();
  const begun: number[] = [];
  for (let call = calls.begin(443); call !== -1; call = calls.begin(443)) begun.push(call);
  calls.name(-1, 40_000);
  assert.equal(calls.includes(40_000, 443), null);
  for (const call of [...begun, -1]) calls.end(call);
  assert.equal(calls.includes(40_000, 443), false);
});
