/**
 * One HTTP/1 connection from a client. In: its transport. Out: one exchange after another for the
 * handler (`forwarder.ts`), answers in order, and a connection closed when anything is in doubt.
 *
 *     idle ──first byte──▶ head ──whole──▶ exchange ──answered──▶ idle | closed
 *       └─ idle timeout     └─ head timeout, total   └─ body, write timeouts by progress
 *
 * A connection serves one request at a time: pipelined ones wait in the input, so that answers are
 * in order and a client that does not read its answers is not served more of them.
 *
 * Most connections are idle at most times. One that is has a read under way and no more: no function
 * waits for it, and what it works with (`desk.ts`) is let go after a moment.
 */
import { type Deadlined, NO_DEADLINE } from "../io/deadlines.ts";
import { asProxyError, type ErrorCode, ProxyError } from "../errors.ts";
import type { Client } from "../http/message.ts";
import { closeQuietly, type Transport } from "../io/transport.ts";
import { Answers } from "./answers.ts";
import { Desk } from "./desk.ts";
import { PROBE } from "./half_closed.ts";
import { closeUnlessBusy } from "./idle_close.ts";
import { Pipelining } from "./pipelining.ts";
import type { ServerConnectionContext } from "../http/downstream.ts";
import { turnNow } from "../io/turn_clock.ts";

/** After an answer that closes, unread bytes are taken for this long (ms), so that no RST eats it. */
const LINGER = 2_000;
/** Sweeps that find it resting before it leaves its desk: in a burst of requests that is kept. */
const RESTS = 2;

const IDLE = 0;
const HEAD = 1;
const EXCHANGE = 2;
const TUNNEL = 3;
const LINGERING = 4;
const CLOSED = 5;

export class ServerConnection extends Answers implements Deadlined {
  /** What a client has sent that has begun HTTP/2: it is served no further here (RFC 9113 §3.4). */
  preface: Uint8Array | null = null;
  /** Waits for a request of which no byte has come. */
  #isResting = false;
  /** Sweeps that have found it resting. */
  #rests = 0;
  readonly #pipelining = new Pipelining();
  #ended: () => void = () => {};
  #phase = HEAD;
  #deadline = NO_DEADLINE;
  /** An exchange may hold views of the buffers: they are not to be lent to another connection. */
  #lent = false;
  /** An answer to a deadline is under way, and then the connection ends. */
  #expired = false;
  /** In a drain: how long (ms) it may be idle. */
  #grace = 0;

  constructor(transport: Transport, client: Client, context: ServerConnectionContext) {
    super(transport, client, context);
    this.input.onWatched = () => this.#clientMoved();
  }

  get isOver(): boolean {
    return this.#phase !== EXCHANGE || this.responded;
  }

  /** An exchange is under way; else the connection may be closed without loss. */
  get isBusy(): boolean {
    return this.#phase !== IDLE && this.#phase !== HEAD || this.#hasBegun ||
      this.#pipelining.isWaiting || this.desk !== null && this.desk.output.pending !== null;
  }

