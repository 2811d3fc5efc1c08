import assert from "node:assert/strict";
import { silentLogger } from "../../../shared/log.ts";
import { Teardown, type TeardownOptions } from "./teardown.ts";

function scene(options: Partial<TeardownOptions> = {}) {
  let now = 0;
  let removed = 0;
  const cleanup: Teardown = new Teardown({
    delay: 1000,
    log: silentLogger,
    now: () => now,
    isAnything: () => removed === 0,
    confirm: () => Promise.resolve(0),
    remove() {
      removed++;
      return Promise.resolve(null);
    },
    ...options,
  });
  return {
    cleanup,
    pass: (ms: number) => now += ms,
    get removed() {
      return removed;
    },
  };
}

Deno.test("proxies are removed once, after the delay without an Ingress", async () => {
  const one = scene();
  one.cleanup.observe(0);
  assert.deepEqual(await one.cleanup.run(), { kind: "again", after: 1000 });
  one.pass(400);
  one.cleanup.observe(0);
  assert.deepEqual(await one.cleanup.run(), { kind: "again", after: 600 });
  one.pass(600);
  assert.deepEqual(await one.cleanup.run(), { kind: "done" });
  assert.equal(one.removed, 1);
  await one.cleanup.run();
  assert.equal(one.removed, 1);
});

Deno.test("objects being removed are not recreated until there is an Ingress again", async () => {
  const seen: boolean[] = [];
  const one = scene({
    remove() {
      seen.push(one.cleanup.hasTaken);
      return Promise.resolve("the API server is away");
    },
  });
  one.cleanup.observe(0);
  one.pass(1000);
  assert.equal(one.cleanup.hasTaken, false);
  assert.equal((await one.cleanup.run()).kind, "failed");
  one.cleanup.observe(0);
  assert.deepEqual([...seen, one.cleanup.hasTaken], [true, true]);
  one.cleanup.observe(1);
  assert.equal(one.cleanup.hasTaken, false);
});

Deno.test("an Ingress created during the delay keeps the proxies", async () => {
  const one = scene();
  one.cleanup.observe(0);
  one.pass(900);
  one.cleanup.observe(1);
  one.cleanup.observe(0);
  one.pass(900);
  assert.deepEqual(await one.cleanup.run(), { kind: "again", after: 100 });
  assert.equal(one.removed, 0);
});

Deno.test("an Ingress that only the new list has keeps the proxies", async () => {
  const one = scene({ confirm: () => Promise.resolve(3) });
  one.cleanup.observe(0);
  one.pass(1000);
  assert.deepEqual(await one.cleanup.run(), { kind: "done" });
  assert.equal(one.removed, 0);
});

Deno.test("a failed list keeps the proxies, and is retried", async () => {
  const one = scene({ confirm: () => Promise.resolve(null) });
  one.cleanup.observe(0);
  one.pass(1000);
  assert.equal((await one.cleanup.run()).kind, "failed");
  assert.equal(one.removed, 0);
});

Deno.test("with an infinite delay, proxies are never removed", async () => {
  const one = scene({ delay: Infinity });
  one.cleanup.observe(0);
  one.pass(1e12);
  assert.deepEqual(await one.cleanup.run(), { kind: "done" });
  assert.equal(one.removed, 0);
});
