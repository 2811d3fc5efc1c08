/**
 * One HTTP/1 connection to a backend. In: a request's head and body. Out: the response's head and
 * body, and whether the connection may serve another request.
 *
 * While idle it has a read under way, which notices a backend that closes or speaks out of turn;
 * that read becomes the next response's first. Request and response may overlap: a backend may
 * respond before the upload has ended.
 */
import type { Buffers } from "../io/buffer_pool.ts";
import { type Deadlined, type Deadlines, NO_DEADLINE } from "../io/deadlines.ts";
import { asProxyError, type ErrorCode, ProxyError } from "../errors.ts";
import { Fields } from "../http/fields.ts";
import type { Limits, Timeouts } from "../http/limits.ts";
import type { Body } from "../http/body.ts";
import {
  type Duplex,
  type HeadReceiver,
  type RequestHead,
  ResponseHead,
  type RetryReason,
  UNKNOWN_LENGTH,
  type UpstreamExchange,
} from "../http/message.ts";
import { closeQuietly, type Transport } from "../io/transport.ts";
import { InputBody } from "./body.ts";
import { writeBody } from "./body_writer.ts";
import { HeadParser } from "./head_parser.ts";
import { Input } from "../io/input.ts";
import { Output } from "../io/output.ts";
import { requestHeadSize, writeRequestHead } from "./request_writer.ts";
import { upgradeOf } from "./upgrade.ts";
import { readResponseFields, readStatusLine, type ResponseConnection } from "./response_head.ts";

export interface Http1ClientContext {
  readonly limits: Limits;
  readonly buffers: Buffers;
  readonly deadlines: Deadlines;
}

export class Http1ClientConnection implements UpstreamExchange, Deadlined {
  deadlinePlace = -1;
  readonly response = new ResponseHead(Fields.usual());
  /** Has served a request before: its end may only mean that the backend was done with it. */
  #isReused = false;
  /** A byte of the response under way has come, be it of an interim one. */
  #hasResponded = false;
  /** Of the head under way; 0 before its first line. */
  #version: 0 | 10 | 11 = 0;
  #receiver: HeadReceiver | null = null;
  /** The final head has come. */
  #headed = false;
  /** In ms, monotonic. */
  readonly openedAt: number;
  /** Called when it closes while idle. */
  onIdleClose: (() => void) | null = null;
  readonly #transport: Transport;
  readonly #context: Http1ClientContext;
  readonly #input: Input;
  readonly #output: Output;
  readonly #parser: HeadParser;
  readonly #body: InputBody;
  readonly #connection: ResponseConnection = { keepAlive: false, untilClose: false };
  #method = "";
  #upgrade = "";
  #closed = false;
  #idle = false;
  #deadline = NO_DEADLINE;
  /** Of the exchange under way. */
  #timeouts: Timeouts;
  /** Why the exchange under way has failed; the next `receiveThen` gives it. */
  #failure: ProxyError | null = null;
  awaitedClient = false;
  #uploading = false;
  /** The backend is to respond before the body goes on: with 100 (Continue), or as it reads no more of it. */
  #awaitsBackend = false;
  /** Bytes pass both ways: their deadlines are the tunnel's. */
  #tunnel = false;

