/** A connection to a backend that responds before it has read the whole request. */
import assert from "node:assert/strict";
import { bytesOf, textOf } from "../../tests/support/latin1.ts";
import { MemoryTransport } from "../../tests/support/memory_transport.ts";
import { ProxyError } from "../errors.ts";
import { type Body, BytesBody, NO_BODY } from "../http/body.ts";
import { DEFAULT_LIMITS } from "../http/limits.ts";
import { RequestHead, UNKNOWN_LENGTH } from "../http/message.ts";
import { createBuffers } from "../io/buffer_pool.ts";
import { Deadlines } from "../io/deadlines.ts";
import { Http1ClientConnection } from "./client_connection.ts";

const LIMITS = { ...DEFAULT_LIMITS, responseHeadTimeout: 1_000, writeTimeout: 60_000 };
const RESPONSE = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
/** More than one write of the connection's own buffer. */
const LONG = new Uint8Array(200_000).fill(65);

/** A POST under way on a connection of its own. */
function post(payload: Uint8Array | null, body: Body, bodyLength: number) {
  const transport = new MemoryTransport();
  const deadlines = new Deadlines();
  const connection = new Http1ClientConnection(transport, {
    ...{ limits: LIMITS, buffers: createBuffers(), deadlines },
  });
  const request = Object.assign(new RequestHead(), { method: "POST", path: "/", bodyLength });
  const held = transport.held = Promise.withResolvers<void>();
  connection.send(request, null, "a.test", payload, body, LIMITS);
  return { transport, connection, held, deadlines };
}

/** Lets promises and what follows from them settle. */
function turn(): Promise<void> {
  return new Promise((resume) => setTimeout(resume));
}

for (const isWritten of [false, true]) {
  Deno.test(`a connection whose request is ${isWritten ? "" : "not "}written is ${isWritten ? "" : "not "}used again`, async () => {
    const { transport, connection, held } = post(LONG, NO_BODY, LONG.length);
    if (isWritten) held.resolve();
    await turn();
    transport.arrive(bytesOf(RESPONSE));
    assert.equal((await connection.receive()).status, 200);
    assert.equal(await connection.body.read(), null);
    assert.equal(connection.finish(), isWritten);
    assert.equal(transport.isClosed, !isWritten);
    held.resolve();
    connection.close();
  });
}

Deno.test("a write that ends after an early response takes nothing more from the request's body", async () => {
  let reads = 0;
  const body = {
    done: false,
    trailers: null,
    read() {
      this.done = true;
      return ++reads === 1 ? LONG : null;
    },
  };
  const { transport, connection, held } = post(null, body, LONG.length);
  transport.arrive(bytesOf(RESPONSE));
  await connection.receive();
  assert.equal(await connection.body.read(), null);
  assert.equal(connection.finish(), false);
  held.resolve();
  await turn();
  assert.equal(reads, 1);
});

Deno.test("a response without a length is not complete if a write has been reset", async () => {
  const { transport, connection, held } = post(LONG, NO_BODY, LONG.length);
  transport.arrive(bytesOf("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc"));
  await connection.receive();
  assert.equal(textOf((await connection.body.read())!), "abc");
  held.reject(new Deno.errors.ConnectionReset("reset"));
  await turn();
  const end = connection.body.read();
  transport.end();
  await assert.rejects(
    async () => await end,
    (error) => error instanceof ProxyError && error.code === "upstream_closed",
  );
});

Deno.test("an empty chunked body that is at hand has one last chunk", async () => {
  const { transport, connection, held } = post(new Uint8Array(0), NO_BODY, UNKNOWN_LENGTH);
  held.resolve();
  await turn();
  const text = transport.writes.map((write) => textOf(write)).join("");
  assert.match(text, /\r\n\r\n0\r\n\r\n$/);
  assert.doesNotMatch(text, /0\r\n\r\n0\r\n\r\n$/);
  connection.close();
});

Deno.test("the time for a response runs from the last byte of a long request", async () => {
  const { transport, connection, held, deadlines } = post(LONG, new BytesBody(LONG), LONG.length);
  const late = () => connection.check(deadlines.now + 5 * LIMITS.responseHeadTimeout);
  connection.receive().catch(() => {});
  late();
  assert.equal(connection.isClosed, false);
  held.resolve();
  await turn();
  late();
  assert.equal(connection.failure?.code, "upstream_timeout");
  assert.ok(transport.isClosed);
});
