/**
 * One HTTP/1 connection from a client. In: its transport. Out: one exchange after another for the
 * handler (`forward.ts`), answers in order, and a connection closed when anything is in doubt.
 *
 *     idle ──first byte──▶ head ──whole──▶ exchange ──answered──▶ idle | closed
 *       └─ idle timeout     └─ head timeout, total   └─ body, write timeouts by progress
 *
 * A connection serves one request at a time: pipelined ones wait in the input, so that answers are
 * in order and a client that does not read its answers is not served more of them.
 */
import type { Buffers } from "../buffer_pool.ts";
import { type Deadlined, type Deadlines, NO_DEADLINE } from "../deadlines.ts";
import { asProxyError, type ErrorCode, ProxyError } from "../errors.ts";
import { type Fields, X_REQUEST_ID } from "../fields.ts";
import type { Limits } from "../limits.ts";
import {
  type Body,
  type Client,
  type Duplex,
  type Exchange,
  type ExchangeHandler,
  ExchangeRecord,
  RequestHead,
  type ResponseHead,
  UNKNOWN_LENGTH,
} from "../message.ts";
import { Pace } from "../pace.ts";
import { closeQuietly, type Transport } from "../transport.ts";
import { InputBody } from "./body.ts";
import { writeBody } from "./body_writer.ts";
import { HalfClosedClient, PROBE } from "./half_closed.ts";
import { HeadParser } from "./head_parser.ts";
import { Input } from "./input.ts";
import { Output } from "./output.ts";
import {
  headError,
  readRequestFields,
  readRequestLine,
  type RequestConnection,
} from "./request_head.ts";
import {
  interimBytes,
  responseFraming,
  responseHeadSize,
  switchingBytes,
  writeResponseHead,
} from "./response_writer.ts";

/** What all connections of a listener share. */
export interface ServerConnectionContext {
  readonly limits: Limits;
  readonly buffers: Buffers;
  readonly deadlines: Deadlines;
  readonly handler: ExchangeHandler;
  /** Our own answer to an error; `request` is null where no head could be read. */
  readonly answer: (
    code: ErrorCode,
    exchange: Exchange | null,
  ) => { head: ResponseHead; body: Body };
  /** True once connections are to close after the exchange under way. */
  readonly isDraining: () => boolean;
  /** Told of each exchange when it has ended, and of each request that was refused. Must not throw. */
  readonly onExchangeEnd: (exchange: Exchange) => void;
  /** Told of what ends a connection before or outside an exchange, for the log. */
  readonly onError: (error: ProxyError, client: Client) => void;
}

/** A draining connection that is idle gets this long (ms) for a request that is on its way. */
const DRAIN_GRACE = 500;
/** After an answer that closes, unread bytes are taken for this long (ms), so that no RST eats it. */
const LINGER = 2_000;

const IDLE = 0;
const HEAD = 1;
const EXCHANGE = 2;
const TUNNEL = 3;
const LINGERING = 4;
const CLOSED = 5;

export class ServerConnection implements Exchange, Deadlined {
  readonly request = new RequestHead();
  readonly record = new ExchangeRecord();
  readonly client: Client;
  payload: Uint8Array | null = null;
  added: Fields | null = null;
  addedAuthority = "";
  onAbort: ((error: ProxyError) => void) | null = null;
  responded = false;
  readonly #transport: Transport;
  readonly #context: ServerConnectionContext;
  readonly #input: Input;
  readonly #output: Output;
  readonly #halfClosed = new HalfClosedClient();
  readonly #parser: HeadParser;
  readonly #body: InputBody;
  readonly #bodyPace: Pace;
  readonly #connection: RequestConnection = { keepAlive: false };
  #phase = HEAD;
  #requests = 0;
  #deadline = NO_DEADLINE;
  /** The buffer that holds the head under way, while `input` watches with another. */
  #headBuffer: Uint8Array<ArrayBuffer> | null = null;
  /** The client waits for 100 (Continue), and no byte of its body has come. */
  #awaitsContinue = false;
  /** An exchange may hold views of the buffers: they are not to be lent to another connection. */
  #lent = false;
  #closeAfter = false;
  #failure: ProxyError | null = null;
  /** An answer to a deadline is under way, and then the connection ends. */
  #expired = false;

