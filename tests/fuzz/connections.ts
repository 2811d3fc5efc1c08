/**
 * The connections themselves on bytes in memory. In: what a client or a backend sends, and where it
 * is cut. Out: what became of it, in a form that must not depend on the cuts.
 */
import { BufferPool, type Buffers } from "../../proxy/io/buffer_pool.ts";
import { Deadlines } from "../../proxy/io/deadlines.ts";
import { type ErrorCode, ProxyError } from "../../proxy/errors.ts";
import { fieldsOf } from "../../proxy/http/fields.ts";
import { Http1ClientConnection } from "../../proxy/http1/client_connection.ts";
import type { ServerConnectionContext } from "../../proxy/http/downstream.ts";
import { Http1ServerConnection } from "../../proxy/http1/server_connection.ts";
import { DEFAULT_LIMITS } from "../../proxy/http/limits.ts";
import { BytesBody, NO_BODY } from "../../proxy/http/body.ts";
import { type Client, type Exchange, RequestHead, ResponseHead } from "../../proxy/http/message.ts";
import { textOf } from "../support/latin1.ts";
import { MemoryTransport } from "./memory_transport.ts";

const limits = DEFAULT_LIMITS;
const buffers: Buffers = {
  idle: poisoned(1),
  head: poisoned(4),
  out: poisoned(16),
  bulk: poisoned(64),
};
const CLIENT: Client = {
  address: "192.0.2.1",
  port: 1,
  secure: false,
  certificate: null,
  localPort: 80,
  listener: "http",
  trusted: false,
  isExempt: false,
};

/** A pool whose free buffers hold rubbish: whoever reads one on is seen at once. */
function poisoned(kibibytes: number): BufferPool {
  return new class extends BufferPool {
    override give(buffer: Uint8Array<ArrayBuffer>): void {
      buffer.fill(0x21);
      super.give(buffer);
    }
  }(kibibytes * 1024, 64);
}

/** A request that `Http1ServerConnection` handed over, in one line. */
export type Event = string;

/** Serves `stream` as a client's, every request answered 200; what happened, in order. */
export async function serve(stream: Uint8Array, cuts: readonly number[]): Promise<Event[]> {
  const events: Event[] = [];
  const transport = new MemoryTransport(stream, cuts);
  const context: ServerConnectionContext = {
    h2c: false,
    limits,
    buffers,
    deadlines: new Deadlines(),
    handler: (exchange) => answer(exchange, events),
    localReply: (code) => {
      events.push(`answer ${code}`);
      return answerOf(code);
    },
    isDraining: () => false,
    onExchangeEnd: () => {},
    onError: (error) => {
      if (error.code === "internal") events.push(`internal: ${error.message}`);
    },
  };
  await new Http1ServerConnection(transport, CLIENT, context).serve();
  return events;
}

async function answer(exchange: Exchange, events: Event[]): Promise<void> {
  let body = exchange.payload === null ? "" : textOf(exchange.payload);
  let code: ErrorCode | null = null;
  try {
    for (;;) {
      const view = await exchange.body.read();
      if (view === null) break;
      body += textOf(view);
    }
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
    code = error.code;
  }
  // Read last: the head must hold to the end of its exchange.
  const { method, path, query, fields } = exchange.request;
  const names = Array.from(
    { length: fields.count },
    (_, i) => `${fields.name(i)}=${fields.value(i)}`,
  );
  const line = JSON.stringify([method, path, query, ...names]);
  events.push(code === null ? `${line} ${JSON.stringify(body)}` : `${line} breaks off: ${code}`);
  const { head, body: answered } = answerOf(code);
  try {
    await exchange.respond(head, answered);
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
  }
}

function answerOf(code: ErrorCode | null): { head: ResponseHead; body: BytesBody } {
  const head = new ResponseHead();
  head.status = code === null ? 200 : 400;
  head.fields = fieldsOf([]);
  head.bodyLength = head.contentLength = 2;
  return { head, body: new BytesBody(Uint8Array.of(0x6f, 0x6b)) };
}

/** Reads `stream` as a backend's answer to `method`; what came of it, in one line. */
export async function receive(
  stream: Uint8Array,
  method: string,
  cuts: readonly number[],
): Promise<string> {
  const request = new RequestHead();
  request.method = method;
  request.path = "/";
  const connection = new Http1ClientConnection(new MemoryTransport(stream, cuts), {
    limits,
    buffers,
    deadlines: new Deadlines(),
  });
  const heads: string[] = [];
  try {
    connection.send(request, null, "a", null, NO_BODY, limits);
    for (let head = await connection.receive();; head = await connection.receive()) {
      const { status, reason, fields, contentLength } = head;
      const copy = fields.copy();
      const names = Array.from(
        { length: copy.count },
        (_, i) => `${copy.name(i)}=${copy.value(i)}`,
      );
      heads.push(JSON.stringify([status, reason, contentLength, ...names]));
      if (status >= 200) break;
    }
    let body = "";
    for (;;) {
      const view = await connection.body.read();
      if (view === null) break;
      body += textOf(view);
    }
    const { trailers } = connection.body;
    const count = trailers?.count ?? 0;
    const names = Array.from(
      { length: count },
      (_, i) => `${trailers!.name(i)}=${trailers!.value(i)}`,
    );
    connection.finish();
    return `${heads.join(" ")} ${JSON.stringify(body)} ${JSON.stringify(names)}`;
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
    return `${heads.join(" ")} ${error.code}`;
  } finally {
    connection.close();
  }
}
