/**
 * One exchange of a client's connection. In: a head that has come, and its body as it comes. Out: the
 * `Exchange` that the handler serves, and its answer as frames.
 *
 * The object outlives its stream for as long as the handler has it, and its stream may outlive the
 * answer; then it serves another stream of the same connection.
 */
import { Cancellation } from "../http/cancellation.ts";
import { NO_DEADLINE } from "../io/deadlines.ts";
import { asProxyError, type ErrorCode, ProxyError } from "../errors.ts";
import { asciiBytes, type Fields, X_REQUEST_ID } from "../http/fields.ts";
import { dropForbiddenTrailers } from "../http/trailers.ts";
import { withoutNamed } from "../http/changed_fields.ts";
import { type Body, LATER } from "../http/body.ts";
import {
  type Client,
  type Duplex,
  type Exchange,
  ExchangeRecord,
  RequestHead,
  ResponseHead,
  type Serving,
  UNKNOWN_LENGTH,
} from "../http/message.ts";
import {
  CANCEL,
  errorName,
  INTERNAL_ERROR,
  NO_ERROR,
  PROTOCOL_ERROR,
} from "./frame/error_codes.ts";
import type { HpackEncoder } from "./hpack/encoder.ts";
import { HeadBlock } from "./hpack/head_block.ts";
import { type HeadProblem, readRequestHead, trailersProblem } from "./request_head.ts";
import { responseHeadBound, writeInterimHead, writeResponseHead } from "./response_writer.ts";
import type { HeadDecoder } from "./role.ts";
import type { Http2ServerContext } from "./server_context.ts";
import { Stream, type StreamConnection } from "./stream.ts";
import { turnNow } from "../io/turn_clock.ts";

/** What of its connection a stream needs besides frames. */
export interface StreamOwner {
  readonly client: Client;
  readonly context: Http2ServerContext;
  /** Its head has come: frames may come for it now. */
  streamOpened(stream: ServerStream): void;
  /** The stream is over; its exchange may not be. */
  streamClosed(stream: ServerStream): void;
  /** The exchange is over, as far as the handler goes, and so is the stream. */
  exchangeEnded(stream: ServerStream): void;
}

const FRESH = 0;
const SERVED = 1;
const DONE = 2;

const NOT_OF_TUNNELS = [asciiBytes("sec-websocket-accept")];
/** Who is answered in the middle of a request may come to its end by itself, in ms. */
const LINGER = 100;
/** The answer to extended CONNECT, whose 101 is a 200 here (RFC 8441 §5). */
const TUNNEL_STATUS = 200;

export class ServerStream extends Stream implements Exchange {
  readonly client: Client;
  readonly request: RequestHead;
  readonly record = new ExchangeRecord();
  payload: Uint8Array | null = null;
  added: Fields | null = null;
  addedAuthority = "";
  addedMark = "";
  readonly cancellation = new Cancellation();
  responded = false;
  readonly #owner: StreamOwner;
  readonly #block = new HeadBlock();
  /** Why there will be no exchange, where there will be none. */
  #problem: HeadProblem | null = null;
  #phase = DONE;
  /** The deadline that has been answered, where one has: the handler's answer comes too late. */
  #expired: ProxyError | null = null;
  /** The client waits for 100 (Continue), and no byte of its body has come. */
  #awaitsContinue = false;
  /** The head that is sent next. */
  #head: ResponseHead | null = null;
  #isInterim = false;
  /** When a client that was answered early is told to stop. */
  #lingerDeadline = NO_DEADLINE;
  /** An answer of ours that the handler does not wait for. */
  #answering: Promise<void> | null = null;

