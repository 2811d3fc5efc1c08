import assert from "node:assert/strict";
import { ManualClock } from "../../../shared/clock.ts";
import { addressList, textOf } from "./address.ts";
import { AddressHold } from "./address_hold.ts";

function setUp() {
  const clock = new ManualClock();
  let timer: { readonly ms: number; readonly run: () => void } | null = null;
  let released = 0;
  const hold = new AddressHold({
    clock,
    hold: 60_000,
    onRelease: () => released++,
    after: (ms, run) => {
      const mine = timer = { ms, run };
      return () => {
        if (timer === mine) timer = null;
      };
    },
  });
  const settle = (...texts: string[]) => hold.settle(addressList(texts))?.map(textOf);
  return { clock, hold, settle, timer: () => timer, released: () => released };
}

Deno.test("the address of a proxy pod that is being replaced stays", () => {
  const { clock, settle, timer } = setUp();
  assert.deepEqual(settle("10.0.0.1", "10.0.0.2"), ["10.0.0.1", "10.0.0.2"]);
  clock.advance(3_600_000);
  assert.deepEqual(settle("10.0.0.2"), ["10.0.0.1", "10.0.0.2"]);
  clock.advance(30_000);
  assert.deepEqual(settle("10.0.0.1", "10.0.0.2"), ["10.0.0.1", "10.0.0.2"]);
  assert.equal(timer(), null);
});

Deno.test("the address of a proxy that is gone for a minute is removed without another event", () => {
  const { clock, settle, timer, released } = setUp();
  settle("10.0.0.1", "10.0.0.2");
  settle("10.0.0.2");
  assert.equal(timer()?.ms, 60_000);
  clock.advance(20_000);
  assert.deepEqual(settle("10.0.0.2", "10.0.0.3"), ["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
  assert.equal(timer()?.ms, 40_000);
  clock.advance(40_000);
  timer()?.run();
  assert.equal(released(), 1);
  assert.deepEqual(settle("10.0.0.2", "10.0.0.3"), ["10.0.0.2", "10.0.0.3"]);
});

Deno.test("a new address is published at once", () => {
  const { settle } = setUp();
  settle("10.0.0.1");
  assert.deepEqual(settle("10.0.0.1", "10.0.0.2"), ["10.0.0.1", "10.0.0.2"]);
});

Deno.test("without known addresses nothing is written, and no hold time passes", () => {
  const { clock, hold, settle } = setUp();
  settle("10.0.0.1");
  assert.equal(hold.settle(null), null);
  clock.advance(600_000);
  assert.equal(hold.settle(null), null);
  assert.deepEqual(settle("10.0.0.2"), ["10.0.0.1", "10.0.0.2"]);
});
