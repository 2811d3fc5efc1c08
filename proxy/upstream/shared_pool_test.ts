import assert from "node:assert/strict";
import { type SharedConnection, SharedPool } from "./shared_pool.ts";

/** One that says what it takes, and counts. */
class FakeConnection implements SharedConnection<FakeConnection> {
  readonly openedAt: number;
  limit: number;
  used = 0;
  isLeaving = false;
  onChange: (() => void) | null = null;

  constructor(limit: number, openedAt = 0) {
    this.limit = limit;
    this.openedAt = openedAt;
  }

  get room(): number {
    return this.isLeaving ? 0 : Math.max(0, this.limit - this.used);
  }

  get isIdle(): boolean {
    return this.used === 0;
  }

  open(): this {
    assert.ok(this.room > 0, "opened without room");
    this.used++;
    return this;
  }

  end(): void {
    this.used--;
    this.onChange?.();
  }

  leave(): void {
    this.isLeaving = true;
    this.onChange?.();
  }
}

/** Opens when told to. */
class Openings {
  readonly asked: PromiseWithResolvers<FakeConnection | null>[] = [];
  readonly open = () => {
    const asked = Promise.withResolvers<FakeConnection | null>();
    this.asked.push(asked);
    return asked.promise;
  };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

Deno.test("a hundred simultaneous requests to a cold endpoint open one connection", async () => {
  const pool = new SharedPool<FakeConnection>(0);
  const { asked, open } = new Openings();
  const uses = Array.from({ length: 100 }, () => pool.wait(open).promise);
  assert.equal(asked.length, 1);
  const connection = new FakeConnection(128);
  asked[0].resolve(connection);
  assert.deepEqual(new Set(await Promise.all(uses)), new Set([connection]));
  assert.equal(connection.used, 100);
  assert.equal(asked.length, 1);
});

Deno.test("if one connection takes ten streams, a hundred requests open ten", async () => {
  const pool = new SharedPool<FakeConnection>(0);
  const { asked, open } = new Openings();
  const uses = Array.from({ length: 100 }, () => pool.wait(open).promise);
  for (let opened = 0; opened < asked.length; opened++) {
    asked[opened].resolve(new FakeConnection(10));
    await settled();
  }
  const used = new Map<FakeConnection | null, number>();
  for (const use of await Promise.all(uses)) used.set(use, (used.get(use) ?? 0) + 1);
  assert.deepEqual([...used.values()], Array(10).fill(10));
  assert.equal(asked.length, 10);
});

Deno.test("waiting requests get the capacity of a finished one, in order of arrival", async () => {
  const pool = new SharedPool<FakeConnection>(0);
  const { asked, open } = new Openings();
  const first = pool.wait(open);
  const connection = new FakeConnection(1);
  asked[0].resolve(connection);
  await first.promise;
  const order: string[] = [];
  const second = pool.wait(open).promise.then(() => order.push("second"));
  const third = pool.wait(open).promise.then(() => order.push("third"));
  connection.end();
  assert.equal(pool.take(0), null, "others wait");
  await second;
  connection.end();
  await third;
  assert.deepEqual(order, ["second", "third"]);
});

Deno.test("the first connection with capacity is used, so that others become idle", async () => {
  const pool = new SharedPool<FakeConnection>(0);
  const { asked, open } = new Openings();
  const [first, second] = [new FakeConnection(2), new FakeConnection(2)];
  const uses = [1, 2, 3].map(() => pool.wait(open).promise);
  asked[0].resolve(first);
  await settled();
  asked[1].resolve(second);
  await Promise.all(uses);
  second.end();
  first.end();
  assert.equal(pool.take(0), first);
  assert.equal(pool.idleCount, 1);
});

Deno.test("another connection is opened before the capacity is used up", async () => {
  const pool = new SharedPool<FakeConnection>(0);
  const { asked, open } = new Openings();
  const first = pool.wait(open);
  asked[0].resolve(new FakeConnection(16));
  await first.promise;
  for (let used = 1; used < 14; used++) pool.take(0);
  pool.prepare(open, 0);
  assert.equal(asked.length, 1, "two of sixteen are left");
  pool.take(0);
  pool.prepare(open, 0);
  pool.prepare(open, 0);
  assert.equal(asked.length, 2);
});

Deno.test("a failed early connect is retried once a second", async () => {
  const pool = new SharedPool<FakeConnection>(0);
  const { asked, open } = new Openings();
  const first = pool.wait(open);
  asked[0].resolve(new FakeConnection(8));
  await first.promise;
  for (let used = 1; used < 8; used++) pool.take(0);
  for (const now of [0, 1, 500, 999, 1_000, 1_500]) {
    pool.prepare(open, now);
    asked.at(-1)!.reject(new Error("refused"));
    await settled();
  }
  assert.equal(asked.length, 3);
});

Deno.test("connections that end as soon as they are open are not reopened forever", async () => {
  const pool = new SharedPool<FakeConnection>(0);
  let opened = 0;
  const open = () => {
    opened++;
    const connection = new FakeConnection(8);
    connection.isLeaving = true;
    return Promise.resolve(connection);
  };
  await assert.rejects(pool.wait(open).promise, /as soon as they are open/);
  assert.equal(opened, 3);
  await assert.rejects(pool.wait(open).promise, /as soon as they are open/);
  assert.equal(opened, 6);
});

Deno.test("a connection that is going away or too old gets no new requests", async () => {
  const pool = new SharedPool<FakeConnection>(1_000);
  const { asked, open } = new Openings();
  const connections = [0, 500, 900].map((openedAt) => new FakeConnection(1, openedAt));
  const uses = connections.map(() => pool.wait(open).promise);
  for (const [i, connection] of connections.entries()) {
    asked[i].resolve(connection);
    await settled();
  }
  await Promise.all(uses);
  for (const connection of connections) connection.end();
  connections[1].leave();
  assert.equal(pool.take(1_200), connections[2]);
  assert.equal(connections[0].isLeaving, true);
  assert.equal(pool.size, 1);
});

Deno.test("a connect failure fails all waiting requests, and the next request connects again", async () => {
  const pool = new SharedPool<FakeConnection>(0);
  const { asked, open } = new Openings();
  const uses = [1, 2, 3].map(() => pool.wait(open).promise);
  asked[0].reject(new Error("refused"));
  const outcomes = await Promise.allSettled(uses);
  assert.deepEqual(outcomes.map(({ status }) => status), Array(3).fill("rejected"));
  pool.wait(open).promise.catch(() => {});
  assert.equal(asked.length, 2);
  asked[1].reject(new Error("refused"));
});

Deno.test("a connect failure is held back while another connect may still succeed", async () => {
  const pool = new SharedPool<FakeConnection>(0);
  const { asked, open } = new Openings();
  const first = pool.wait(open);
  asked[0].resolve(new FakeConnection(1));
  await first.promise;
  const uses = [1, 2].map(() => pool.wait(open).promise);
  assert.equal(asked.length, 3);
  asked[1].reject(new Error("refused"));
  await settled();
  asked[2].resolve(new FakeConnection(2));
  assert.equal((await Promise.all(uses)).every((use) => use !== null), true);
});

Deno.test("waiting requests are notified if the new connection cannot be shared", async () => {
  const pool = new SharedPool<FakeConnection>(0);
  const { asked, open } = new Openings();
  const uses = [1, 2].map(() => pool.wait(open).promise);
  asked[0].resolve(null);
  assert.deepEqual(await Promise.all(uses), [null, null]);
});

Deno.test("a cancelled request stops waiting, and the connection serves others", async () => {
  const pool = new SharedPool<FakeConnection>(0);
  const { asked, open } = new Openings();
  const [gone, left] = [pool.wait(open), pool.wait(open)];
  gone.cancel(new Error("gone"));
  await assert.rejects(gone.promise, /gone/);
  const connection = new FakeConnection(8);
  asked[0].resolve(connection);
  assert.equal(await left.promise, connection);
  assert.equal(connection.used, 1);
});

Deno.test("a closing pool lets requests in progress end, and serves waiting ones", async () => {
  const pool = new SharedPool<FakeConnection>(0);
  const { asked, open } = new Openings();
  const first = pool.wait(open);
  asked[0].resolve(new FakeConnection(1));
  const before = await first.promise;
  const second = pool.wait(open);
  pool.close();
  assert.equal(before!.isLeaving, true);
  const after = new FakeConnection(1);
  asked[1].resolve(after);
  assert.equal(await second.promise, after);
  assert.equal(after.isLeaving, true);
  assert.equal(pool.size, 0);
});
