import assert from "node:assert/strict";
import { type Kept, ResponseCache } from "./response_cache.ts";

function kept(value: string, time = 1000, bytes = 10): Kept<string> {
  return { value, time, bytes };
}

Deno.test("a response is kept for its time, and no longer", async () => {
  let now = 0;
  const cache = new ResponseCache(() => now);
  let calls = 0;
  const ask = () => cache.of("a", () => Promise.resolve(kept(String(++calls))));
  assert.deepEqual([await ask(), await ask()], ["1", "1"]);
  now = 999;
  assert.equal(await ask(), "1");
  now = 1000;
  assert.equal(await ask(), "2");
});

Deno.test("those who ask at once share a response, unless others may not have it, or it fails", async () => {
  const cache = new ResponseCache(() => 0);
  const cases: readonly [says: string, first: () => Promise<Kept<string>>, expected: string[]][] = [
    ["kept", () => Promise.resolve(kept("shared")), ["shared", "shared", "shared"]],
    ["not kept", () => Promise.resolve(kept("own", 0)), ["own", "other", "other"]],
    ["failed", () => Promise.reject(new Error("gone")), ["gone", "other", "other"]],
  ];
  for (const [says, first, expected] of cases) {
    let calls = 0;
    const get = () => calls++ === 0 ? first() : Promise.resolve(kept("other", 0));
    const asked = [1, 2, 3].map(() => cache.of(says, get).catch((error) => error.message));
    assert.deepEqual(await Promise.all(asked), expected, says);
  }
});

Deno.test("the least recently used response goes first, and memory stays bounded", async () => {
  const cache = new ResponseCache(() => 0, 1200);
  let calls = 0;
  const ask = (key: string, bytes = 10) =>
    cache.of(key, () => Promise.resolve(kept(String(++calls), 1000, bytes)));
  for (const key of ["a", "b", "c", "d", "a", "e"]) await ask(key);
  assert.equal(calls, 5);
  await ask("a");
  assert.equal(calls, 5);
  await ask("b");
  assert.equal(calls, 6);
  await ask("large", 5000);
  await ask("large", 5000);
  assert.equal(calls, 8);
  for (let i = 0; i < 10_000; i++) await ask(`key ${i}`);
  assert.ok(cache.bytes <= 1200, String(cache.bytes));
});

Deno.test("an entry holds its response until it expires or is evicted", async () => {
  let now = 0;
  const cache = new ResponseCache(() => now, 1200);
  const keep = async (key: string) => {
    await cache.of(key, () => Promise.resolve(kept(key)));
    return cache.find<string>(key)!;
  };
  const [first, second] = [await keep("first"), await keep("second")];
  assert.deepEqual([cache.valueOf(first), cache.valueOf(second)], ["first", "second"]);
  for (let i = 0; i < 3; i++) await keep(`key ${i}`);
  assert.deepEqual([cache.valueOf(first), first.value], [null, null]);
  const last = await keep("last");
  now = 999;
  assert.equal(cache.valueOf(last), "last");
  now = 1000;
  assert.equal(cache.valueOf(last), null);
  assert.equal(cache.find("last"), null);
  assert.equal(last.value, null);
});