  constructor(connection: StreamConnection, owner: StreamOwner) {
    super(connection);
    this.#owner = owner;
    this.client = owner.client;
    this.request = new RequestHead(this.#block.fields);
    const waits = (waiting: boolean) => {
      if (!waiting) this.#awaitsContinue = false;
      // It is the backend that lets a client wait for 100, and the backend's deadline that runs.
      else if (this.#awaitsContinue) this.body.pause();
    };
    this.body.onWait = waits;
  }

  /** The handler is done with it, and told. */
  get isDone(): boolean {
    return this.#phase === DONE;
  }

  get isOver(): boolean {
    return this.#phase !== SERVED || this.responded || this.isClosed;
  }

  // ── The request ─────────────────────────────────────────────────────────────────────────────

  /**
   * Decodes the head that has come for `id`, at `now` in ms; false where that ends the connection.
   * The stream is open then, whatever its head says.
   */
  open(id: number, ended: boolean, now: number, decoder: HeadDecoder): boolean {
    const { record, request } = this;
    const { limits } = this.#owner.context;
    this.begin();
    this.#phase = FRESH;
    record.begin();
    record.startedAt = now;
    this.payload = null;
    this.cancellation.reset();
    this.responded = false;
    this.#expired = null;
    this.#lingerDeadline = NO_DEADLINE;
    this.#block.begin(limits.requestHeadBytes, limits.requestFields, false);
    if (!decoder.decode(this.#block)) return false;
    this.opened(id);
    this.#owner.streamOpened(this);
    record.bytesIn = decoder.blockSize;
    this.#problem = readRequestHead(this.#block, request, ended, limits);
    record.method = this.#block.method ?? "";
    record.version = 20;
    if (!this.#block.tooLarge) this.#block.joinCookies();
    this.#beginBody();
    if (ended) {
      this.body.finish(null);
      this.endRemote();
    }
    return true;
  }

  #beginBody(): void {
    const { request } = this;
    const { limits } = this.#owner.context;
    if (request.upgrade !== "") return this.body.begin(-1, 0, 0);
    const { bodyTimeout, bodyRate } = limits;
    this.body.begin(request.contentLength, bodyTimeout, bodyRate);
    if (request.isGrpc) this.body.expectMessages();
  }

  limitBody(bytes: number): void {
    this.body.limit(bytes);
  }

  /** A trailer section has come, of so many bytes. */
  trailersCame(block: HeadBlock, blockSize: number, ended: boolean): void {
    const { connection, body, record } = this;
    record.bytesIn += blockSize;
    const problem = ended ? trailersProblem(block) : "HEADERS within a body";
    if (problem !== null) {
      if (this.#phase === SERVED) this.#malformed(problem);
      else this.#problem = { malformed: problem, code: null };
      return;
    }
    if (block.tooLarge) body.fail(new ProxyError("head_too_large"));
    dropForbiddenTrailers(block.fields);
    const wrong = body.finish(block.fields.count === 0 ? null : block.fields.copy());
    if (wrong !== null) return this.wrongLength(wrong);
    connection.stirred(this);
    this.endRemote();
  }

  override endRemote(): void {
    this.record.bodyCounts?.leave(this);
    super.endRemote();
  }

  /** All that has come in a read is here: the exchange begins. */
  start(): void {
    const { body, record, request } = this;
    const problem = this.#problem;
    this.#phase = SERVED;
    if (problem !== null) {
      if (problem.code !== null) return this.#refuse(problem.code);
      this.#malformed(problem.malformed);
      return this.#ended();
    }
    record.hasHead = true;
    if (this.isClosed) {
      // It has been reset in the same breath.
      record.error = "client_gone";
      return this.#ended();
    }
    // What comes along with a request for a tunnel is for the tunnel, once it is there.
    this.payload = request.upgrade === "" ? body.payload() : null;
    if (this.payload !== null && request.bodyLength === UNKNOWN_LENGTH && !request.isGrpc) {
      // Backends are told what is known by now.
      request.bodyLength = request.contentLength = this.payload.length;
    }
    // An empty DATA has ended it, as END_STREAM on its head would have.
    if (body.isWhole && body.received === 0 && body.trailers === null) request.bodyLength = 0;
    this.#awaitsContinue = request.expectsContinue && body.received === 0 && !body.isWhole;
    let serving: Serving;
    try {
      serving = this.#owner.context.handler(this);
    } catch (mistake) {
      return this.#broke(mistake);
    }
    if (serving === undefined) this.#ended();
    else if (serving !== LATER) serving.then(this.#ended, this.#broke);
  }

  /** RFC 9113 §8.1.1. */
  #malformed(text: string): void {
    const error = new ProxyError("bad_request", text);
    this.#owner.context.onError(error, this.client);
    this.record.error ??= error.code;
    this.connection.provoked(this, PROTOCOL_ERROR, error);
  }

  /** Answers an error of the head. */
  #refuse(code: ErrorCode): void {
    const { context } = this.#owner;
    context.onError(new ProxyError(code), this.client);
    this.request.method = this.request.method === "HEAD" ? "HEAD" : "GET";
    this.added = null;
    const { head, body } = context.localReply(code, this);
    // It may wait for long to be sent, as its client likes.
    if (this.#block.tooLarge) this.#block.release();
    this.record.error = code;
    const id = head.fields.find(X_REQUEST_ID);
    if (id !== -1) this.record.requestId = head.fields.value(id);
    const answering = this.respond(head, body);
    if (answering === undefined) this.#ended();
    else answering.then(this.#ended, this.#ended);
  }

  // ── The answer ──────────────────────────────────────────────────────────────────────────────

  override number(): void {
    // The client has numbered it.
  }

  override headBound(): number {
    return responseHeadBound(this.#head!);
  }

  override encodeHead(encoder: HpackEncoder, out: Uint8Array, at: number): number {
    const head = this.#head!;
    if (this.#isInterim) return writeInterimHead(encoder, out, at, head);
    return writeResponseHead(encoder, out, at, head, this.#contentLength(head));
  }

  #contentLength({ bodyLength, contentLength }: ResponseHead): number {
    if (contentLength !== -1 || this.request.upgrade !== "") return contentLength;
    return bodyLength > 0 && this.#hasBody ? bodyLength : -1;
  }

  get #hasBody(): boolean {
    const { status } = this.#head!;
    return this.request.method !== "HEAD" && status !== 204 && status !== 304;
  }

  interim(head: ResponseHead): Promise<void> | void {
    if (this.responded || this.isClosed) return;
    if (head.status === 100 && this.#awaitsContinue) {
      this.#awaitsContinue = false;
      this.body.resume();
    }
    const room = this.connection.whenRoom();
    if (room === null) return this.#sendInterim(head);
    return room.then(() => this.#sendInterim(head));
  }

  #sendInterim(head: ResponseHead): void {
    if (this.responded || this.isClosed) return;
    this.#head = head;
    this.#isInterim = true;
    this.sender.headSent(this.connection.writeHead(this, false));
    this.#isInterim = false;
  }

  respond(head: ResponseHead, body: Body): Promise<void> | void {
    const { upgrade } = this.request;
    // To extended CONNECT any 2xx would say that the tunnel is there.
    if (upgrade !== "" && head.status < 300) {
      throw new ProxyError("upstream_refused", `answers ${upgrade} with ${head.status}, not 101`);
    }
    if (this.#expired !== null) return Promise.reject(this.#expired);
    this.responded = true;
    if (this.failure !== null) return Promise.reject(this.failure);
    this.record.status = head.status;
    this.#head = head;
    let sending: Promise<void> | void;
    try {
      sending = this.sender.send(this.#hasBody ? body : null, null);
    } catch (error) {
      // What came along with the head is malformed: nothing has been sent, so another answer can be.
      this.responded = false;
      this.record.status = 0;
      throw error;
    }
    if (sending === undefined) return;
    // A stream of events may stay open for hours.
    if (head.bodyLength === UNKNOWN_LENGTH) this.#block.shrink();
    return sending.catch(this.#sendingFailed);
  }

  async upgrade(head: ResponseHead): Promise<Duplex> {
    if (this.#expired !== null) throw this.#expired;
    this.responded = true;
    if (this.failure !== null) throw this.failure;
    this.record.status = 101;
    const opened = new ResponseHead();
    opened.status = TUNNEL_STATUS;
    opened.fields = withoutNamed(head.fields, NOT_OF_TUNNELS);
    opened.extra = head.extra && withoutNamed(head.extra, NOT_OF_TUNNELS);
    this.#head = opened;
    await this.sender.open();
    return {
      body: this.body,
      write: (view) => this.sender.write(view),
      sink: this.sender,
      end: () => Promise.resolve(this.sender.end()),
      abort: (error) => this.reset(CANCEL, error),
    };
  }

  /** Nothing partial passes for whole: the stream ends without END_STREAM. */
  readonly #sendingFailed = (thrown: unknown): never => {
    const error = asProxyError(thrown, "internal");
    this.reset(error.code === "deadline_passed" ? CANCEL : INTERNAL_ERROR, error);
    throw error;
  };

  // ── Ends ────────────────────────────────────────────────────────────────────────────────────

  override check(now: number): void {
    super.check(now);
    if (now >= this.#lingerDeadline) return this.stopLingering();
    // An early answer is heard out.
    if (this.isOver || this.#expired !== null) return;
    // While streams that are not read hold all of the connection's window, its client may not send.
    if (!this.connection.receiveWindow.isOpen) this.body.restart(now);
    else if (this.body.isOverdue(now) && !this.#isSilentCall()) this.#expire("body_timeout");
  }

  /**
   * Whether this is a gRPC call that may be silent for as long as a tunnel, and is from now on: PING
   * notices a client that is gone. Content-Type is the client's word alone, so it counts once a
   * message has come, for a backend that can speak gRPC.
   */
  #isSilentCall(): boolean {
    if (!this.request.isGrpcByHttp2 || !this.body.hasMessage) return false;
    return this.body.relax(this.#owner.context.limits.tunnelIdleTimeout);
  }

  /** Resets it where it has been answered: what is still to come is not wanted (RFC 9113 §8.1). */
  stopLingering(): void {
    if (this.#lingerDeadline === NO_DEADLINE) return;
    this.#lingerDeadline = NO_DEADLINE;
    this.reset(NO_ERROR, new ProxyError("client_gone", "answered before its end"));
  }

  /** A deadline has passed while the client was to send: it is told. */
  #expire(code: ErrorCode): void {
    const error = new ProxyError(code);
    const { head, body } = this.#owner.context.localReply(code, this);
    this.record.error = code;
    const answering = this.respond(head, body);
    this.#expired = error;
    if (answering !== undefined) this.#answering = answering.catch(() => {});
    this.body.fail(error);
    this.cancellation.cancel(error);
  }

  override resetByPeer(code: number): ProxyError {
    return new ProxyError("client_gone", `reset the stream with ${errorName(code)}`);
  }

  protected override broken(error: ProxyError): void {
    this.cancellation.cancel(error);
    this.#owner.streamClosed(this);
  }

  protected override finished(): void {
    this.#owner.streamClosed(this);
  }

  /** The handler is done with it. */
  readonly #ended = (): void => {
    const answering = this.#answering;
    if (answering !== null) {
      this.#answering = null;
      answering.then(this.#ended);
      return;
    }
    const { record, body } = this;
    record.bodyCounts?.leave(this);
    record.duration = turnNow() - record.startedAt;
    record.bytesIn += body.received;
    record.bytesOut = this.sender.sent;
    record.headBytesOut = this.sender.sentHeads;
    this.#owner.context.onExchangeEnd(this);
    this.cancellation.reset();
    if (!this.isClosed) this.#settle();
    body.release();
    this.#phase = DONE;
    this.#owner.exchangeEnded(this);
  };

  /** The handler has thrown, as only a mistake of ours can: nobody else would end the stream. */
  readonly #broke = (mistake: unknown): void => {
    const error = asProxyError(mistake, "internal");
    this.record.error ??= error.code;
    this.#owner.context.onError(error, this.client);
    if (!this.localEnded) this.reset(INTERNAL_ERROR, error);
    this.#ended();
  };

  /** Ends a stream that its exchange has left open. */
  #settle(): void {
    if (this.localEnded) {
      this.body.fail(new ProxyError("client_gone", "answered before its end"));
      this.#lingerDeadline = this.#owner.context.deadlines.in(LINGER);
      return;
    }
    const error = new ProxyError("internal", "an exchange ended without an answer");
    this.#owner.context.onError(error, this.client);
    this.reset(INTERNAL_ERROR, error);
  }
}
