/**
 * One request to a backend on one stream of a connection (RFC 9113 §8.1). In: a request's head and
 * body. Out: the heads of its answer, interim and final, the body, and how it ended.
 *
 * It exists before its stream does: whoever picks an endpoint takes a place on the connection, and
 * the stream opens with the head. One object serves many requests in turn, each that ended well.
 */
import { NO_DEADLINE } from "../io/deadlines.ts";
import { asProxyError, ProxyError } from "../errors.ts";
import { type Fields, GRPC_TIMEOUT } from "../http/fields.ts";
import type { Timeouts } from "../http/limits.ts";
import type { Body } from "../http/body.ts";
import {
  type Duplex,
  type HeadReceiver,
  type RequestHead,
  ResponseHead,
  type RetryReason,
  type UpstreamExchange,
} from "../http/message.ts";
import { hasGrpc } from "../grpc/content_type.ts";
import {
  CANCEL,
  errorName,
  HTTP_1_1_REQUIRED,
  PROTOCOL_ERROR,
  REFUSED_STREAM,
} from "./frame/error_codes.ts";
import type { HpackEncoder } from "./hpack/encoder.ts";
import { HeadBlock } from "./hpack/head_block.ts";
import { requestHeadBound, writeRequestHead } from "./request_writer.ts";
import { hasNoBody, readResponseHead, readTrailers } from "./response_head.ts";
import type { LengthProblem } from "./received_body.ts";
import type { HeadDecoder } from "./role.ts";
import { Stream, type StreamConnection } from "./stream.ts";
import { keyOf, switchingFields } from "./websocket_accept.ts";

/** More interim heads than this are no answer. */
const MAX_INTERIMS = 64;
/** Of those so many wait for a client that is slow to take them: heads know no windows (§5.2). */
const MAX_WAITING = 8;

/** How far the response has come: no head, interim heads, the final head, all of it handed on. */
const NO_HEAD = 0;
const INTERIM = 1;
const FINAL = 2;
const RELEASED = 3;

/**
 * What its connection had been used for when the request took its place: nothing; other requests;
 * others of which at least one got a response, so that its end may only mean that it was idle.
 */
export type ConnectionUse = "new" | "used" | "proven";

/** A head that has come, and where its bytes are. */
class Answer {
  readonly block = new HeadBlock();
  readonly head = new ResponseHead();
}

/** What a stream needs of the client's side of its connection. */
export interface ClientStreamOwner {
  readonly core: StreamConnection;
  readonly isSecure: boolean;
  /** Requests that have a place may begin: the backend has not said that it takes no more. */
  readonly takesHeads: boolean;
  /** It has answered something: that it closes now may only mean that it was idle. */
  hasAnswered: boolean;
  /** Opens the stream with its head: it gets an id (RFC 9113 §5.1.1). */
  number(stream: ClientStream): void;
  /** A request needs its place no more. */
  left(): void;
  /** We have reset the stream of a request. */
  wasReset(): void;
  /** The backend wants to be asked by HTTP/1.1 (RFC 9113 §7). True where it can be. */
  refuse(): boolean;
  /** Nobody uses it any more: it may serve another request. */
  giveBack(stream: ClientStream): void;
}

export class ClientStream extends Stream implements UpstreamExchange {
  connectionUse: ConnectionUse = "new";
  /** Once it has failed: why it may be sent again. */
  retry: RetryReason | null = null;
  awaitedClient = false;
  readonly #client: ClientStreamOwner;
  /** What `receive` has given last, and what it will. */
  #current = new Answer();
  readonly #coming: Answer[] = [];
  /** Where trailers are; null until some come. */
  #trailers: HeadBlock | null = null;
  #waiting: PromiseWithResolvers<ResponseHead> | null = null;
  #phase = NO_HEAD;
  #request: RequestHead | null = null;
  #added: Fields | null = null;
  #host = "";
  #method = "";
  #interims = 0;
  /**
   * The key of the WebSocket that is requested, "" where the client sent none; null for a plain
   * request, and once the response has declined the tunnel.
   */
  #tunnelKey: string | null = null;
  #headTimeout = 0;
  #bodyTimeout = 0;
  #grpcIdleTimeout = 0;
  #deadline = NO_DEADLINE;
  /** Bytes sent before any of the body, where the client waits for a 100; -1 where it does not. */
  #sentUnasked = -1;
  /** What is to be sent is under way. */
  #isSending = false;
  #hasPlace = false;
  /** Of a tunnel that the backend has ended: called once the backend reads no more of it either. */
  #onWriteClosed: (() => void) | null = null;

