/** What a connection leaves behind that is closed while its client takes nothing. */
import assert from "node:assert/strict";
import {
  FRAME,
  frame,
  get,
  headers,
  ping,
  post,
  SETTING,
  windowUpdate,
} from "../../tests/support/h2_frames.ts";
import { answers, MemoryClient } from "../../tests/support/h2_memory_client.ts";
import { fieldsOf } from "../http/fields.ts";
import type { Body } from "../http/body.ts";
import { ResponseHead } from "../http/message.ts";

const WIDE = [[SETTING.INITIAL_WINDOW_SIZE, 1 << 30]] as const;

Deno.test("a writer that waits to send an interim head is notified when the connection closes", async () => {
  const endless = { done: false, trailers: null, read: () => new Uint8Array(10_000) };
  let settled = false;
  using client = new MemoryClient((exchange) => {
    if (exchange.request.path === "/full") return answers(() => endless)(exchange);
    const hints = new ResponseHead();
    hints.status = 103;
    return Promise.resolve(exchange.interim(hints)).then(() => {
      settled = true;
    });
  });
  await client.greet(WIDE);
  await client.send(windowUpdate(0, 1 << 30));
  client.hold();
  await client.send(headers(1, get("/full"), { end: true }));
  await client.send(headers(3, get("/hints"), { end: true }));
  assert.equal(settled, false);
  client.connection.close();
  await client.idle();
  assert.equal(settled, true);
});

Deno.test("a connection that closes while its reads are paused returns its buffer once", async () => {
  const end = Promise.withResolvers<null>();
  const trailers = fieldsOf([["x-sum", "x".repeat(60_000)]]);
  const late: Body = { done: false, trailers, read: () => end.promise };
  using client = new MemoryClient(answers(() => late));
  await client.greet(WIDE);
  const ids = Array.from({ length: 10 }, (_, i) => 1 + 2 * i);
  await client.send(headers(101, post("/")), ...ids.map((i) => headers(101 + 2 * i, get("/"))));
  client.hold();
  await client.send(ping());
  end.resolve(null);
  await client.idle();
  // Of a large frame only the beginning has come.
  await client.send(frame(FRAME.DATA, 0, 101, new Uint8Array(16_384)).subarray(0, 20));
  client.connection.close();
  await client.idle();
  const { head, bulk } = client.buffers;
  for (const pool of [head, bulk]) {
    const lent = Array.from({ length: 20 }, () => pool.take());
    assert.equal(new Set(lent).size, lent.length, "one buffer was given back twice");
  }
});
