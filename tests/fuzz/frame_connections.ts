/**
 * The connections of HTTP/2 themselves on bytes in memory. In: what a client or a backend sends, and
 * where it is cut. Out: what came of it; or an exception that says which invariant broke.
 */
import { BufferPool, type Buffers } from "../../proxy/io/buffer_pool.ts";
import { Deadlines } from "../../proxy/io/deadlines.ts";
import { type ErrorCode, ProxyError } from "../../proxy/errors.ts";
import { fieldsOf } from "../../proxy/http/fields.ts";
import { Http2ClientConnection } from "../../proxy/http2/client_connection.ts";
import type { ClientStream } from "../../proxy/http2/client_stream.ts";
import { Http2ServerConnection } from "../../proxy/http2/server_connection.ts";
import type { Http2ServerContext } from "../../proxy/http2/server_context.ts";
import { ServerStream } from "../../proxy/http2/server_stream.ts";
import { DEFAULT_LIMITS } from "../../proxy/http/limits.ts";
import { type Body, BytesBody } from "../../proxy/http/body.ts";
import {
  type Client,
  type Exchange,
  RequestHead,
  ResponseHead,
  UNKNOWN_LENGTH,
} from "../../proxy/http/message.ts";
import { FRAME } from "../support/h2_frames.ts";
import { checkWritten, type Written } from "./frame_check.ts";
import { type RawFrame, splitFrames } from "./frame_list.ts";
import { ASKED } from "./frame_scripts.ts";
import { checkAsHttp1 } from "./http1_reading.ts";
import { textOf } from "../support/latin1.ts";
import { nextTurn, QuietTransport } from "./quiet_transport.ts";
import type { Random } from "./random.ts";

const limits = DEFAULT_LIMITS;
/** A stream may send so much before it knows our SETTINGS, or after. */
const STREAM_WINDOW = Math.max(limits.http2StreamWindow, 65_535);

/** What our own bodies are made of, so that rubbish is seen. */
const ANSWER_BYTE = 0x6f;
const REQUEST_BYTE = 0x71;
const RUBBISH = 0x21;
const LARGE = new Uint8Array(100_000).fill(ANSWER_BYTE);

/** A pool whose free buffers hold rubbish, and that is told when it gets one twice. */
class StrictPool extends BufferPool {
  readonly #free = new Set<Uint8Array>();

  override take(): Uint8Array<ArrayBuffer> {
    const buffer = super.take();
    this.#free.delete(buffer);
    return buffer;
  }

