/** How a connection ends: after its last response, after a timeout, and while it is idle. */
import assert from "node:assert/strict";
import { until } from "../../tests/support/backend.ts";
import { bytesOf } from "../../tests/support/latin1.ts";
import { MemoryTransport } from "../../tests/support/memory_transport.ts";
import { localReply } from "../forward/local_reply.ts";
import { DEFAULT_LIMITS } from "../http/limits.ts";
import { LATER, NO_BODY } from "../http/body.ts";
import { type Exchange, type ExchangeHandler, ResponseHead } from "../http/message.ts";
import { createBuffers } from "../io/buffer_pool.ts";
import { Deadlines } from "../io/deadlines.ts";
import { Http1ServerConnection } from "./server_connection.ts";

const LAST = "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n";

/** Responds at once, without a body. */
const respond: ExchangeHandler = (exchange) => {
  const head = new ResponseHead();
  head.status = 204;
  head.bodyLength = head.contentLength = 0;
  return exchange.respond(head, NO_BODY);
};

function serve(handler = respond) {
  const transport = new MemoryTransport();
  const errors: string[] = [];
  const ended: Exchange["record"]["error"][] = [];
  const client = {
    ...{ address: "192.0.2.1", port: 1, localPort: 80, listener: "http" },
    ...{ secure: false, certificate: null, trusted: false, isExempt: false },
  };
  const connection = new Http1ServerConnection(transport, client, {
    ...{ limits: DEFAULT_LIMITS, buffers: createBuffers(), deadlines: new Deadlines() },
    ...{ h2c: false, localReply, isDraining: () => false, handler },
    onError: ({ code }) => void errors.push(code),
    onExchangeEnd: ({ record }) => void ended.push(record.error),
  });
  let hasLeft = false;
  const serving = connection.serve().then(() => hasLeft = true);
  return { transport, connection, serving, errors, ended, hasLeft: () => hasLeft };
}

/** A connection on which the last request has been served, and FIN sent. */
async function served() {
  const scene = serve();
  const { transport } = scene;
  transport.arrive(bytesOf(LAST));
  await until("FIN has been sent", () => transport.hasEnded);
  const [response] = transport.writes;
  assert.match(new TextDecoder().decode(response), /^HTTP\/1\.1 204 [^]*Connection: close\r\n/);
  return scene;
}

Deno.test("a connection whose last response has been sent closes when its client does", async () => {
  const { transport, serving, errors, hasLeft } = await served();
  assert.ok(!transport.isClosed && !hasLeft());
  transport.end();
  await serving;
  assert.ok(transport.isClosed);
  assert.deepEqual(errors, []);
});

Deno.test("bytes behind the last request are read, so that the response is not reset", async () => {
  const { transport, serving } = await served();
  transport.arrive(bytesOf(LAST));
  transport.arrive(new Uint8Array(100_000));
  transport.end();
  await serving;
  assert.equal(transport.writes.length, 1);
  assert.ok(transport.isClosed);
});

Deno.test("a client that has got its last response and does not close is not waited for", async () => {
  const { transport, serving, errors } = await served();
  await serving;
  assert.ok(transport.isClosed);
  assert.deepEqual(errors, []);
});

Deno.test("a connection whose last response has been sent is idle, and can be shed", async () => {
  const { transport, connection, serving } = await served();
  assert.ok(!connection.isBusy);
  assert.ok(connection.idleSince <= performance.now());
  connection.close();
  await serving;
  assert.ok(transport.isClosed);
});

Deno.test("a request that arrives just after the idle timeout gets a response, and its connection stays open", async () => {
  const { transport, connection, serving } = serve();
  const request = bytesOf("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
  transport.arrive(request);
  await until("a response", () => transport.writes.length === 1);
  connection.check(performance.now() + 3_600_000);
  transport.arrive(request);
  await until("a second response", () => transport.writes.length === 2);
  // Longer than a close is put off.
  await new Promise((resume) => setTimeout(resume, 50));
  assert.equal(transport.isClosed, false);
  connection.close();
  await serving;
});

Deno.test("a client that sends more of its head after a 408 can read that", async () => {
  const { transport, connection, serving } = serve();
  transport.arrive(bytesOf("GET / HTTP/1.1\r\nHost: a.te"));
  await until("the head has begun", () => connection.isBusy);
  connection.check(performance.now() + 3_600_000);
  await until("the reply has been sent", () => transport.hasEnded);
  assert.match(new TextDecoder().decode(transport.writes[0]), /^HTTP\/1\.1 408 /);
  for (let i = 0; i < 3; i++) {
    transport.arrive(bytesOf("x"));
    await new Promise((resume) => setTimeout(resume, 10));
    assert.equal(transport.isClosed, false);
  }
  transport.end();
  await serving;
  assert.ok(transport.isClosed);
});

const MISTAKES: Readonly<Record<string, ExchangeHandler>> = {
  "throws": () => {
    throw new Error("a mistake");
  },
  "rejects": () => Promise.reject(new Error("a mistake")),
  "throws later": ({ waiter }) => {
    setTimeout(() => waiter!.broke(new Error("a mistake")), 0);
    return LATER;
  },
  "throws, and stops when the connection ends": ({ cancellation, waiter }) => {
    cancellation.register(() => waiter!.served());
    throw new Error("a mistake");
  },
};

Deno.test("a request whose handler fails is reported once, as any that has ended", async (t) => {
  for (const [how, handler] of Object.entries(MISTAKES)) {
    await t.step(how, async () => {
      const { transport, serving, ended, errors } = serve(handler);
      transport.arrive(bytesOf(LAST));
      await serving;
      assert.ok(transport.isClosed);
      assert.deepEqual([errors, ended], [["internal"], ["internal"]]);
    });
  }
});