  constructor(transport: Transport, context: Http1ClientContext) {
    const { limits, buffers, deadlines } = context;
    this.#transport = transport;
    this.#context = context;
    this.#timeouts = limits;
    this.openedAt = deadlines.now;
    this.#input = new Input(transport, buffers.head);
    this.#output = new Output(
      transport,
      deadlines,
      limits.writeTimeout,
      0, // A backend is slow for reasons of its own.
      this,
      (cause) => {
        if (cause instanceof Deno.errors.ConnectionReset) this.#input.reset = cause;
        return this.#failure ??
          new ProxyError("upstream_closed", "closed while it was sent to", { cause });
      },
    );
    this.#parser = new HeadParser(
      this.response.fields,
      limits.responseHeadBytes,
      limits.responseFields,
    );
    this.#body = new InputBody(this.#input, buffers.bulk, {
      malformed: "upstream_malformed",
      cut: "upstream_closed",
      tooLarge: "upstream_malformed",
      trailersTooLarge: "upstream_malformed",
      maxTrailerBytes: limits.responseHeadBytes,
      maxTrailerFields: limits.responseFields,
    }, buffers.idle);
    const headMoved = (bytes: Uint8Array<ArrayBuffer>) => this.response.fields.bytes = bytes;
    const waits = (waiting: boolean) => {
      if (this.#tunnel) return;
      // Later than the one before, and so nothing to be stirred for.
      this.#deadline = waiting ? deadlines.in(this.#timeouts.responseBodyTimeout) : NO_DEADLINE;
    };
    const watched = () => {
      // Bytes without a request would be read as the response to the next one (RFC 9112 §9.2).
      if (this.#idle) this.close();
    };
    this.#body.onHeadMoved = headMoved;
    this.#body.onWait = waits;
    this.#input.onWatched = watched;
    deadlines.add(this);
  }

  get protocol(): "http/1.1" {
    return "http/1.1";
  }

  /** The body of the response whose head `receiveThen` has given. */
  get body(): Body {
    return this.#body;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Why it was closed, if an exchange failed. */
  get failure(): ProxyError | null {
    return this.#failure;
  }

  /** RFC 9112 §9.3.1; by HTTP/1.1 a backend cannot say that it has not processed a request. */
  get retry(): RetryReason | null {
    if (this.#hasResponded || this.#failure?.code !== "upstream_closed") return null;
    return this.#isReused ? "closed_idle" : "closed";
  }

  /**
   * Sends a request. `payload` is its whole body where that is at hand; otherwise `body` is pulled
   * while `receiveThen` waits. `host` is the value of its Host field,
   * `timeouts` are those of the attempt.
   */
  send(
    request: RequestHead,
    added: Fields | null,
    host: string,
    payload: Uint8Array | null,
    body: Body,
    timeouts: Timeouts,
  ): void {
    const { buffers } = this.#context;
    this.#timeouts = timeouts;
    this.#output.timeout = timeouts.writeTimeout;
    this.#idle = false;
    this.#deadline = NO_DEADLINE; // That of its time in the pool.
    this.#hasResponded = false;
    this.#headed = this.#awaitsBackend = this.awaitedClient = false;
    this.#method = request.method;
    this.#upgrade = request.upgrade;
    const chunked = request.bodyLength === UNKNOWN_LENGTH;
    const payloadSize = payload === null || chunked ? 0 : payload.length;
    const size = requestHeadSize(request, added);
    const whole = size + payloadSize <= buffers.out.size;
    const out = whole ? buffers.out.take() : new Uint8Array(size + payloadSize);
    let at = writeRequestHead(out, request, added, host);
    if (payload !== null && !chunked) {
      out.set(payload, at);
      at += payload.length;
    }
    // A body in chunks has an end to be written, also where all of it or nothing is at hand. What
    // follows a request for a tunnel is for the tunnel alone: to a backend that opens none it would
    // be another request.
    if (!chunked && (payload !== null || body.done || this.#upgrade !== "")) {
      if (whole) this.#awaitHead();
      this.#output.writeLater(out, at, buffers.out, this.#uploadFailed);
      // The backend's time runs from the last byte; until then there is the deadline of the write.
      if (!whole) {
        this.#output.pending!.then(() => {
          if (!this.#headed && !this.#closed) this.#awaitHead();
        });
      }
    } else {
      this.#uploading = true;
      const first = payload ?? body.read();
      if (request.expectsContinue && first instanceof Promise) this.#awaitContinue(first);
      writeBody(out, at, first, body, chunked, false, this.#output, buffers.out).then(
        () => {
          this.#uploading = false;
          if (!this.#headed) this.#awaitHead();
        },
      ).catch(this.#uploadFailed);
    }
  }

  /** As `receiveThen`, by a promise. */
  receive(): Promise<ResponseHead> {
    return new Promise((resolve, reject) =>
      this.receiveThen({
        received: (error) => error === null ? resolve(this.response) : reject(error),
      })
    );
  }

  receiveThen(receiver: HeadReceiver): void {
    this.#beginHead();
    this.#receiver = receiver;
    this.#goOn();
  }

  #goOn(): void {
    let error: unknown = null;
    try {
      if (!this.#advance()) return this.#input.fillThen(this.#filled);
    } catch (thrown) {
      error = thrown;
    }
    this.#receiver!.received(error);
  }

  readonly #filled = (): void => {
    this.#arrived();
    this.#goOn();
  };

  #arrived(): void {
    if (!this.#input.isEmpty) this.#hasResponded = true;
  }

  #beginHead(): void {
    this.#version = 0;
    this.#parser.begin(this.#input.bytes, this.#input.start, true);
  }

  /** Reads on in what has arrived: true once the head is whole, false where it wants more. */
  #advance(): boolean {
    const input = this.#input;
    const parser = this.#parser;
    const { limits } = this.#context;
    for (;;) {
      const result = input.isEmpty ? "pending" : parser.parse(input.end);
      if (result === "complete") break;
      if (result === "start_line") {
        this.#version = readStatusLine(
          input.bytes,
          parser.startLineStart,
          parser.startLineEnd,
          this.response,
        );
        if (this.#version === 0) throw this.#fail("upstream_malformed", "a bad status line");
      } else if (result === "pending") {
        if (input.isOver) {
          throw this.#failure ??
            this.#fail("upstream_closed", "closed before its answer was whole");
        }
        const room = input.makeRoom(limits.responseHeadBytes);
        if (room !== "room" || input.isEmpty) parser.begin(input.bytes, input.start, true);
        return false;
      } else {
        throw this.#fail("upstream_malformed", `a head that is ${result}`);
      }
    }
    if (parser.startLineStart !== input.start) {
      throw this.#fail("upstream_malformed", "an empty line before the status line");
    }
    input.start = parser.end;
    const { response } = this;
    const wrong = readResponseFields(response, this.#version || 11, this.#method, this.#connection);
    if (wrong !== null) throw this.#fail("upstream_malformed", wrong);
    if (response.status === 101) {
      // RFC 9110 §15.2.2: only to what was asked for, and only to that protocol.
      if (this.#upgrade === "" || upgradeOf(response.fields) !== this.#upgrade) {
        throw this.#fail("upstream_malformed", "101 (Switching Protocols) to what was not asked");
      }
      this.#headed = true;
      this.#deadline = NO_DEADLINE;
      this.#connection.keepAlive = false;
      this.#body.beginTunnel();
      this.#tunnel = true;
    }
    if (response.status === 100 && this.#uploading) this.#endContinue();
    if (response.status >= 200) {
      this.#headed = true;
      this.#deadline = NO_DEADLINE;
      this.#context.deadlines.stir(this);
      this.#body.begin(response.bodyLength, this.#connection.untilClose);
    }
    return true;
  }

  /** The backend's end of a tunnel, after `receiveThen` has given a 101. */
  duplex(): Duplex {
    return {
      body: this.#body,
      write: (view) => this.#output.write(view),
      sink: this.#output,
      end: () => this.#transport.closeWrite(),
      abort: this.abort,
    };
  }

  /**
   * Ends the exchange: true when the connection may serve another, false (and then it is closed)
   * when the backend closes, has more to say, or has not taken the whole request.
   */
  finish(): boolean {
    if (
      this.#closed || !this.#connection.keepAlive || !this.#body.done || this.#uploading ||
      this.#output.writing || !this.#input.isEmpty || this.#input.isOver
    ) {
      // All of the response has been handed over, so its buffers may be lent again.
      this.#idle = true;
      this.close();
      return false;
    }
    this.#body.release();
    this.#isReused = true;
    this.rest();
    return true;
  }

  /** Waits, in a pool, for its next request or its first. */
  rest(): void {
    this.#idle = true;
    this.#deadline = this.#context.deadlines.in(this.#context.limits.upstreamIdleTimeout);
    this.#context.deadlines.stir(this);
    this.#input.watch();
  }

  /** Ends it with the exchange under way, which fails with `error`. */
  abort = (error: ProxyError): void => {
    this.#failure ??= error;
    this.close();
  };

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#context.deadlines.delete(this);
    closeQuietly(this.#transport);
    // A write under way may still succeed: it must not pull the body, which may be the next request's by then.
    if (this.#uploading) this.#output.endWrites();
    // Cut off in an exchange, its buffers are left to the garbage collector: the response's head and
    // views of its body may still be on their way to the client.
    if (!this.#idle) return;
    this.#idle = false;
    this.#body.release();
    this.#input.release();
    this.onIdleClose?.();
  }

  check(now: number): number | void {
    this.#output.directWriter?.look();
    // A backend that responds before it has read the whole request may stop reading it (RFC 9112 §9.5).
    const writing = this.#headed && !this.#tunnel ? NO_DEADLINE : this.#output.deadline;
    if (now >= this.#deadline) this.#renewByDirectReads();
    if (now < this.#deadline && now < writing) return Math.min(this.#deadline, writing);
    if (this.#idle) this.close();
    else this.abort(new ProxyError("upstream_timeout"));
  }

  /** Each direct read extends the deadline of the body; while bytes are being written there is none. */
  #renewByDirectReads(): void {
    const { directReader } = this.#body;
    if (directReader === null) return;
    const { deadlines } = this.#context;
    const since = directReader.isReading ? directReader.movedAt : deadlines.now;
    this.#deadline = Math.max(
      this.#deadline,
      deadlines.after(since, this.#timeouts.responseBodyTimeout),
    );
  }

  #awaitHead(): void {
    this.#deadline = this.#context.deadlines.in(this.#timeouts.responseHeadTimeout);
    this.#context.deadlines.stir(this);
  }

  /** The client may wait for a 100 (Continue): it is to come in time, unless the body does. */
  #awaitContinue(first: Promise<unknown>): void {
    this.#awaitHead();
    this.#awaitsBackend = true;
    const begun = () => {
      if (this.#uploading && !this.#headed) this.#endContinue();
    };
    first.then(begun, begun);
  }

  /** It is the client's turn now. */
  #endContinue(): void {
    this.#awaitsBackend = false;
    this.#deadline = NO_DEADLINE;
  }

  /**
   * A client that breaks off its body ends the exchange. A backend that stops reading may have
   * responded already (RFC 9112 §9.5): its response, or its closing, is read on.
   */
  #uploadFailed = (thrown: unknown): void => {
    const error = asProxyError(thrown, "internal");
    this.#awaitsBackend = error.side === "upstream";
    if (!this.#awaitsBackend) this.abort(error);
    else if (!this.#closed && !this.#headed) this.#awaitHead();
  };

  #fail(code: ErrorCode, detail: string): ProxyError {
    const error = new ProxyError(code, detail);
    this.#failure ??= error;
    this.awaitedClient = code === "upstream_closed" && this.#uploading && !this.#output.writing &&
      !this.#awaitsBackend;
    this.close();
    return error;
  }
}
