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
import { type Deadlined, NO_DEADLINE } from "../deadlines.ts";
import { asProxyError, type ErrorCode, ProxyError } from "../errors.ts";
import { type Fields, X_REQUEST_ID } from "../fields.ts";
import {
  type Body,
  type Client,
  type Duplex,
  type Exchange,
  ExchangeRecord,
  RequestHead,
  type ResponseHead,
  UNKNOWN_LENGTH,
} from "../message.ts";
import { closeQuietly, type Transport } from "../transport.ts";
import { HalfClosedClient, PROBE } from "./half_closed.ts";
import { Input } from "./input.ts";
import { Output } from "./output.ts";
import type { RequestConnection } from "./request_head.ts";
import { ReadAhead } from "./read_ahead.ts";
import { RequestBody } from "./request_body.ts";
import { RequestReader } from "./request_reader.ts";
import { sendResponse } from "./response_sender.ts";
import { interimBytes, responseFraming, switchingBytes } from "./response_writer.ts";
import type { ServerConnectionContext } from "./server_context.ts";

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
  readonly #readAhead: ReadAhead;
  readonly #reader: RequestReader;
  readonly #body: RequestBody;
  readonly #connection: RequestConnection = { keepAlive: false };
  #phase = HEAD;
  #requests = 0;
  #deadline = NO_DEADLINE;
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
    this.#readAhead = new ReadAhead(this.#input, buffers.head, limits.requestHeadBytes);
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
    this.#reader = new RequestReader(this.#input, this.request, this.#connection, limits);
    this.#body = new RequestBody(this.#input, buffers.bulk, limits, context.deadlines);
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
      this.#reader.hasBegun;
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
        const settled = this.#settle();
        if (settled !== true && !await settled) break;
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
    this.#readAhead.end();
  }

  /** Ends what is overdue. */
  check(now: number): void {
    if (this.#output.isOverdue(now)) return this.#fail(new ProxyError("client_stalled"));
    if (this.#phase === EXCHANGE && this.#input.ended) this.#checkHalfClosed(now);
    // An early answer is heard out, and what outlives its exchange has no deadline of its own.
    const isUploading = this.#phase === EXCHANGE && !this.#expired && !this.responded;
    if (isUploading && this.#body.isOverdue(now)) return this.#expire("body_timeout");
    if (now < this.#deadline) return;
    // The last answer is still being taken: its own deadline runs.
    if (this.#phase === IDLE && this.#output.writing) return;
    this.#deadline = NO_DEADLINE;
    switch (this.#phase) {
      case HEAD:
        if (this.#reader.hasBegun) this.#expire(this.#reader.refusal ?? "head_timeout");
        else this.close();
        break;
      default:
        this.close();
    }
  }

  /**
   * Makes the exchange under way the last. Without one the connection closes a moment later: a
   * request that is on its way already is still answered.
   */
  drain(): void {
    this.#closeAfter = true;
    if (this.#phase === IDLE || (this.#phase === HEAD && !this.#reader.hasBegun)) {
      this.#deadline = Math.min(this.#deadline, this.#context.deadlines.in(DRAIN_GRACE));
    }
  }

  // ── Requests ────────────────────────────────────────────────────────────────────────────────

  /** Waits for the next head. False when the connection is to end, answered where that is due. */
  async #receive(): Promise<boolean> {
    const input = this.#input;
    const reader = this.#reader;
    const { limits, deadlines } = this.#context;
    const { record, request } = this;
    this.#body.release();
    record.begin();
    this.#phase = this.#requests === 0 ? HEAD : IDLE;
    this.#deadline = deadlines.in(
      this.#requests === 0 ? limits.requestHeadTimeout : limits.clientIdleTimeout,
    );
    reader.begin();
    for (;;) {
      const result = reader.advance();
      if (reader.hasBegun || result !== "pending") {
        if (record.startedAt === 0) this.#beginRecord();
        if (this.#phase === IDLE) this.#beginHead();
        record.method = request.method;
        record.version = request.version;
      }
      if (result === "complete") break;
      if (result !== "pending") {
        if (result.whole) record.bytesIn = reader.size;
        return this.#refuse(result.code);
      }
      if (input.isOver) return reader.refusal !== null && this.#refuse(reader.refusal);
      reader.makeRoom();
      await input.fill();
      if (this.#expired) return false;
    }
    record.bytesIn = reader.size;
    record.hasHead = true;
    this.#beginExchange(request.bodyLength);
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
    if (this.#input.ended) this.#halfClosed.ended(this.#context.deadlines.now);
    this.#body.begin(bodyLength, false);
    this.#body.awaitsContinue = this.request.expectsContinue && this.#input.isEmpty;
    this.payload = this.#body.isBuffered ? this.#body.read() as Uint8Array | null : null;
    if (this.#body.done) this.#watchClient();
  }

  /** Once the request is complete, its client's end is watched for. */
  #watchClient(): void {
    if (this.#phase === EXCHANGE && this.#body.done) this.#readAhead.begin();
  }

  /** A watched read has settled: the next request's first bytes, FIN or a reset. */
  #clientMoved(): void {
    if (this.#phase !== EXCHANGE) return;
    if (this.#input.failed !== null) this.#fail(new ProxyError("client_gone"));
    else if (this.#input.ended) {
      const { now } = this.#context.deadlines;
      this.#halfClosed.ended(now);
      this.#checkHalfClosed(now);
    } else this.#watchClient();
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
    if (head.status === 100) this.#body.continues();
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
    const keepAlive = !this.#closeAfter;
    let sending: Promise<void> | void;
    try {
      const response = { request, head, body, framing, keepAlive };
      sending = sendResponse(response, buffers.out, this.#output, this.#write);
    } catch (error) {
      // What came along with the head is malformed: nothing has been sent, so another answer can be.
      this.responded = false;
      this.record.status = 0;
      throw error;
    }
    return sending?.catch((error) => {
      // Nothing partial passes for whole: the end that the framing promised never comes.
      this.#fail(asProxyError(error, "internal"));
      throw error;
    });
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

  /** After an exchange: true, at once, when the next request may come. */
  #settle(): boolean | Promise<false> {
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
    if (this.#closeAfter || unread || this.#context.isDraining()) return this.#settleLast(unread);
    this.payload = null;
    this.#readAhead.end();
    return true;
  }

  async #settleLast(unread: boolean): Promise<false> {
    await this.#output.pending;
    await this.#close(unread || !this.#input.isEmpty);
    return false;
  }

  /** Answers an error of the head, and ends the connection. */
  async #refuse(code: ErrorCode): Promise<false> {
    const error = new ProxyError(code);
    this.#context.onError(error, this.client);
    this.#deadline = NO_DEADLINE;
    this.#phase = EXCHANGE;
    await this.#output.pending;
    this.#beginRefusal();
    const { head, body } = this.#context.answer(code, this);
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
    const { head, body } = this.#context.answer(code, this);
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

  /** What could be read of the request is in doubt: the answer is to a plain HTTP/1.1 GET or HEAD. */
  #beginRefusal(): void {
    this.request.method = this.#reader.isHead ? "HEAD" : "GET";
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
}
