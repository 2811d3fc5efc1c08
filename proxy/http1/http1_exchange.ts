/**
 * One request of an HTTP/1 connection from a client, and its response. In: bytes of a head and the
 * body behind it, and the response's head and body. Out: the `Exchange` that the handler serves, the
 * response's bytes in order, whether the connection ends behind them, and the record of it all.
 *
 * One object serves the exchanges of its connection one after another, and is used for no other
 * connection: what still holds a part of it, for whatever reason, sees nothing of another client's.
 * A connection at rest has none, so that ten thousand of them need little memory.
 */
import { asProxyError, type ErrorCode, ProxyError } from "../errors.ts";
import { Cancellation } from "../http/cancellation.ts";
import type { ServerConnectionContext } from "../http/downstream.ts";
import { type Fields, X_REQUEST_ID } from "../http/fields.ts";
import { type Body, LATER } from "../http/body.ts";
import {
  type Client,
  type Duplex,
  type Exchange,
  ExchangeRecord,
  type ExchangeWaiter,
  RequestHead,
  type ResponseHead,
  type Serving,
  UNKNOWN_LENGTH,
} from "../http/message.ts";
import type { Deadlined } from "../io/deadlines.ts";
import type { Input } from "../io/input.ts";
import type { ByteSink } from "./body_writer.ts";
import { Output, type WriteWaiter } from "../io/output.ts";
import type { Transport } from "../io/transport.ts";
import { turnNow } from "../io/turn_clock.ts";
import { HalfClosedClient, PROBE } from "./half_closed.ts";
import { ReadAhead } from "./read_ahead.ts";
import { RequestBody } from "./request_body.ts";
import type { RequestConnection } from "./request_head.ts";
import { type HeadRefusal, RequestReader } from "./request_reader.ts";
import { sendResponse } from "./response_sender.ts";
import { interimBytes, responseFraming, switchingBytes } from "./response_writer.ts";

/** What an exchange needs of its connection. */
export interface ExchangeOwner extends Deadlined {
  readonly client: Client;
  readonly context: ServerConnectionContext;
  readonly transport: Transport;
  readonly input: Input;
  /** Why the connection has ended, null before that; nothing more is sent then. */
  readonly failure: ProxyError | null;
  /** The handler may still respond: no head is being read, no tunnel open, no end begun. */
  readonly isServing: boolean;
  /** A response that begins now is the connection's last. */
  readonly isLast: boolean;
  /** Ends the connection for a reason; the exchange under way is cancelled. */
  fail(error: ProxyError): void;
  /** From now on bytes pass both ways. */
  tunnelBegins(): void;
  /** The handler's promise has settled. */
  exchangeServed(exchange: Http1Exchange): void;
  /** Ends the connection for what the handler has thrown, as only a bug makes it do. */
  readonly broke: (thrown: unknown) => void;
}

export class Http1Exchange implements Exchange, ExchangeWaiter, ByteSink {
  readonly client: Client;
  readonly request = new RequestHead();
  readonly record = new ExchangeRecord();
  readonly body: RequestBody;
  readonly output: Output;
  payload: Uint8Array | null = null;
  added: Fields | null = null;
  addedAuthority = "";
  addedMark = "";
  readonly cancellation = new Cancellation();
  responded = false;
  /** The connection ends behind the response under way, as its head says. */
  closesAfter = false;
  readonly #owner: ExchangeOwner;
  readonly #input: Input;
  readonly #reader: RequestReader;
  readonly #readAhead: ReadAhead;
  readonly #halfClosed = new HalfClosedClient();
  /** Bytes that had been sent when its client's FIN came, or at the last look since. */
  #sentBefore = 0;
  readonly #connection: RequestConnection = { keepAlive: false };
  /** The handler has thrown: this was the connection's last exchange. */
  #isBroken = false;

  constructor(owner: ExchangeOwner) {
    const { context, input, transport } = owner;
    const { limits, buffers, deadlines } = context;
    this.#owner = owner;
    this.#input = input;
    this.client = owner.client;
    this.output = new Output(
      transport,
      deadlines,
      limits.writeTimeout,
      limits.writeRate,
      owner,
      () => {
        const error = new ProxyError("client_gone");
        owner.fail(error);
        return owner.failure ?? error;
      },
    );
    this.#reader = new RequestReader(input, this.request, this.#connection, limits);
    this.body = new RequestBody(input, buffers.bulk, limits, deadlines);
    const ended = () => this.#watchClient();
    this.body.onEnd = ended;
    this.#readAhead = new ReadAhead(input, buffers.head, limits.requestHeadBytes);
  }

  get isOver(): boolean {
    return !this.#owner.isServing || this.responded;
  }

  /** Nothing is under way, and nothing is remembered of the client that counts: it may be dropped. */
  get isFree(): boolean {
    return this.output.isFree && !this.body.isBorrowing;
  }

  /** Nothing is measured: only bytes from the client, or a write to it, can bring a deadline. */
  get isAtRest(): boolean {
    return this.body.done && !this.output.writing && !this.#input.ended;
  }