  constructor(transport: Transport, client: Client, context: ServerConnectionContext) {
    const { limits, buffers } = context;
    this.#transport = transport;
    this.#context = context;
    this.client = client;
    this.#input = new Input(transport, buffers.head);
    this.#output = new Output(
      transport,
      context.deadlines,
      limits.writeTimeout,
      limits.writeRate,
      () => {
        this.#fail(new ProxyError("client_gone"));
        return this.#failure!;
      },
    );
    this.#parser = new HeadParser(
      this.request.fields,
      limits.requestHeadBytes,
      limits.requestFields,
    );
    this.#body = new InputBody(this.#input, buffers.bulk, {
      malformed: "bad_chunk",
      cut: "client_gone",
      tooLarge: "body_too_large",
      trailersTooLarge: "head_too_large",
      maxBytes: limits.bodyBytes,
      maxTrailerBytes: limits.requestHeadBytes,
      maxTrailerFields: limits.requestFields,
    });
    this.#bodyPace = new Pace(limits.bodyRate, limits.bodyTimeout);
    this.#body.onWait = (waiting) => {
      // An upload that outlives its exchange must not touch the deadline of what follows.
      if (this.#phase !== EXCHANGE || this.#expired) return;
      if (!waiting) this.#awaitsContinue = false;
      // It is the backend that lets a client wait for 100, and the backend's deadline that runs.
      this.#deadline = waiting && !this.#awaitsContinue
        ? context.deadlines.in(limits.bodyTimeout)
        : NO_DEADLINE;
    };
    this.#body.onEnd = () => this.#watchClient();
    this.#input.onWatched = () => this.#clientMoved();
  }

  get body(): Body {
    return this.#body;
  }

  get isOver(): boolean {
    return this.#phase !== EXCHANGE || this.responded;
  }

  /** An exchange is under way; else the connection may be closed without loss. */
  get isBusy(): boolean {
    return this.#phase !== IDLE && this.#phase !== HEAD || this.#output.pending !== null ||
      this.#parser.hasBegun;
  }

  /** Since when nothing has been under way, in ms, monotonic; Infinity while something is. */
  get idleSince(): number {
    if (this.isBusy) return Infinity;
    const { limits, deadlines } = this.#context;
    const timeout = this.#requests === 0 ? limits.requestHeadTimeout : limits.clientIdleTimeout;
    return deadlines.since(this.#deadline, timeout);
  }

  /** Serves the connection to its end. Never rejects. */
  async serve(): Promise<void> {
    this.#context.deadlines.add(this);
    try {
      while (await this.#receive()) {
        await this.#context.handler(this);
        this.#end();
        if (!await this.#settle()) break;
      }
    } catch (error) {
      this.#fail(asProxyError(error, "internal"));
    } finally {
      this.close();
    }
  }

  /** Closes at once, whatever is under way. */
  close(): void {
    if (this.#phase === CLOSED) return;
    this.#phase = CLOSED;
    this.#context.deadlines.delete(this);
    closeQuietly(this.#transport);
    this.#abort(this.#failure ?? new ProxyError("client_gone"));
    // Cut off in an exchange, its buffers are left to the garbage collector.
    if (this.#lent) return;
    this.#body.release();
    this.#input.release();
    this.#returnHeadBuffer();
  }

  /** Ends what is overdue. */
  check(now: number): void {
    if (this.#output.isOverdue(now)) return this.#fail(new ProxyError("client_stalled"));
    if (this.#phase === EXCHANGE && this.#input.ended) this.#checkHalfClosed(now);
    if (now < this.#deadline && !this.#trickles()) return;
    // The last answer is still being taken: its own deadline runs.
    if (this.#phase === IDLE && this.#output.writing) return;
    this.#deadline = NO_DEADLINE;
    switch (this.#phase) {
      case HEAD:
        if (this.#parser.hasBegun) this.#expire("head_timeout");
        else this.close();
        break;
      case EXCHANGE:
        this.#expire("body_timeout");
        break;
      default:
        this.close();
    }
  }

  /** A request's body comes, but hardly any of it. */
  #trickles(): boolean {
    return this.#phase === EXCHANGE && this.#deadline !== NO_DEADLINE && !this.#expired &&
      this.#bodyPace.isTooSlow(this.#body.received);
  }

  /**
   * Makes the exchange under way the last. Without one the connection closes a moment later: a
   * request that is on its way already is still answered.
   */
  drain(): void {
    this.#closeAfter = true;
    if (this.#phase === IDLE || (this.#phase === HEAD && !this.#parser.hasBegun)) {
      this.#deadline = Math.min(this.#deadline, this.#context.deadlines.in(DRAIN_GRACE));
    }
  }

  // ── Requests ────────────────────────────────────────────────────────────────────────────────

  /** Waits for the next head. False when the connection is to end, answered where that is due. */
  async #receive(): Promise<boolean> {
    const input = this.#input;
    const parser = this.#parser;
    const { limits, deadlines } = this.#context;
    const { record } = this;
    this.#body.release();
    record.begin();
    this.#phase = this.#requests === 0 ? HEAD : IDLE;
    this.#deadline = deadlines.in(
      this.#requests === 0 ? limits.requestHeadTimeout : limits.clientIdleTimeout,
    );
    parser.begin(input.bytes, input.start, true);
    for (;;) {
      const result = input.isEmpty ? "pending" : parser.parse(input.end);
      if (result === "pending") {
        if (input.isOver) return false;
        if (this.#phase === IDLE && parser.hasBegun) this.#beginHead();
        if (record.startedAt === 0 && parser.hasBegun) this.#beginRecord();
        const room = input.makeRoom(limits.requestHeadBytes);
        if (room !== "room" || (!parser.hasBegun && input.isEmpty)) {
          parser.begin(input.bytes, input.start, true);
        }
        await input.fill();
        if (this.#expired) return false;
        continue;
      }
      if (record.startedAt === 0) this.#beginRecord();
      if (this.#phase === IDLE) this.#beginHead();
      if (result === "complete") break;
      const code = result === "start_line"
        ? readRequestLine(input.bytes, parser.startLineStart, parser.startLineEnd, this.request)
        : headError(result, parser, input.bytes);
      if (code !== null) return this.#refuse(code);
      record.method = this.request.method;
      record.version = this.request.version;
    }
    record.bytesIn = parser.end - parser.startLineStart;
    input.start = parser.end;
    const code = readRequestFields(this.request, this.#connection);
    if (code !== null) return this.#refuse(code, this);
    record.hasHead = true;
    const { bodyLength } = this.request;
    if (limits.bodyBytes !== 0 && bodyLength > limits.bodyBytes) {
      return this.#refuse("body_too_large", this);
    }
    this.#beginExchange(bodyLength);
    return true;
  }

  #beginRecord(): void {
    this.record.startedAt = performance.now();
    this.record.bytesOut = -this.#output.sent;
  }

  #beginHead(): void {
    this.#phase = HEAD;
    this.#deadline = this.#context.deadlines.in(this.#context.limits.requestHeadTimeout);
  }

  #beginExchange(bodyLength: number): void {
    this.#phase = EXCHANGE;
    this.#deadline = NO_DEADLINE;
    this.#requests++;
    this.#lent = true;
    this.responded = false;
    this.onAbort = null;
    this.#halfClosed.begin();
    this.#body.begin(bodyLength, false);
    this.#bodyPace.begin(0);
    this.#awaitsContinue = this.request.expectsContinue && this.#input.isEmpty;
    this.payload = this.#body.isBuffered ? this.#body.read() as Uint8Array | null : null;
    if (this.#body.done) this.#watchClient();
  }

  /**
   * Reads ahead once the request is complete, which notices a client that goes away. The head's
   * buffer is set aside, so its ranges hold; with pipelined bytes in it there is nothing to watch
   * for: the client was there a moment ago, and the answer's write will tell.
   */
  #watchClient(): void {
    const input = this.#input;
    if (this.#phase !== EXCHANGE || !input.isEmpty || input.isReading || input.isOver) return;
    if (this.#headBuffer === null) {
      this.#headBuffer = input.exchangeBuffer(this.#context.buffers.head.take());
    }
    input.watch();
  }

  /** A watched read has settled: the next request's first bytes, FIN or a reset. */
  #clientMoved(): void {
    if (this.#phase !== EXCHANGE || !this.#input.isOver) return;
    if (this.#input.failed !== null) this.#fail(new ProxyError("client_gone"));
    else {
      const { now } = this.#context.deadlines;
      this.#halfClosed.ended(now);
      this.#checkHalfClosed(now);
    }
  }

  #checkHalfClosed(now: number): void {
    // A write under way tells by itself.
    if (this.#output.writing) return;
    // HTTP/1.0 knows no interim responses to probe with: it is left to its answer.
    if (!this.responded && this.request.version === 10) return;
    const verdict = this.#halfClosed.check(now, this.responded);
    if (verdict === "probe") this.#output.writeLater(PROBE);
    else if (verdict === "touch") this.#output.touch();
    else if (verdict === "gone") this.#fail(new ProxyError("client_gone"));
  }

  // ── Answers ─────────────────────────────────────────────────────────────────────────────────

  interim(head: ResponseHead): Promise<void> | void {
    // RFC 9110 §15.2: HTTP/1.0 knows no interim responses.
    if (this.request.version === 10 || this.responded) return;
    if (head.status === 100 && this.#awaitsContinue) {
      this.#awaitsContinue = false;
      this.#deadline = this.#context.deadlines.in(this.#context.limits.bodyTimeout);
    }
    // Written down now: the head is the backend's connection's, which may end meanwhile.
    const bytes = interimBytes(head);
    return this.#output.after(() => this.#write(bytes));
  }

  async upgrade(head: ResponseHead): Promise<Duplex> {
    this.responded = true;
    this.record.status = 101;
    this.#closeAfter = true;
    await this.#output.after(() => this.#write(switchingBytes(head, this.request.upgrade)));
    this.#phase = TUNNEL;
    this.record.bytesIn += this.#body.received;
    this.#body.begin(UNKNOWN_LENGTH, true);
    return {
      body: this.#body,
      write: this.#write,
      end: () => this.#transport.closeWrite(),
      abort: (error) => this.#fail(error),
    };
  }

  respond(head: ResponseHead, body: Body): Promise<void> | void {
    this.responded = true;
    if (this.#failure !== null) return Promise.reject(this.#failure);
    this.record.status = head.status;
    return this.#output.after(() => this.#respond(head, body));
  }

  #respond(head: ResponseHead, body: Body): Promise<void> | void {
    const { request } = this;
    const { buffers, limits } = this.#context;
    if (this.#failure !== null) return Promise.reject(this.#failure);
    const framing = responseFraming(request, head);
    // An answer to an unfinished upload ends the connection (RFC 9112 §9.3): its rest is unread.
    if (
      !this.#connection.keepAlive || !this.#body.done || framing === "close" || head.closes ||
      this.#requests >= limits.requestsPerConnection || this.#context.isDraining()
    ) this.#closeAfter = true;
    const size = responseHeadSize(head);
    const out = size <= buffers.out.size ? buffers.out.take() : new Uint8Array(size);
    let at = writeResponseHead(out, request, head, framing, !this.#closeAfter);
    let first: ReturnType<Body["read"]>;
    try {
      first = framing === "none" ? null : body.read();
    } catch (error) {
      // What came along with the head is malformed: nothing has been sent, so another answer can be.
      buffers.out.give(out);
      this.responded = false;
      this.record.status = 0;
      throw error;
    }
    const chunked = framing === "chunked";
    if (first === null && !chunked) return this.#writeOut(out, at);
    if (
      first instanceof Uint8Array && framing === "length" && body.done &&
      at + first.length <= out.length
    ) {
      out.set(first, at);
      at += first.length;
      return this.#writeOut(out, at);
    }
    const withTrailers = request.acceptsTrailers || request.isGrpc;
    return writeBody(out, at, first, body, chunked, withTrailers, this.#write).then(
      () => buffers.out.give(out),
      (error) => {
        // Nothing partial passes for whole: the end that the framing promised never comes.
        this.#fail(asProxyError(error, "internal"));
        throw error;
      },
    );
  }

  /** Writes `out[0, at)` without waiting for it: the next answer does, before it writes. */
  #writeOut(out: Uint8Array<ArrayBuffer>, at: number): void {
    this.#output.writeLater(out.subarray(0, at), () => this.#context.buffers.out.give(out));
  }

  #write = async (view: Uint8Array): Promise<void> => {
    if (this.#failure !== null) throw this.#failure;
    await this.#output.write(view);
    if (this.#input.ended) this.#halfClosed.wrote(this.#context.deadlines.now);
  };

  // ── Ends ────────────────────────────────────────────────────────────────────────────────────

  /** Tells what became of the exchange. */
  #end(): void {
    const { record } = this;
    record.duration = performance.now() - record.startedAt;
    record.bytesIn += this.#body.received;
    record.bytesOut += this.#output.sent;
    this.#context.onExchangeEnd(this);
  }

  /** Tells of a request that never became an exchange. */
  #refused(code: ErrorCode, { fields }: ResponseHead): void {
    this.record.error = code;
    this.record.requestId = fields.value(fields.find(X_REQUEST_ID));
    this.#end();
  }

  /** After an exchange: true when the next request may come. */
  async #settle(): Promise<boolean> {
    if (this.#phase === CLOSED) return false;
    const unread = !this.#body.done;
    this.#lent = unread;
    if (!this.responded) {
      this.#fail(
        this.#input.isOver
          ? new ProxyError("client_gone")
          : new ProxyError("internal", "an exchange ended without an answer"),
      );
      return false;
    }
    if (this.#closeAfter || unread || this.#context.isDraining()) {
      await this.#output.pending;
      await this.#close(unread || !this.#input.isEmpty);
      return false;
    }
    this.payload = null;
    this.#returnHeadBuffer();
    return true;
  }

  /** Answers an error of the head, and ends the connection. `exchange` is this where it is whole. */
  async #refuse(code: ErrorCode, exchange: this | null = null): Promise<false> {
    const error = new ProxyError(code);
    this.#context.onError(error, this.client);
    this.#deadline = NO_DEADLINE;
    this.#phase = EXCHANGE;
    await this.#output.pending;
    const isHead = !this.#parser.inStartLine && this.request.method === "HEAD";
    this.#beginRefusal();
    if (isHead) this.request.method = "HEAD";
    const { head, body } = this.#context.answer(code, exchange);
    try {
      const answering = this.respond(head, body);
      this.#refused(code, head);
      await answering;
      await this.#output.pending;
      await this.#close(true);
    } catch {
      // The client is gone: close() follows.
    }
    return false;
  }

  /**
   * A deadline has passed while the client was to send: it is told, and given a moment to read that
   * before the connection closes.
   */
  #expire(code: ErrorCode): void {
    const error = new ProxyError(code);
    const inHead = this.#phase === HEAD;
    // While a head arrives, `responded` tells of the exchange before.
    if (this.#expired || (this.responded && !inHead)) return this.#fail(error);
    this.#expired = true;
    this.#closeAfter = true;
    if (inHead) {
      this.#context.onError(error, this.client);
      this.#beginRefusal();
    }
    const { head, body } = this.#context.answer(code, inHead ? null : this);
    const fail = () => this.#fail(error);
    const answering = this.respond(head, body);
    if (inHead) this.#refused(code, head);
    // At once, so that no answer of the backend's follows this one.
    this.#abort(error);
    Promise.resolve(answering).then(() => this.#output.pending).then(() => {
      this.#deadline = this.#context.deadlines.in(LINGER);
      return this.#transport.closeWrite();
    }).catch(fail);
  }

  /** What could be read of the request is in doubt: the answer is to a plain HTTP/1.1 GET. */
  #beginRefusal(): void {
    this.request.method = "GET";
    this.request.version = 11;
    this.added = null; // the request before's
    this.responded = false;
    this.#connection.keepAlive = false;
    this.#body.begin(0, false);
  }

  /** Ends the connection for a reason; the exchange under way learns it. */
  #fail(error: ProxyError): void {
    if (this.#failure === null) {
      this.#failure = error;
      if (this.#phase !== CLOSED) this.#context.onError(error, this.client);
    }
    this.close();
  }

  #abort(error: ProxyError): void {
    const { onAbort } = this;
    this.onAbort = null;
    onAbort?.(error);
  }

  /** Closes after an answer. With bytes unread, close() alone would send RST and lose the answer. */
  async #close(linger: boolean): Promise<void> {
    if (linger && this.#phase !== CLOSED && !this.#input.isOver) {
      this.#phase = LINGERING;
      this.#deadline = this.#context.deadlines.in(LINGER);
      await this.#transport.closeWrite().catch(() => {});
      const input = this.#input;
      while (!input.isOver && this.#phase === LINGERING) {
        input.start = input.end;
        input.makeRoom(input.bytes.length);
        await input.fill();
      }
    } else if (this.client.secure && this.#phase !== CLOSED) {
      // Without TLS's own farewell a client must take an answer that ends here for cut off.
      this.#phase = LINGERING;
      this.#deadline = this.#context.deadlines.in(LINGER);
      await this.#transport.closeWrite().catch(() => {});
    }
    this.close();
  }

  #returnHeadBuffer(): void {
    if (this.#headBuffer !== null) this.#context.buffers.head.give(this.#headBuffer);
    this.#headBuffer = null;
  }
}
