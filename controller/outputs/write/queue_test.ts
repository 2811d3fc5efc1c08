import assert from "node:assert/strict";
import { NOT_LEADING } from "../../kube/fenced_client.ts";
import type { ApiError } from "../../kube/types.ts";
import { ManualTime, settle } from "../../../tests/support/manual_time.ts";
import { type WriteOutcome, WriteQueue, type WriteQueueOptions } from "./queue.ts";

function error(code: number, fields: Partial<ApiError> = {}): WriteOutcome {
  const none = { code, reason: "", message: "", retryAfter: null };
  return { kind: "failed", error: { ...none, ...fields } };
}

const DONE: WriteOutcome = { kind: "done" };

interface Setup {
  readonly time: ManualTime;
  readonly queue: WriteQueue;
  /** Keys with the milliseconds at which they were written. */
  readonly writes: [string, number][];
}

function setUp(
  write: (key: string) => Promise<WriteOutcome> | WriteOutcome = () => DONE,
  options: Partial<WriteQueueOptions> = {},
): Setup {
  const time = new ManualTime();
  const writes: [string, number][] = [];
  const queue = new WriteQueue({
    pace: { rate: 10, burst: 5, inFlight: 2 },
    fence: { mayWrite: () => true },
    clock: time.clock,
    after: time.after,
    random: () => 0,
    ...options,
    write: async (key) => {
      writes.push([key, Math.round(time.clock.monotonic())]);
      return await write(key);
    },
  });
  return { time, queue, writes };
}

const keysOf = (writes: readonly [string, number][]) => writes.map(([key]) => key);

Deno.test("a burst is written at once, and the rest at the rate limit", async () => {
  const { time, queue, writes } = setUp();
  for (let i = 0; i < 25; i++) queue.add(`k${i}`);
  await time.pass(5000);
  assert.equal(new Set(keysOf(writes)).size, 25);
  assert.deepEqual(writes.map(([, at]) => Math.round(at / 100)), [
    ...[0, 0, 0, 0, 0],
    ...Array.from({ length: 20 }, (_, i) => i + 1),
  ]);
  assert.equal(queue.backlog, 0);
});

Deno.test("a change does not wait behind thousands of earlier ones", async () => {
  const { time, queue, writes } = setUp();
  for (let i = 0; i < 5000; i++) queue.add(`old${i}`);
  await time.pass(1000);
  const before = writes.length;
  queue.add("new");
  await time.pass(200);
  assert.ok(keysOf(writes).slice(before, before + 2).includes("new"));
});

Deno.test("the number of concurrent writes is limited", async () => {
  let running = 0;
  let most = 0;
  const { time, queue } = setUp(async () => {
    most = Math.max(most, ++running);
    await settle();
    running--;
    return DONE;
  });
  for (let i = 0; i < 5; i++) queue.add(`k${i}`);
  await time.pass(1000);
  assert.equal(most, 2);
});

Deno.test("a failed write is retried with growing backoff, and others continue", async () => {
  let refusals = 3;
  const { time, queue, writes } = setUp((key) =>
    key === "bad" && refusals-- > 0 ? error(422) : DONE
  );
  queue.add("bad");
  await time.pass(100);
  for (const key of ["a", "b"]) queue.add(key);
  await time.pass(10_000);
  assert.deepEqual(writes.filter(([key]) => key === "bad").map(([, at]) => at), [
    0,
    500,
    1500,
    3500,
  ]);
  assert.deepEqual(keysOf(writes).slice(1, 3).sort(), ["a", "b"]);
});

Deno.test("adding a failed key again does not shorten its backoff", async () => {
  const { time, queue, writes } = setUp(() => error(403));
  queue.add("bad");
  for (let i = 0; i < 100; i++) {
    await time.pass(10);
    queue.add("bad");
  }
  assert.deepEqual(writes.map(([, at]) => at), [0, 500]);
});

Deno.test("a failing server gets few calls, and all of them once it recovers", async () => {
  let isIll = true;
  const { time, queue, writes } = setUp(() => isIll ? error(503) : DONE, {
    pace: { rate: 1000, burst: 1000, inFlight: 1 },
  });
  for (let i = 0; i < 500; i++) queue.add(`k${i}`);
  await time.pass(60_000);
  assert.ok(writes.length < 20, `${writes.length} calls in a minute`);
  isIll = false;
  writes.length = 0;
  await time.pass(40_000);
  assert.equal(new Set(keysOf(writes)).size, 500);
});

Deno.test("all writes wait for the server's Retry-After", async () => {
  let isFirst = true;
  const { time, queue, writes } = setUp(() => {
    if (!isFirst) return DONE;
    isFirst = false;
    return error(429, { retryAfter: 7000 });
  });
  queue.add("a");
  await time.pass(10);
  queue.add("b");
  await time.pass(10_000);
  assert.deepEqual(writes.map(([, at]) => at), [0, 7000, 7000]);
});

Deno.test("nothing is written without leadership, and all of it soon after", async () => {
  let mayWrite = false;
  const { time, queue, writes } = setUp(() => DONE, { fence: { mayWrite: () => mayWrite } });
  for (const key of ["a", "b", "c"]) queue.add(key);
  await time.pass(60_000);
  assert.deepEqual(writes, []);
  mayWrite = true;
  await time.pass(1000);
  assert.deepEqual(keysOf(writes).sort(), ["a", "b", "c"]);
});

Deno.test("leadership lost during a write costs no backoff", async () => {
  let leads = false;
  const { time, queue, writes } = setUp(() => leads ? DONE : error(0, { reason: NOT_LEADING }), {
    fence: { mayWrite: () => leads || writes.length === 0 },
  });
  queue.add("a");
  await time.pass(100);
  assert.equal(writes.length, 1);
  leads = true;
  await time.pass(1000);
  assert.equal(writes.length, 2);
});

Deno.test("a key that changes while it is written is written once more", async () => {
  let isFirst = true;
  const setup = setUp(async (key) => {
    if (isFirst) {
      isFirst = false;
      setup.queue.add(key);
      setup.queue.add(key);
      await settle();
    }
    return DONE;
  });
  setup.queue.add("a");
  await setup.time.pass(1000);
  assert.deepEqual(keysOf(setup.writes), ["a", "a"]);
});

Deno.test("a delayed write happens at its time, or earlier if its key is added again", async () => {
  const { time, queue, writes } = setUp();
  queue.add("late", 5000);
  queue.add("hastened", 5000);
  await time.pass(100);
  queue.add("hastened");
  await time.pass(10_000);
  assert.deepEqual(writes, [["hastened", 100], ["late", 5000]]);
});

Deno.test("a write that needs no call consumes no token", async () => {
  const { time, queue, writes } = setUp((key) => key === "real" ? DONE : { kind: "unneeded" });
  for (let i = 0; i < 1000; i++) queue.add(`k${i}`);
  queue.add("real");
  await time.pass(10);
  assert.equal(writes.length, 1001);
});

Deno.test("closing waits for the write in progress and drops the others", async () => {
  const { promise, resolve } = Promise.withResolvers<WriteOutcome>();
  const { time, queue, writes } = setUp(() => promise, {
    pace: { rate: 10, burst: 5, inFlight: 1 },
  });
  for (const key of ["a", "b"]) queue.add(key);
  await time.pass(10);
  let isClosed = false;
  const closing = queue.close().then(() => isClosed = true);
  await time.pass(1000);
  assert.equal(isClosed, false);
  resolve(DONE);
  await closing;
  await time.pass(1000);
  assert.equal(writes.length, 1);
});
