/** Clients that send much at once: it is served in their order, and others have their turn between. */
import assert from "node:assert/strict";
import { until } from "../../tests/support/backend.ts";
import {
  get,
  headers,
  indexed,
  join,
  literals,
  remembered,
} from "../../tests/support/h2_frames.ts";
import { bytesOf } from "../../tests/support/latin1.ts";
import { MemoryClient } from "../../tests/support/h2_memory_client.ts";
import { MemoryTransport } from "../../tests/support/memory_transport.ts";
import { createBuffers } from "./buffer_pool.ts";
import { Deadlines } from "./deadlines.ts";
import { Http1ServerConnection } from "../http1/server_connection.ts";
import { DEFAULT_LIMITS } from "../http/limits.ts";
import { NO_BODY } from "../http/body.ts";
import { type Exchange, type ExchangeHandler, ResponseHead } from "../http/message.ts";
import { localReply } from "../forward/local_reply.ts";

const COUNT = 100;
const PATHS = Array.from({ length: COUNT }, (_, i) => `/${i}`);
const STREAMS = PATHS.map((_, i) => 1 + 2 * i);

/** What a handler has seen, and how much of that when the event loop first turned. */
class Seen {
  readonly paths: string[] = [];
  readonly turned = Promise.withResolvers<number>();
  readonly handler: ExchangeHandler;

  constructor(work: (exchange: Exchange) => void = () => {}) {
    this.handler = (exchange) => {
      if (this.paths.length === 0) {
        setTimeout(() => this.turned.resolve(this.paths.length), 0);
      }
      this.paths.push(exchange.request.path);
      work(exchange);
      const head = new ResponseHead();
      head.status = 204;
      head.bodyLength = head.contentLength = 0;
      return exchange.respond(head, NO_BODY);
    };
  }
}

function spin(): void {
  const end = performance.now() + 0.25;
  while (performance.now() < end);
}

const CHEAP = STREAMS.map((id, i) => headers(id, get(PATHS[i]), { end: true }));

Deno.test("HTTP/2: more than 1 MiB of decoded heads takes several turns", async () => {
  const seen = new Seen();
  using client = new MemoryClient(seen.handler);
  await client.greet();
  // 28 KiB in seven bytes.
  const dear = join(...Array.from({ length: 7 }, () => indexed(62)));
  const field = ["x-dear", "v".repeat(4096 - 32 - "x-dear".length)] as const;
  const heads = STREAMS.map((id, i) =>
    headers(id, join(literals(get(PATHS[i])), i === 0 ? remembered(field) : dear), { end: true })
  );
  await client.send(...heads);
  const first = await seen.turned.promise;
  assert.ok(first <= 40, String(first));
  await until("all are served", () => client.ended.length === COUNT);
  assert.deepEqual(seen.paths, PATHS);
  assert.ok(client.ended.every(({ status }) => status === 204));
});

Deno.test("HTTP/2: expensive requests take several turns", async () => {
  const seen = new Seen(spin);
  using client = new MemoryClient(seen.handler);
  await client.greet();
  await client.send(...CHEAP);
  const first = await seen.turned.promise;
  assert.ok(first <= 32, String(first));
  await until("all are served", () => client.ended.length === COUNT);
  assert.deepEqual(seen.paths, PATHS);
  assert.ok(client.ended.every(({ status }) => status === 204));
});

Deno.test("HTTP/2: requests waiting for a turn when their connection closes are counted as abandoned", async () => {
  const seen = new Seen(spin);
  using client = new MemoryClient(seen.handler);
  await client.greet();
  const sent = client.send(...CHEAP);
  const first = await seen.turned.promise;
  assert.equal(client.connection.idleSince, Infinity);
  client.connection.close();
  await sent;
  const gone = client.ended.filter(({ error }) => error === "client_gone");
  assert.ok(gone.length > 0);
  assert.equal(client.ended.length, first + gone.length);
});

/** A connection of HTTP/1.1 on which all of `COUNT` requests arrive at once. */
function pipelined(handler: ExchangeHandler) {
  const transport = new MemoryTransport();
  let ended = 0;
  const client = {
    address: "192.0.2.1",
    port: 1,
    secure: false,
    certificate: null,
    localPort: 80,
    listener: "http",
    trusted: false,
    isExempt: false,
  };
  const connection = new Http1ServerConnection(transport, client, {
    limits: DEFAULT_LIMITS,
    buffers: createBuffers(),
    deadlines: new Deadlines(),
    h2c: false,
    handler,
    localReply,
    isDraining: () => false,
    onExchangeEnd: () => void ended++,
    onError: () => {},
  });
  const serving = connection.serve();
  transport.arrive(
    bytesOf(PATHS.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join("")),
  );
  return { connection, serving, ended: () => ended };
}

Deno.test("HTTP/1.1: pipelined requests take several turns", async () => {
  const seen = new Seen();
  const { connection, serving, ended } = pipelined(seen.handler);
  const first = await seen.turned.promise;
  assert.ok(first <= 16, String(first));
  assert.equal(connection.idleSince, Infinity);
  await until("all are served", () => ended() === COUNT);
  assert.deepEqual(seen.paths, PATHS);
  connection.close();
  await serving;
});

Deno.test("HTTP/1.1: pipelined requests served by backends are not delayed", async () => {
  const seen = new Seen(({ record }) => {
    record.endpoint = { address: "192.0.2.2", port: 80 };
  });
  const { connection, serving } = pipelined(seen.handler);
  assert.equal(await seen.turned.promise, COUNT);
  connection.close();
  await serving;
});

Deno.test("HTTP/1.1: a connection that closes while its requests wait for a turn ends at once", async () => {
  const seen = new Seen();
  const { connection, serving, ended } = pipelined(seen.handler);
  const first = await seen.turned.promise;
  connection.close();
  await serving;
  assert.equal(ended(), first);
  assert.deepEqual(seen.paths, PATHS.slice(0, first));
});