  /** A byte of the next request has come. */
  get #hasBegun(): boolean {
    return !this.#isResting && this.desk !== null && this.desk.reader.hasBegun;
  }

  /** Since when nothing has been under way, in ms, monotonic; Infinity while something is. */
  get idleSince(): number {
    if (this.isBusy) return Infinity;
    const { limits, deadlines } = this.context;
    const timeout = this.requests === 0 ? limits.requestHeadTimeout : limits.clientIdleTimeout;
    return deadlines.since(this.#deadline, timeout);
  }

  /**
   * Serves the connection to its end, or to a preface: then the transport is the caller's. Never
   * rejects.
   */
  serve(): Promise<void> {
    this.context.deadlines.add(this);
    this.#beginWait();
    return new Promise((resolve) => {
      this.#ended = resolve;
      this.#run();
    });
  }

  /** Serves what has come, until nothing has: then it rests. What is waited for goes on from there. */
  #run(): void {
    try {
      while (!this.#rest()) {
        const wasForwarded = this.desk !== null && this.desk.record.endpoint !== null;
        if (this.#pipelining.mustWait(wasForwarded)) {
          return this.#pipelining.wait(() => this.#run());
        }
        const received = this.#receive();
        if (received === false) return this.#leave();
        if (received !== true) {
          received.then(this.#received, this.#broke);
          return;
        }
        if (!this.#handle()) return;
      }
    } catch (error) {
      this.#broke(error);
    }
  }

  /** True when the next request may come; else it is waited, or has been left. */
  #handle(): boolean {
    const handling = this.context.handler(this);
    if (handling === undefined) return this.#next();
    handling.then(this.#handled, this.#broke);
    return false;
  }

  /** As `#handle`, once an exchange is over. */
  #next(): boolean {
    this.end();
    const settled = this.#settle();
    if (settled === true) this.#beginWait();
    else if (settled === false) this.#leave();
    else settled.then(() => this.#leave(), this.#broke);
    return settled === true;
  }

  readonly #received = (isWhole: boolean): void => {
    try {
      if (!isWhole) this.#leave();
      else if (this.#handle()) this.#run();
    } catch (error) {
      this.#broke(error);
    }
  };

  readonly #handled = (): void => {
    try {
      if (this.#next()) this.#run();
    } catch (error) {
      this.#broke(error);
    }
  };

  readonly #broke = (error: unknown): void => {
    this.fail(asProxyError(error, "internal"));
    this.#leave();
  };

  /** True where nothing can be done until something comes: `#clientMoved` goes on then. */
  #rest(): boolean {
    const input = this.input;
    if (this.#phase === CLOSED || !input.isEmpty || input.isOver) return false;
    input.watch();
    this.#rests = 0;
    this.#pipelining.rest();
    return this.#isResting = true;
  }

  #wake(): void {
    this.#isResting = false;
    if (this.input.isEmpty) this.#leave();
    else this.#run();
  }

  #leave(): void {
    this.close();
    this.#ended();
  }

  /** A head arrives: it is read, and then answered, with these. */
  #takeDesk(): Desk {
    const desk = new Desk(this.context, this.input, this.transport, () => {
      this.fail(new ProxyError("client_gone"));
      return this.failure!;
    });
    desk.body.onEnd = () => this.#watchClient();
    return this.desk = desk;
  }

  #leaveDesk(): void {
    this.added = null;
    this.addedAuthority = "";
    this.desk = null;
  }

  /** Closes at once, whatever is under way. */
  close(): void {
    if (this.#phase === CLOSED) return;
    this.#phase = CLOSED;
    this.context.deadlines.delete(this);
    this.desk?.record.bodyCounts?.leave(this);
    if (this.preface === null) closeQuietly(this.transport);
    // Mostly there is nobody to tell, and an error is dear.
    if (this.onAbort !== null) this.#abort(this.failure ?? new ProxyError("client_gone"));
    // Cut off in an exchange, its buffers are left to the garbage collector.
    if (!this.#lent) {
      this.desk?.body.release();
      this.input.release();
      this.desk?.readAhead.end();
    }
    if (!this.#isResting && !this.#pipelining.cancel()) return;
    this.#isResting = false;
    this.#leave();
  }

  /** Ends what is overdue. */
  check(now: number): void {
    const desk = this.desk;
    if (desk !== null) {
      if (desk.output.isOverdue(now)) return this.fail(new ProxyError("client_stalled"));
      if (this.#phase === EXCHANGE && this.input.ended) this.#checkHalfClosed(now);
      // An early answer is heard out, and what outlives its exchange has no deadline of its own.
      const isUploading = this.#phase === EXCHANGE && !this.#expired && !this.responded;
      if (isUploading && desk.body.isOverdue(now)) return this.#expire("body_timeout");
      if (this.#isResting && ++this.#rests >= RESTS && desk.isFree) this.#leaveDesk();
    }
    if (now < this.#deadline) return;
    // The last answer is still being taken: its own deadline runs.
    if (this.#phase === IDLE && desk?.output.writing) return;
    this.#deadline = NO_DEADLINE;
    switch (this.#phase) {
      case HEAD:
        if (this.#hasBegun) this.#expire(desk!.reader.refusal ?? "head_timeout");
        else this.#closeIdle();
        break;
      case IDLE:
        this.#closeIdle();
        break;
      default:
        this.close();
    }
  }

  #closeIdle(): void {
    closeUnlessBusy(() => this.isBusy, () => this.close());
  }

  /**
   * Makes the next exchange the last: a client that hears so sends no more, whereas one whose idle
   * connection is closed may have a request on its way (RFC 9112 §9.5).
   */
  retire(): void {
    this.retired = true;
  }

  /**
   * Makes the next answer that begins the last. An idle connection closes after `grace` ms, so that
   * a request that is on its way already is still answered.
   */
  drain(grace: number): void {
    this.retire();
    this.#grace = grace;
    if (this.#phase === IDLE || (this.#phase === HEAD && !this.#hasBegun)) {
      this.#deadline = Math.min(this.#deadline, this.context.deadlines.in(grace));
    }
  }

  // ── Requests ────────────────────────────────────────────────────────────────────────────────

  /** Begins to wait for the next head. */
  #beginWait(): void {
    const { limits, deadlines } = this.context;
    const isFirst = this.requests === 0;
    this.desk?.body.release();
    this.#phase = isFirst ? HEAD : IDLE;
    const timeout = isFirst ? limits.requestHeadTimeout : limits.clientIdleTimeout;
    this.#deadline = deadlines.in(this.#grace || timeout);
  }

  /**
   * The next head, of which something has come. False when the connection is to end, answered where
   * that is due.
   */
  #receive(): boolean | Promise<boolean> {
    const desk = this.desk ?? this.#takeDesk();
    desk.record.begin();
    desk.reader.begin();
    return this.#advance() ?? this.#receiveRest();
  }

  async #receiveRest(): Promise<boolean> {
    const input = this.input;
    const { reader } = this.desk!;
    for (;;) {
      if (input.isOver) return reader.refusal !== null && this.#refuse(reader.refusal);
      reader.makeRoom();
      await input.fill();
      if (this.#expired) return false;
      const received = this.#advance();
      if (received !== null) return received;
    }
  }

  /** As `#receive`; null where more must come. */
  #advance(): boolean | Promise<boolean> | null {
    const { reader, record, request } = this.desk!;
    const result = reader.advance();
    if (reader.hasBegun || result !== "pending") {
      if (record.startedAt === 0) {
        record.startedAt = turnNow();
        record.bytesOut = -this.desk!.output.sent;
      }
      if (this.#phase === IDLE) this.#beginHead();
      record.method = request.method;
      record.version = request.version;
    }
    if (result === "pending") return null;
    if (result !== "complete") {
      if (this.context.h2c && !this.client.secure && this.requests === 0) {
        this.preface = reader.preface;
        if (this.preface !== null || reader.isForeign) return false;
      }
      if (result.whole) record.bytesIn = reader.size;
      return this.#refuse(result.code);
    }
    record.bytesIn = reader.size;
    record.hasHead = true;
    this.#beginExchange(request.bodyLength);
    return true;
  }

  #beginHead(): void {
    this.#phase = HEAD;
    this.#deadline = this.context.deadlines.in(this.context.limits.requestHeadTimeout);
  }

  #beginExchange(bodyLength: number): void {
    this.#phase = EXCHANGE;
    this.#deadline = NO_DEADLINE;
    this.requests++;
    this.#lent = true;
    this.responded = false;
    this.onAbort = null;
    this.desk!.halfClosed.begin();
    if (this.input.ended) this.desk!.halfClosed.ended(this.context.deadlines.now);
    this.desk!.body.begin(bodyLength, false);
    this.desk!.body.awaitsContinue = this.request.expectsContinue && this.input.isEmpty;
    this.payload = this.desk!.body.isBuffered ? this.desk!.body.read() as Uint8Array | null : null;
    if (this.desk!.body.done) this.#watchClient();
  }

  /** Once the request is complete, its client's end is watched for. */
  #watchClient(): void {
    if (!this.desk!.body.done) return;
    this.record.bodyCounts?.leave(this);
    if (this.#phase === EXCHANGE) this.desk!.readAhead.begin();
  }

  /** A watched read has settled: the next request's first bytes, FIN or a reset. */
  #clientMoved(): void {
    if (this.#isResting) return this.#wake();
    if (this.#phase !== EXCHANGE) return;
    if (this.input.failed !== null) this.fail(new ProxyError("client_gone"));
    else if (this.input.ended) {
      const { now } = this.context.deadlines;
      this.desk!.halfClosed.ended(now);
      this.#checkHalfClosed(now);
    } else this.#watchClient();
  }

  #checkHalfClosed(now: number): void {
    // A write under way tells by itself.
    if (this.desk!.output.writing) return;
    // HTTP/1.0 knows no interim responses to probe with: it is left to its answer.
    if (!this.responded && this.request.version === 10) return;
    const verdict = this.desk!.halfClosed.check(now, this.responded);
    if (verdict === "probe") this.desk!.output.writeLater(PROBE);
    else if (verdict === "touch") this.desk!.output.touch();
    else if (verdict === "gone") this.fail(new ProxyError("client_gone"));
  }

  protected override tunnelBegins(): void {
    this.#phase = TUNNEL;
  }

  // ── Ends ────────────────────────────────────────────────────────────────────────────────────

  /** After an exchange: true, at once, when the next request may come. */
  #settle(): boolean | Promise<false> {
    if (this.#phase === CLOSED) return false;
    const unread = !this.desk!.body.done;
    this.#lent = unread;
    if (!this.responded) {
      this.fail(
        this.input.isOver
          ? new ProxyError("client_gone")
          : new ProxyError("internal", "an exchange ended without an answer"),
      );
      return false;
    }
    if (this.closeAfter || unread) return this.#settleLast(unread);
    this.payload = null;
    this.desk!.readAhead.end();
    return true;
  }

  async #settleLast(unread: boolean): Promise<false> {
    await this.desk!.output.pending;
    await this.#close(unread || !this.input.isEmpty);
    return false;
  }

  /** Answers an error of the head, and ends the connection. */
  async #refuse(code: ErrorCode): Promise<false> {
    const error = new ProxyError(code);
    this.context.onError(error, this.client);
    this.#deadline = NO_DEADLINE;
    this.#phase = EXCHANGE;
    await this.desk!.output.pending;
    this.#beginRefusal();
    const { head, body } = this.context.answer(code, this);
    try {
      const answering = this.respond(head, body);
      this.refused(code, head);
      await answering;
      await this.desk!.output.pending;
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
    if (this.#expired || (this.responded && !inHead)) return this.fail(error);
    this.#expired = true;
    this.closeAfter = true;
    if (inHead) {
      this.context.onError(error, this.client);
      this.#beginRefusal();
    }
    const { head, body } = this.context.answer(code, this);
    const fail = () => this.fail(error);
    const answering = this.respond(head, body);
    if (inHead) this.refused(code, head);
    // At once, so that no answer of the backend's follows this one.
    this.#abort(error);
    Promise.resolve(answering).then(() => this.desk!.output.pending).then(() => {
      this.#deadline = this.context.deadlines.in(LINGER);
      return this.transport.closeWrite();
    }).catch(fail);
  }

  /** What could be read of the request is in doubt: the answer is to a plain HTTP/1.1 GET or HEAD. */
  #beginRefusal(): void {
    this.request.method = this.desk!.reader.isHead ? "HEAD" : "GET";
    this.request.version = 11;
    this.added = null; // the request before's
    this.responded = false;
    this.desk!.connection.keepAlive = false;
    this.desk!.body.begin(0, false);
  }

  /** Ends the connection for a reason; the exchange under way learns it. */
  protected override fail(error: ProxyError): void {
    if (this.failure === null) {
      this.failure = error;
      if (this.#phase !== CLOSED) this.context.onError(error, this.client);
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
    if (linger && this.#phase !== CLOSED && !this.input.isOver) {
      this.#phase = LINGERING;
      this.#deadline = this.context.deadlines.in(LINGER);
      await this.transport.closeWrite().catch(() => {});
      await this.input.discard(() => this.#phase === LINGERING);
    } else if (this.client.secure && this.#phase !== CLOSED) {
      // Without TLS's own farewell a client must take an answer that ends here for cut off.
      this.#phase = LINGERING;
      this.#deadline = this.context.deadlines.in(LINGER);
      await this.transport.closeWrite().catch(() => {});
    }
    this.close();
  }
}
