/** Bodies out of DATA frames. */
import assert from "node:assert/strict";
import { createBuffers } from "../io/buffer_pool.ts";
import { Deadlines } from "../io/deadlines.ts";
import { ProxyError } from "../errors.ts";
import { asciiBytes, fieldsOf } from "../http/fields.ts";
import { ReceivedBody } from "./received_body.ts";

class Scene {
  consumed = 0;
  readonly buffers = createBuffers();
  readonly body = new ReceivedBody(
    { consumed: (bytes) => this.consumed += bytes },
    this.buffers,
    new Deadlines(),
  );

  constructor(expected = -1, maxBytes = 0) {
    this.body.begin(expected, 0, 0);
    if (maxBytes !== 0) this.body.limit(maxBytes);
  }

  push(text: string): ReturnType<ReceivedBody["push"]> {
    const bytes = asciiBytes(`<${text}>`);
    const problem = this.body.push(bytes, 1, bytes.length - 1);
    bytes.fill(0); // The reader's buffer is used again.
    return problem;
  }

  async read(): Promise<string | null> {
    const view = await this.body.read();
    return view === null ? null : new TextDecoder().decode(view);
  }
}

Deno.test("data that arrives between two reads is read at once, and credited when consumed", async () => {
  const scene = new Scene();
  scene.push("ab");
  scene.push("cd");
  assert.equal(await scene.read(), "abcd");
  assert.equal(scene.consumed, 0);
  scene.push("ef");
  scene.body.finish(null);
  assert.ok(!scene.body.done);
  assert.equal(await scene.read(), "ef");
  assert.equal(scene.consumed, 4);
  assert.ok(scene.body.done);
  assert.equal(await scene.read(), null);
  assert.equal(scene.consumed, 6);
});

Deno.test("a reader's view stays unmodified while more data arrives", async () => {
  const scene = new Scene();
  scene.push("ab");
  const view = await scene.body.read();
  scene.push("cd");
  assert.equal(new TextDecoder().decode(view!), "ab");
});

Deno.test("a view is released when consumed, even if the body was aborted meanwhile", async () => {
  const scene = new Scene();
  scene.push("abc");
  scene.body.finish(null);
  assert.equal(await scene.read(), "abc");
  scene.body.fail(new ProxyError("client_gone"));
  // Nobody reads on, so nobody is to be told.
  scene.body.settle();
  scene.body.release();
  assert.equal(scene.consumed, 3);
});

Deno.test("a waiting reader is woken once a turn, with all data and the end", async () => {
  const scene = new Scene();
  const reading = scene.read();
  scene.push("ab");
  scene.push("cd");
  scene.body.finish(null);
  assert.ok(scene.body.isStirred);
  scene.body.wake();
  assert.ok(scene.body.done);
  assert.equal(await reading, "abcd");
});

Deno.test("an end without data wakes the reader", async () => {
  const scene = new Scene();
  const reading = scene.read();
  scene.body.finish(fieldsOf([["a", "b"]]));
  scene.body.wake();
  assert.equal(await reading, null);
  assert.equal(scene.body.trailers!.value(0), "b");
});

Deno.test("an end that arrives while a view is in use is an end", async () => {
  const scene = new Scene();
  scene.push("ab");
  assert.equal(await scene.read(), "ab");
  assert.ok(!scene.body.done);
  scene.body.finish(null);
  assert.ok(scene.body.done);
  assert.equal(await scene.read(), null);
});

Deno.test("a body of any size is the same after reassembly", async () => {
  const scene = new Scene();
  const text = "0123456789".repeat(6_000);
  for (let at = 0; at < text.length; at += 7_001) scene.push(text.slice(at, at + 7_001));
  scene.body.finish(null);
  let read = "";
  for (let part = await scene.read(); part !== null; part = await scene.read()) read += part;
  assert.equal(read, text);
  assert.equal(scene.consumed, text.length);
});

Deno.test("a small complete body is a payload, and keeps its buffer until released", () => {
  const scene = new Scene(4);
  scene.push("ab");
  assert.equal(scene.body.payload(), null);
  scene.push("cd");
  scene.body.finish(null);
  const payload = scene.body.payload()!;
  assert.ok(scene.body.done);
  assert.equal(scene.body.read(), null);
  assert.equal(scene.consumed, 4);
  scene.body.fail(new ProxyError("client_gone"));
  assert.equal(new TextDecoder().decode(payload), "abcd");
  assert.notEqual(scene.buffers.head.take().buffer, payload.buffer);
  scene.body.release();
  assert.equal(scene.buffers.head.take().buffer, payload.buffer);
});

Deno.test("a body with trailers or in several parts is not a payload", () => {
  const trailed = new Scene();
  trailed.push("ab");
  trailed.body.finish(fieldsOf([["a", "b"]]));
  assert.equal(trailed.body.payload(), null);
  const long = new Scene();
  for (let i = 0; i < 3; i++) long.push("x".repeat(10_000));
  long.body.finish(null);
  assert.equal(long.body.payload(), null);
});