  override give(buffer: Uint8Array<ArrayBuffer>): void {
    if (this.#free.has(buffer)) throw new Error("a buffer is given back twice");
    if (buffer.length !== this.size) return;
    buffer.fill(RUBBISH);
    if (this.#free.size === MAX_FREE) return;
    this.#free.add(buffer);
    super.give(buffer);
  }
}

const MAX_FREE = 16;
const buffers: Buffers = {
  idle: new StrictPool(1024, MAX_FREE),
  head: new StrictPool(4 * 1024, MAX_FREE),
  out: new StrictPool(16 * 1024, MAX_FREE),
  bulk: new StrictPool(64 * 1024, MAX_FREE),
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

/** What came of a stream of bytes. */
export interface Outcome {
  /** Of each exchange in turn, in a few words. */
  readonly events: readonly string[];
  readonly written: Written;
}

// ── As a client's ─────────────────────────────────────────────────────────────────────────────

/** Serves `stream` as a client's. `random` decides how the transport takes what is written. */
export async function serveFrames(
  stream: Uint8Array,
  cuts: readonly number[],
  random: Random | null,
): Promise<Outcome> {
  const transport = new QuietTransport(stream, cuts, random);
  const { frames } = splitFrames(stream);
  const served = new Served(frames);
  const internal: string[] = [];
  const context: Http2ServerContext = {
    h2c: true,
    limits,
    buffers,
    deadlines: new Deadlines(),
    handler: (exchange) => served.handle(exchange),
    localReply: answerOf,
    isDraining: () => false,
    onExchangeEnd: (exchange) => served.ended(exchange),
    onError: (error) => {
      if (error.code === "internal") internal.push(String(error.message));
    },
    onEnd: () => {},
  };
  const connection = new Http2ServerConnection(transport, CLIENT, context, null);
  served.drain = () => connection.drain();
  transport.onRead = () => served.checkWaiting();
  try {
    await connection.serve();
    await served.allEnded();
  } finally {
    connection.close();
  }
  if (served.failure !== null) throw served.failure;
  if (internal.length > 0) throw new Error(`internal: ${internal}`);
  const written = checkWritten("server", transport, stream, ANSWER_BYTE);
  checkAmount(transport.written.length, stream.length, served.events.length);
  checkGrants(written, frames, limits.http2ConnectionWindow);
  return { events: served.events, written };
}

/** The handler's side of a connection. */
class Served {
  readonly events: string[] = [];
  /** The first invariant that broke. */
  failure: unknown = null;
  /** Drains the connection. */
  drain = () => {};
  readonly #frames: readonly RawFrame[];
  readonly #ids = new Set<number>();
  readonly #open = new Set<ServerStream>();
  readonly #serving: Promise<void>[] = [];

  constructor(frames: readonly RawFrame[]) {
    this.#frames = frames;
  }

  handle(exchange: Exchange): Promise<void> {
    const serving = this.#serve(exchange as ServerStream).catch((error) => {
      this.failure ??= error;
    });
    this.#serving.push(serving);
    return serving;
  }

  ended(exchange: Exchange): void {
    this.#open.delete(exchange as ServerStream);
  }

  async allEnded(): Promise<void> {
    await Promise.all(this.#serving);
    if (this.#open.size > 0) this.failure ??= new Error("an exchange does not end");
  }

  /** No more waits in memory than the windows allow. */
  checkWaiting(): void {
    let all = 0;
    for (const { body } of this.#open) {
      all += body.waiting;
      if (body.waiting > STREAM_WINDOW) {
        this.failure ??= new Error(`${body.waiting} bytes of a body wait`);
      }
    }
    if (all > limits.http2ConnectionWindow) this.failure ??= new Error(`${all} bytes wait`);
  }

  async #serve(exchange: ServerStream): Promise<void> {
    const { id, request } = exchange;
    if (this.#ids.has(id)) throw new Error(`stream ${id} is handed over twice`);
    this.#ids.add(id);
    this.#open.add(exchange);
    const gone = new Promise<"gone">((resolve) =>
      exchange.cancellation.register(() => resolve("gone"))
    );
    const line = checkAsHttp1(request);
    const isTunnel = request.upgrade !== "";
    let outcome = "";
    try {
      if (isTunnel) outcome = await this.#tunnel(exchange, id);
      else outcome = await this.#answer(exchange, id, gone);
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      outcome = error.code;
      if (!exchange.isOver) await this.#answerError(exchange, error.code);
    }
    this.events.push(`${line} ${outcome}`);
  }

  /** Whatever is wrong with a body, its client is told. */
  async #answerError(exchange: ServerStream, code: ErrorCode): Promise<void> {
    const { head, body } = answerOf(code);
    try {
      await exchange.respond(head, body);
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
    }
  }

  async #answer(exchange: ServerStream, id: number, gone: Promise<"gone">): Promise<string> {
    const { path, expectsContinue } = exchange.request;
    if (path === "/never") return await gone;
    if (path === "/drain") this.drain();
    if (path === "/late") await nextTurn();
    if (path === "/early") {
      await exchange.respond(headOf(200, LARGE.length), new BytesBody(LARGE));
      return "answered early";
    }
    if (expectsContinue) await exchange.interim(headOf(100, 0));
    const body = exchange.payload === null
      ? await readAll(exchange.body)
      : textOf(exchange.payload);
    checkBody(body, this.#frames, id);
    if (path === "/large" || path === "/breaks") {
      const answer = new Trailing(LARGE, path === "/breaks");
      await exchange.respond(headOf(200, UNKNOWN_LENGTH), answer);
    } else await exchange.respond(headOf(200, 2), new BytesBody(LARGE.subarray(0, 2)));
    return `${body.length} bytes`;
  }

  async #tunnel(exchange: ServerStream, id: number): Promise<string> {
    const tunnel = await exchange.upgrade(headOf(101, 0));
    await tunnel.write(LARGE.subarray(0, 20_000));
    const body = await readAll(tunnel.body);
    checkBody(body, this.#frames, id);
    await tunnel.end();
    return `tunnel ${body.length} bytes`;
  }
}

function headOf(status: number, length: number): ResponseHead {
  const head = new ResponseHead();
  head.status = status;
  head.fields = fieldsOf([["Server", "fuzz"], ["Connection", "close"], ["X-A", "b"]]);
  head.bodyLength = length;
  head.contentLength = length > 0 ? length : -1;
  return head;
}

function answerOf(code: ErrorCode): { head: ResponseHead; body: Body } {
  const head = headOf(code === "internal" ? 500 : 400, 2);
  return { head, body: new BytesBody(LARGE.subarray(0, 2)) };
}

/** A body in pieces that come later, with trailers; or that breaks off in the middle. */
class Trailing implements Body {
  done = false;
  trailers = fieldsOf([["Grpc-Status", "0"], ["Transfer-Encoding", "x"]]);
  readonly #bytes: Uint8Array;
  #at = 0;

  readonly #breaks: boolean;

  constructor(bytes: Uint8Array, breaks: boolean) {
    this.#bytes = bytes;
    this.#breaks = breaks;
  }

  async read(): Promise<Uint8Array | null> {
    await Promise.resolve();
    if (this.#breaks && this.#at > this.#bytes.length / 2) {
      throw new ProxyError("upstream_closed", "in the middle");
    }
    if (this.#at === this.#bytes.length) {
      this.done = true;
      return null;
    }
    const view = this.#bytes.subarray(this.#at, this.#at += 17_000);
    this.#at = Math.min(this.#at, this.#bytes.length);
    return view;
  }
}

// ── As a backend's ────────────────────────────────────────────────────────────────────────────

/** What a backend is asked: a GET, one for the head alone, one with a body, a tunnel. */
const ASKS: readonly ((request: RequestHead) => Uint8Array | null)[] = [
  () => null,
  (request) => {
    request.method = "HEAD";
    return null;
  },
  (request) => {
    request.method = "POST";
    request.bodyLength = request.contentLength = 30_000;
    return new Uint8Array(30_000).fill(REQUEST_BYTE);
  },
  (request) => {
    request.upgrade = "websocket";
    return null;
  },
];

/** Asks `ASKED` requests of a backend that sends `stream`, whatever it is asked. */
export async function receiveFrames(
  stream: Uint8Array,
  cuts: readonly number[],
  random: Random | null,
): Promise<Outcome> {
  const transport = new QuietTransport(stream, cuts, random);
  const { frames } = splitFrames(stream);
  const connection = new Http2ClientConnection(transport, false, {
    limits,
    buffers,
    deadlines: new Deadlines(),
  });
  const streams: ClientStream[] = [];
  transport.onRead = () => checkWaiting(streams);
  let events: string[];
  try {
    const asking = Array.from({ length: ASKED }, (_, i) => {
      const stream = connection.open();
      streams.push(stream);
      return ask(stream, ASKS[i % ASKS.length], frames);
    });
    events = await Promise.all(asking);
  } finally {
    connection.close(new ProxyError("upstream_closed"));
  }
  const written = checkWritten("client", transport, stream, REQUEST_BYTE);
  checkAmount(transport.written.length, stream.length, ASKED);
  checkGrants(written, frames, limits.http2StreamWindow * limits.http2UpstreamStreams);
  return { events, written };
}

async function ask(
  stream: ClientStream,
  fill: (request: RequestHead) => Uint8Array | null,
  frames: readonly RawFrame[],
): Promise<string> {
  const fields = fieldsOf([
    ["Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="],
    ["Connection", "close"],
    ["X-A", "b"],
  ]);
  const request = new RequestHead(fields);
  request.method = "GET";
  request.path = "/";
  const payload = fill(request);
  const heads: string[] = [];
  try {
    const sent = payload === null ? NOTHING : new BytesBody(payload);
    stream.send(request, null, "a.test", null, sent, limits);
    for (;;) {
      const { status, fields, contentLength } = await stream.receive();
      const copy = fields.copy();
      heads.push(JSON.stringify([status, contentLength, copy.count]));
      if (status >= 200 || status === 101) break;
    }
    const body = await readAll(stream.body);
    checkBody(body, frames, stream.id);
    const outcome = `${heads} ${body.length} bytes, ${stream.body.trailers?.count ?? 0} trailers`;
    stream.release();
    return outcome;
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
    stream.abort(error);
    return `${heads} ${error.code}`;
  }
}

const NOTHING: Body = { read: () => null, done: true, trailers: null };

function checkWaiting(streams: readonly ClientStream[]): void {
  const excess = streams.find(({ body }) => body.waiting > STREAM_WINDOW);
  if (excess !== undefined) throw new Error(`${excess.body.waiting} bytes of a body wait`);
}

// ── What both hold to ─────────────────────────────────────────────────────────────────────────

async function readAll(body: Body): Promise<string> {
  let text = "";
  for (;;) {
    const view = await body.read();
    if (view === null) return text;
    text += textOf(view);
  }
}

/** Throws unless `body` is what DATA of stream `id` begins with. */
function checkBody(body: string, frames: readonly RawFrame[], id: number): void {
  let sent = "";
  for (const frame of frames) {
    if (frame.type === FRAME.DATA && (frame.id & 0x7fffffff) === id) sent += textOf(dataOf(frame));
    if (sent.length >= body.length) break;
  }
  if (!sent.startsWith(body)) throw new Error(`a body of ${body.length} bytes that nobody sent`);
}

function dataOf({ flags, payload }: RawFrame): Uint8Array {
  if ((flags & 0x8) === 0) return payload;
  return payload.subarray(1, Math.max(1, payload.length - payload[0]));
}

/** Throws where we have said more than messages need, and an answer to each frame. */
function checkAmount(ours: number, peers: number, messages: number): void {
  const most = 1024 + 2 * peers + messages * (LARGE.length + 2048);
  if (ours > most) throw new Error(`${ours} bytes for ${peers} and ${messages} messages`);
}

/** Throws where the peer was granted more than it has sent, besides the window at the beginning. */
function checkGrants(
  { granted }: Written,
  frames: readonly RawFrame[],
  connectionWindow: number,
): void {
  const sent = new Map<number, number>([[0, connectionWindow - 65_535]]);
  for (const { type, id, length } of frames) {
    if (type !== FRAME.DATA) continue;
    for (const key of [0, id & 0x7fffffff]) sent.set(key, (sent.get(key) ?? 0) + length);
  }
  for (const [id, bytes] of granted) {
    if (bytes > (sent.get(id) ?? 0)) throw new Error(`stream ${id} was granted ${bytes} bytes`);
  }
}