  /** The client has sent a byte of the head under way. */
  get headHasBegun(): boolean {
    return this.#reader.hasBegun;
  }

  /** Why the head will be refused, whatever is still to come of it. */
  get refusal(): ErrorCode | null {
    return this.#reader.refusal;
  }

  /** All that has come, where it begins as HTTP/2 does; known once the head is refused. */
  get preface(): Uint8Array | null {
    return this.#reader.preface;
  }

  /** The request line is of another protocol. */
  get isForeign(): boolean {
    return this.#reader.isForeign;
  }

  // ── The request ─────────────────────────────────────────────────────────────────────────────

  /** The next head begins where the input stands. */
  beginHead(): void {
    this.record.begin();
    this.#reader.begin();
  }

  /** Reads on in the head, with what has arrived. */
  advance(): "pending" | "complete" | HeadRefusal {
    const { record, request } = this;
    const reader = this.#reader;
    const result = reader.advance();
    if (reader.hasBegun || result !== "pending") {
      if (record.startedAt === 0) {
        record.startedAt = turnNow();
        record.bytesOut = -this.output.sent;
      }
      record.method = request.method;
      record.version = request.version;
    }
    if (result === "complete" || (result !== "pending" && result.whole)) {
      record.bytesIn = reader.size;
    }
    return result;
  }

  /** Makes room for more of the head. */
  makeRoom(): void {
    this.#reader.makeRoom();
  }