Deno.test("a body must have the length of its content-length (§8.1.1)", () => {
  const longer = new Scene(3);
  assert.equal(longer.push("abc"), null);
  assert.equal(longer.push("d"), "more DATA than content-length says");
  const shorter = new Scene(3);
  shorter.push("ab");
  assert.equal(shorter.body.finish(null), "less DATA than content-length");
  const exact = new Scene(0);
  assert.equal(exact.body.finish(null), null);
});

Deno.test("a body past its limit fails, and the rest is discarded", async () => {
  const scene = new Scene(-1, 3);
  scene.push("abc");
  scene.push("d");
  assert.equal(scene.consumed, 4);
  await assert.rejects(scene.read(), { code: "body_too_large" });
  scene.push("ef");
  assert.equal(scene.consumed, 6);
});

Deno.test("on an abort, unread bytes are credited to the windows, and nobody gets a view", async () => {
  const scene = new Scene();
  scene.push("x".repeat(100));
  const view = await scene.body.read() as Uint8Array;
  scene.push("y".repeat(5_000));
  scene.body.fail(new ProxyError("client_gone"));
  assert.equal(scene.consumed, 5_100);
  await assert.rejects(scene.read(), { code: "client_gone" });
  scene.body.release();
  assert.equal(scene.consumed, 5_100);
  for (let i = 0; i < 8; i++) {
    assert.notEqual(scene.buffers.head.take().buffer, view.buffer);
    assert.notEqual(scene.buffers.out.take().buffer, view.buffer);
  }
});

Deno.test("a waiting reader is notified of an abort", async () => {
  const scene = new Scene();
  const reading = scene.read();
  scene.body.fail(new ProxyError("client_gone"));
  await assert.rejects(reading, { code: "client_gone" });
});

Deno.test("only a waiting reader makes a body overdue", () => {
  const scene = new Scene();
  scene.body.begin(-1, 10, 0);
  assert.ok(!scene.body.isOverdue(Infinity));
  scene.body.read();
  assert.ok(scene.body.isOverdue(performance.now() + 1_000));
  scene.body.pause();
  assert.ok(!scene.body.isOverdue(performance.now() + 1_000));
  scene.body.resume();
  assert.ok(scene.body.isOverdue(performance.now() + 1_000));
});

Deno.test("a long body is passed on in larger parts than a short one, and completely", async () => {
  const { body, buffers } = new Scene();
  const frame = new Uint8Array(16 * 1024);
  const pieces: number[] = [];
  let sum = 0;
  for (let turn = 0; turn < 8; turn++) {
    for (let i = 0; i < 3; i++) {
      frame.fill(turn * 3 + i);
      assert.equal(body.push(frame, 0, frame.length), null);
    }
    if (turn === 7) body.finish(null);
    while (body.waiting > 0) {
      const view = await body.read();
      pieces.push(view!.length);
      for (let at = 0; at < view!.length; at += frame.length) sum += view![at];
    }
  }
  assert.equal(await body.read(), null);
  assert.deepEqual(pieces.slice(0, 3), [frame.length, frame.length, frame.length]);
  assert.equal(pieces.at(-1), 3 * frame.length);
  assert.equal(sum, 23 * 24 / 2);
  assert.equal(pieces.reduce((total, one) => total + one, 0), 24 * frame.length);
  // The last one has come back, and serves another.
  const used = buffers.bulk.take();
  assert.ok(used.some((byte) => byte !== 0));
});

Deno.test("a long body that arrives slowly uses no large buffers", async () => {
  const { body, buffers } = new Scene();
  const frame = new Uint8Array(16 * 1024);
  for (let turn = 0; turn < 8; turn++) {
    body.push(frame, 0, frame.length);
    await body.read();
  }
  await Promise.race([body.read(), null]);
  let large = 0;
  buffers.bulk.take = () => {
    large++;
    return new Uint8Array(buffers.bulk.size);
  };
  body.push(frame, 0, 100);
  assert.equal(large, 0);
});

Deno.test("an aborted body is never complete, however it ends", async () => {
  const scene = new Scene(2);
  scene.push("ab");
  scene.body.fail(new ProxyError("head_too_large"));
  assert.equal(scene.body.finish(null), null);
  assert.equal(scene.body.done, false);
  await assert.rejects(scene.read(), ProxyError);
});

Deno.test("bytes past content-length are credited, as nobody reads them", () => {
  const scene = new Scene(2);
  scene.push("a");
  assert.equal(scene.push("bcd"), "more DATA than content-length says");
  scene.body.fail(new ProxyError("client_gone"));
  assert.equal(scene.consumed, 4);
});
