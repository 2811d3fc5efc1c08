import assert from "node:assert/strict";
import { RecentValues } from "./recent_values.ts";

Deno.test("values stay within their bytes, however large each is", () => {
  for (const bytes of [0, 10, 1000]) {
    const values = new RecentValues<number>(10_000);
    for (let i = 0; i < 1000; i++) {
      values.set(`${i}`, i, bytes);
      assert(values.bytes <= 10_000);
      assert.equal(values.get(`${i}`), i);
    }
    assert.equal(values.get("0"), undefined);
  }
});

Deno.test("a value that is asked for stays while others come and go", () => {
  const values = new RecentValues<object>(10_000);
  const value = {};
  values.set("a", value, 100);
  for (let i = 0; i < 1000; i++) {
    values.set(`${i}`, {}, 100);
    assert.equal(values.get("a"), value);
    assert(values.bytes <= 10_000);
  }
});

Deno.test("a value that is larger than all may be is gone with the next ones", () => {
  const values = new RecentValues<number>(10_000);
  values.set("large", 0, 20_000);
  assert.equal(values.get("large"), 0);
  for (const key of ["a", "b", "c"]) values.set(key, 1, 3_000);
  assert.equal(values.get("large"), undefined);
  assert(values.bytes <= 10_000);
});