  /** The head is whole: the handler is to respond. */
  begin(): void {
    const { body, request } = this;
    this.record.hasHead = true;
    this.responded = false;
    this.cancellation.reset();
    this.#halfClosed.begin();
    if (this.#input.ended) this.#halfClosed.ended(this.#owner.context.deadlines.now);
    this.#sentBefore = this.output.sent;
    body.begin(request.bodyLength, false);
    body.awaitsContinue = request.expectsContinue && this.#input.isEmpty;
    this.payload = body.isBuffered ? body.read() as Uint8Array | null : null;
    if (body.done) this.#watchClient();
  }

  /** Hands it to the handler: true once that has responded, false where the owner hears of it later. */
  serve(): boolean {
    let serving: Serving;
    try {
      serving = this.#owner.context.handler(this);
    } catch (mistake) {
      this.broke(mistake);
      return false;
    }
    if (serving === undefined) return true;
    if (serving !== LATER) serving.then(() => this.served(), this.broke);
    return false;
  }

  served(): void {
    // What is stopped at the end of its connection has been told of already.
    if (!this.#isBroken) this.#owner.exchangeServed(this);
  }

  /** Ends the connection, and tells of the request: the handler does not, which has thrown. */
  readonly broke = (thrown: unknown): void => {
    if (this.#isBroken) return;
    this.#isBroken = true;
    const error = asProxyError(thrown, "internal");
    this.record.error ??= error.code;
    this.#owner.broke(error);
    this.end();
  };

  get waiter(): ExchangeWaiter {
    return this;
  }

  /** No head can be made of what has come: what responds to it gets a plain GET, or HEAD. */
  beginRefusal(): void {
    const { record, request } = this;
    record.refusedLine = this.#reader.refusedLine;
    request.method = this.#reader.isHead ? "HEAD" : "GET";
    request.version = 11;
    this.added = null; // The request before's.
    this.responded = false;
    this.#connection.keepAlive = false;
    this.body.begin(0, false);
  }

  limitBody(bytes: number): void {
    this.body.limit(bytes);
  }

  // ── The response ────────────────────────────────────────────────────────────────────────────

  interim(head: ResponseHead): Promise<void> | void {
    // RFC 9110 §15.2: HTTP/1.0 knows no interim responses.
    if (this.request.version === 10 || this.responded) return;
    if (head.status === 100) this.body.continues();
    // Written down now: the head is the backend's connection's, which may end meanwhile.
    const bytes = interimBytes(head);
    this.record.headBytesOut += bytes.length;
    return this.output.after(() => this.#write(bytes));
  }

  async upgrade(head: ResponseHead): Promise<Duplex> {
    const { body } = this;
    this.responded = true;
    this.record.status = 101;
    this.closesAfter = true;
    const bytes = switchingBytes(head, this.request.upgrade);
    this.record.headBytesOut += bytes.length;
    await this.output.after(() => this.#write(bytes));
    this.#owner.tunnelBegins();
    this.record.bytesIn += body.received;
    body.beginTunnel();
    return {
      body,
      write: this.#write,
      sink: this.output,
      end: () => this.#owner.transport.closeWrite(),
      abort: (error) => this.#owner.fail(error),
    };
  }

  respond(head: ResponseHead, body: Body): Promise<void> | void {
    this.responded = true;
    const { failure } = this.#owner;
    if (failure !== null) return Promise.reject(failure);
    this.record.status = head.status;
    const { pending } = this.output;
    // As `after` has it, but that mostly nothing is pending, and no function is needed.
    return pending === null ? this.#respond(head, body) : this.#respondAfter(pending, head, body);
  }

  #respondAfter(pending: Promise<void>, head: ResponseHead, body: Body): Promise<void> {
    return pending.then(() => this.#respond(head, body));
  }

  #respond(head: ResponseHead, body: Body): Promise<void> | void {
    const { request } = this;
    const owner = this.#owner;
    if (owner.failure !== null) return Promise.reject(owner.failure);
    const framing = responseFraming(request, head);
    // A response to an unfinished upload ends the connection (RFC 9112 §9.3): its rest is unread.
    if (
      !this.#connection.keepAlive || !this.body.done || framing === "close" || head.closes ||
      owner.isLast
    ) this.closesAfter = true;
    const keepAlive = !this.closesAfter;
    let sending: Promise<void> | void;
    try {
      const response = { request, head, body, framing, keepAlive, headBytes: 0 };
      sending = sendResponse(response, owner.context.buffers.out, this.output, this);
      this.record.headBytesOut += response.headBytes;
    } catch (error) {
      // What came along with the head is malformed: nothing has been sent, so another response can be.
      this.responded = false;
      this.record.status = 0;
      throw error;
    }
    if (sending === undefined) return;
    if (head.bodyLength === UNKNOWN_LENGTH) this.#shrinkHead();
    return sending.catch((error) => {
      // Nothing partial passes for whole: the end that the framing promised never comes.
      owner.fail(asProxyError(error, "internal"));
      throw error;
    });
  }

  /** A stream of events may stay open for hours. */
  #shrinkHead(): void {
    if (this.payload !== null) return; // It is a view of the head's buffer.
    const head = this.#readAhead.shrinkHead(this.#reader.end);
    if (head !== null) this.request.fields.bytes = head;
  }

  /** As `Output` has it, where the connection has not ended. */
  writeThen(bytes: Uint8Array, length: number, waiter: WriteWaiter): void {
    const { failure } = this.#owner;
    if (failure === null) this.output.writeThen(bytes, length, waiter);
    else waiter.writeBroke(failure);
  }

  endWrites(): void {
    this.output.endWrites();
  }

  readonly #write = (view: Uint8Array): Promise<void> => {
    const { failure } = this.#owner;
    return failure === null ? this.output.write(view) : Promise.reject(failure);
  };

  // ── The client, while it waits ──────────────────────────────────────────────────────────────

  /** A read that was started ahead of need has settled: the next request's bytes, FIN or a reset. */
  clientMoved(): void {
    const input = this.#input;
    if (input.failed !== null) this.#owner.fail(new ProxyError("client_gone"));
    else if (input.ended) {
      const { now } = this.#owner.context.deadlines;
      this.#halfClosed.ended(now);
      // From now on the output must count each write: it shows whether the client is still there. What has been
      // relayed before FIN is counted first, since it shows nothing.
      const { directWriter } = this.output;
      directWriter?.look();
      directWriter?.stop();
      // A write under way gets through later than FIN has come.
      const isStreaming = this.output.writing && this.output.pending === null;
      this.#sentBefore = isStreaming ? -1 : this.output.sent;
      this.checkHalfClosed(now);
    } else this.#watchClient();
  }

  /** Probes a client that has sent FIN; to be called once a sweep. `now` in ms, monotonic. */
  checkHalfClosed(now: number): void {
    // A write under way shows by itself whether the client is there.
    if (this.output.writing) return;
    const { sent } = this.output;
    if (sent !== this.#sentBefore) {
      this.#sentBefore = sent;
      this.#halfClosed.wrote(now);
    }
    // HTTP/1.0 knows no interim responses to probe with: it is left to its response.
    if (!this.responded && this.request.version === 10) return;
    const verdict = this.#halfClosed.check(now, this.responded);
    if (verdict === "probe") {
      this.record.headBytesOut += PROBE.length;
      this.output.writeLater(PROBE, PROBE.length, null);
    } else if (verdict === "touch") this.output.touch();
    else if (verdict === "gone") this.#owner.fail(new ProxyError("client_gone"));
  }

  /** Once the request is complete, its client's end is watched for. */
  #watchClient(): void {
    if (!this.body.done) return;
    this.leaveBodyCounts();
    if (this.#owner.isServing) this.#readAhead.begin();
  }

  // ── Ends ────────────────────────────────────────────────────────────────────────────────────

  /** It is no longer counted among the bodies under way. */
  leaveBodyCounts(): void {
    this.record.bodyCounts?.leave(this);
  }

  /** Reports what became of it. */
  end(): void {
    const { record } = this;
    record.bodyCounts?.leave(this);
    record.duration = turnNow() - record.startedAt;
    record.bytesIn += this.body.received;
    record.bytesOut += this.output.sent;
    this.#owner.context.onExchangeEnd(this);
  }

  /** Reports a request that never became an exchange. */
  endRefused(code: ErrorCode, { fields }: ResponseHead): void {
    this.record.error = code;
    this.record.requestId = fields.value(fields.find(X_REQUEST_ID));
    this.end();
  }

  /** The connection's next request may follow. */
  settle(): void {
    this.payload = null;
    this.#readAhead.end();
  }

  /** Gives its buffers back; only where nothing holds a view of them. */
  release(): void {
    this.body.release();
    this.#readAhead.end();
  }
}