  constructor(client: ClientStreamOwner) {
    super(client.core);
    this.#client = client;
  }

  /** It serves a request anew, whose place it has. */
  take(connectionUse: ConnectionUse): void {
    this.connectionUse = connectionUse;
    this.failure = null;
    this.retry = null;
    this.awaitedClient = false;
    this.#phase = NO_HEAD;
    this.#tunnelKey = null;
    this.#hasPlace = true;
    this.#request = this.#added = null;
    this.#onWriteClosed = null;
    this.#interims = 0;
    this.#deadline = NO_DEADLINE;
    this.#sentUnasked = -1;
  }

  get protocol(): "h2" {
    return "h2";
  }

  get response(): ResponseHead {
    return this.#current.head;
  }

  /** Whether WebSockets can be asked for on its connection (RFC 8441 §3). */
  get takesTunnels(): boolean {
    return this.connection.peer.enableConnect;
  }

  send(
    request: RequestHead,
    added: Fields | null,
    host: string,
    payload: Uint8Array | null,
    body: Body,
    timeouts: Timeouts,
  ): void {
    if (!this.#client.takesHeads) return this.#refuse();
    this.begin();
    this.sender.timeout = timeouts.writeTimeout;
    // Until its head has come there is no body.
    this.body.begin(0, 0, 0);
    this.connection.requestBegun();
    this.#request = request;
    this.#added = added;
    this.#host = host;
    this.#method = request.method;
    this.#tunnelKey = request.upgrade !== "" ? keyOf(request.fields) : null;
    request.isGrpcByHttp2 = request.isGrpc;
    const { responseHeadTimeout, responseBodyTimeout, tunnelIdleTimeout } = timeouts;
    // A client that says how long it waits ends its call itself.
    this.#headTimeout = request.isGrpc && request.fields.find(GRPC_TIMEOUT) !== -1
      ? Math.max(tunnelIdleTimeout, responseHeadTimeout)
      : responseHeadTimeout;
    this.#bodyTimeout = responseBodyTimeout;
    this.#grpcIdleTimeout = Math.max(tunnelIdleTimeout, responseBodyTimeout);
    const isTunnel = this.#tunnelKey !== null;
    let sending: Promise<void> | void;
    try {
      sending = isTunnel
        ? this.sender.open()
        : this.sender.send(isEmpty(body, payload) ? null : body, payload);
    } catch (thrown) {
      return this.abort(asProxyError(thrown, "internal"));
    }
    if (sending === undefined || isTunnel) this.#awaitHead();
    else if (request.expectsContinue) {
      this.#sentUnasked = this.sender.sent;
      this.#awaitHead();
    }
    if (sending === undefined) return;
    this.#isSending = true;
    sending.then(this.#sent, this.#sendingFailed);
  }

  receive(): Promise<ResponseHead> {
    const next = this.#coming.shift();
    if (next !== undefined) {
      this.#current = next;
      return Promise.resolve(next.head);
    }
    if (this.failure !== null) return Promise.reject(this.failure);
    this.#waiting = Promise.withResolvers();
    return this.#waiting.promise;
  }

  receiveThen(receiver: HeadReceiver): void {
    this.receive().then(() => receiver.received(null), (error) => receiver.received(error));
  }

  duplex(): Duplex {
    return {
      body: this.body,
      write: (view) => this.sender.write(view),
      sink: this.sender,
      end: () => Promise.resolve(this.sender.end()),
      abort: this.abort,
      onWriteClosed: (listener) => {
        if (this.sender.hasFailed) listener();
        else this.#onWriteClosed = listener;
      },
    };
  }

  /** Ends it, unless it has ended, without harm to the other streams. */
  readonly abort = (error: ProxyError): void => {
    if (this.#request === null) {
      this.#failed(this.failure ??= error);
      this.#leave();
    } else if (this.isClosed) {
      // All of it has come, and nobody wants the rest: its windows are others' again.
      this.body.fail(error);
      this.#leave();
    } else {
      this.reset(CANCEL, error);
    }
  };

  /** Its answer has been handed on as a whole, and nobody has a view of it. */
  release(): void {
    this.#phase = RELEASED;
    // The last view has been used, so that its chunk need not be left to the collector.
    this.body.settle();
    this.body.release();
    if (this.isClosed) {
      this.#leave();
      return this.#giveBack();
    }
    if (this.localEnded && hasNoBody(this.#method, this.response.status)) {
      // Its END_STREAM may come by itself, as an empty DATA.
      this.#deadline = this.connection.options.deadlines.in(this.#bodyTimeout);
      return;
    }
    this.reset(CANCEL, new ProxyError("upstream_closed", "answered before it had all of it"));
  }

  // ── What the connection calls ───────────────────────────────────────────────────────────────

  override number(): void {
    if (this.id === 0) this.#client.number(this);
  }

  headBound(): number {
    return requestHeadBound(this.#request!, this.#added, this.#host);
  }

  encodeHead(encoder: HpackEncoder, out: Uint8Array, at: number): number {
    const { isSecure } = this.#client;
    return writeRequestHead(encoder, out, at, this.#request!, this.#added, this.#host, isSecure);
  }

  /** HEADERS has come. */
  headReceived(isEnd: boolean, decoder: HeadDecoder): void {
    if (this.#phase >= FINAL) this.#trailersReceived(isEnd, decoder);
    else this.#answerReceived(isEnd, decoder);
  }

  resetByPeer(code: number): ProxyError {
    if (code === REFUSED_STREAM) this.retry = "refused";
    else if (code === HTTP_1_1_REQUIRED && this.#client.refuse()) this.retry = "unprocessed";
    // It is this request that the backend gives up, and not a connection that was idle.
    else if (this.#phase === NO_HEAD) this.retry = "closed";
    const why = code === HTTP_1_1_REQUIRED
      ? "asked for HTTP/1.1 (HTTP_1_1_REQUIRED)"
      : `reset the stream with ${errorName(code)}`;
    return new ProxyError("upstream_closed", why);
  }

  override check(now: number): void {
    // A backend that has answered may stop reading the request (RFC 9113 §8.1).
    const isTunnel = this.#tunnelKey !== null;
    if (this.#phase < FINAL || isTunnel) super.check(now);
    if (this.isClosed) return;
    if (this.#phase === RELEASED) {
      if (now < this.#deadline) return;
    } else if (this.#phase === FINAL) {
      if (isTunnel || !this.body.isOverdue(now)) return;
    } else if (now < this.#deadline) {
      return;
    } else if (this.#sentUnasked !== -1 && this.sender.sent !== this.#sentUnasked) {
      return this.#endContinue();
    }
    this.reset(CANCEL, new ProxyError("upstream_timeout"));
  }

  override breakUnprocessed(error: ProxyError): void {
    this.retry = "unprocessed";
    this.break(error);
  }

  protected broken(error: ProxyError): void {
    // A client that waits for a 100 (Continue) waits for the backend.
    this.awaitedClient = error.code === "upstream_closed" && this.#phase < FINAL &&
      this.#isSending && this.sender.isReading && this.sender.sent !== this.#sentUnasked;
    this.#failed(error);
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.reject(error);
    this.#leave();
  }

  protected finished(): void {
    if (this.sender.hasFailed) this.#onWriteClosed?.();
    // What its client has not read yet holds part of the connection's window. If its place were given to others
    // before, slow clients could hold all of the window.
    if (!this.body.isConsumed) return;
    this.#leave();
    if (this.#phase === RELEASED) this.#giveBack();
  }

  /** Of a request that has failed without a head: whether it may be sent again. */
  #failed(error: ProxyError): void {
    if (this.retry !== null || this.#phase !== NO_HEAD || error.code !== "upstream_closed") return;
    this.retry = this.connectionUse === "proven" ? "closed_idle" : "closed";
  }

  // ── The answer ──────────────────────────────────────────────────────────────────────────────

  #answerReceived(isEnd: boolean, decoder: HeadDecoder): void {
    const { limits } = this.connection.options;
    // The one that was given last holds until the next is asked for.
    const answer = this.#phase !== NO_HEAD && this.#waiting === null || this.#coming.length > 0
      ? new Answer()
      : this.#current;
    const { block, head } = answer;
    block.begin(limits.responseHeadBytes, limits.responseFields, false);
    if (!decoder.decode(block)) return;
    this.#phase = INTERIM;
    this.#client.hasAnswered = true;
    const method = this.#tunnelKey !== null ? "CONNECT" : this.#method;
    const wrong = readResponseHead(block, method, isEnd, head);
    if (wrong !== null) return this.#malformed(wrong);
    if (head.status < 200) {
      if (++this.#interims > MAX_INTERIMS) return this.#malformed("interim heads without end");
      if (head.status === 100 && this.#isSending) this.#endContinue();
      if (this.#isTooMany(head.status)) return;
    } else {
      this.#phase = FINAL;
      this.#deadline = NO_DEADLINE;
      this.#begin(answer, isEnd);
    }
    this.#give(answer);
    if (isEnd && !this.isClosed) this.endRemote();
  }

  /** Hints that nobody takes are left out; that a client may send its body, it must learn once. */
  #isTooMany(status: number): boolean {
    if (this.#coming.length < MAX_WAITING) return false;
    return status !== 100 || this.#coming.some(({ head }) => head.status === 100);
  }

  /** The final head has come. */
  #begin({ block, head }: Answer, isEnd: boolean): void {
    const { status } = head;
    const key = this.#tunnelKey;
    if (key !== null && status < 300 && !isEnd) {
      // RFC 8441 §5: what HTTP/1.1 says with 101.
      head.fields = switchingFields(block.fields, key);
      head.status = 101;
      head.reason = "Switching Protocols";
      head.contentLength = -1;
      this.body.begin(-1, 0, 0);
      return;
    }
    if (key !== null) {
      this.#tunnelKey = null;
      this.sender.end();
    }
    const expected = hasNoBody(this.#method, status) ? 0 : head.contentLength;
    const isGrpc = this.#request!.isGrpc && hasGrpc(head.fields);
    this.body.begin(expected, isGrpc ? this.#grpcIdleTimeout : this.#bodyTimeout, 0);
    if (isEnd) this.body.finish(null);
  }

  #give(answer: Answer): void {
    const waiting = this.#waiting;
    if (waiting === null) {
      this.#coming.push(answer);
      return;
    }
    this.#waiting = null;
    this.#current = answer;
    waiting.resolve(answer.head);
  }

  #trailersReceived(isEnd: boolean, decoder: HeadDecoder): void {
    const { limits } = this.connection.options;
    const block = this.#trailers ??= new HeadBlock();
    block.begin(limits.responseHeadBytes, limits.responseFields, true);
    if (!decoder.decode(block)) return;
    if (!isEnd) return this.#malformed("a second final head");
    const trailers = readTrailers(block);
    if (typeof trailers === "string") return this.#malformed(trailers);
    const wrong = this.body.finish(trailers.count > 0 ? trailers : null);
    if (wrong !== null) return this.wrongLength(wrong);
    // Whoever waits for more of the body learns that there is none.
    this.connection.stirred(this);
    this.endRemote();
  }

  #malformed(wrong: string): void {
    this.reset(PROTOCOL_ERROR, new ProxyError("upstream_malformed", wrong));
  }

  /** Whom we ask, and how often, is for us to say: it uses up no budget of the backend's. */
  override wrongLength(problem: LengthProblem): void {
    this.#malformed(this.#phase >= FINAL ? problem : "DATA before a head");
  }

  override endRemote(): void {
    if (this.#phase >= FINAL) super.endRemote();
    else this.#malformed("an end without an answer");
  }

  // ── The request ─────────────────────────────────────────────────────────────────────────────

  #awaitHead(): void {
    this.#deadline = this.connection.options.deadlines.in(this.#headTimeout);
  }

  /** No 100 (Continue) is waited for any more: from now on the time limits of the client's body count. */
  #endContinue(): void {
    this.#sentUnasked = -1;
    this.#deadline = NO_DEADLINE;
  }

  readonly #sent = (): void => {
    this.#isSending = false;
    this.#sentUnasked = -1;
    if (this.#phase < FINAL) this.#awaitHead();
  };

  /** A client that breaks off its body ends the exchange; where the stream broke, it knows. */
  readonly #sendingFailed = (thrown: unknown): void => {
    this.#isSending = false;
    // It has been told; or its answer is whole, and stays so (RFC 9113 §8.1).
    if (!this.isClosed) this.abort(asProxyError(thrown, "internal"));
  };

  override reset(code: number, error: ProxyError): void {
    const isOpen = this.id !== 0 && !this.isClosed;
    super.reset(code, error);
    if (isOpen) this.#client.wasReset();
  }

  /** The connection has ended since it took its place there: nothing has been sent. */
  #refuse(): void {
    this.retry = "unprocessed";
    this.failure ??= new ProxyError("upstream_closed", "closed the connection before it was asked");
    this.#leave();
  }

  /** It has ended well, and may serve another request: nothing of this one comes any more. */
  #giveBack(): void {
    if (this.failure !== null || this.#isSending || this.sender.isReading) return;
    this.#client.giveBack(this);
  }

  /** Gives its place to another. */
  #leave(): void {
    if (!this.#hasPlace) return;
    this.#hasPlace = false;
    this.#client.left();
  }
}

/** Nothing follows the head. */
function isEmpty(body: Body, payload: Uint8Array | null): boolean {
  return payload === null && body.done && body.trailers === null;
}
