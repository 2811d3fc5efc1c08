/**
 * One HTTP/1 connection from a client. In: its transport. Out: one exchange after another for the
 * handler (`forwarder.ts`), responses in order, and a connection closed when anything is in doubt.
 *
 *     idle ──first byte──▶ head ──whole──▶ exchange ──responded──▶ idle | closed
 *       └─ idle timeout     └─ head timeout, total   └─ body, write timeouts by progress
 *
 * A connection serves one request at a time: pipelined ones wait in the input, so that responses are
 * in order and a client that does not read its responses is not served more of them.
 *
 * Most connections are idle at most times. One that is has a read under way and no more: no function
 * waits for it, and its exchange object (`http1_exchange.ts`) is dropped after a moment.
 */
import { type Deadlined, NO_DEADLINE } from "../io/deadlines.ts";
import { asProxyError, type ErrorCode, ProxyError } from "../errors.ts";
import type { ServerConnectionContext } from "../http/downstream.ts";
import type { Client } from "../http/message.ts";
import { Input } from "../io/input.ts";
import { closeQuietly, type Transport } from "../io/transport.ts";
import { type ExchangeOwner, Http1Exchange } from "./http1_exchange.ts";
import { closeUnlessBusy } from "./idle_close.ts";
import { Pipelining } from "./pipelining.ts";

/** After a response that closes, unread bytes are read for this long (ms), so that no RST drops it. */
const LINGER = 2_000;
/** After a last response, and with nothing unread, the client's FIN is waited for this long (ms). */
const FIN_WAIT_TIMEOUT = 200;
/** Sweeps that find it resting before it drops its exchange: in a burst of requests that is kept. */
const RESTS = 2;

const IDLE = 0;
const HEAD = 1;
const EXCHANGE = 2;
const TUNNEL = 3;
const LINGERING = 4;
const FIN_WAIT = 5;
const CLOSED = 6;

export class Http1ServerConnection implements ExchangeOwner, Deadlined {
  deadlinePlace = -1;
  place = -1;
  readonly transport: Transport;
  readonly client: Client;
  readonly context: ServerConnectionContext;
  readonly input: Input;
  failure: ProxyError | null = null;
  /** What a client has sent that has begun HTTP/2: it is served no further here (RFC 9113 §3.4). */
  preface: Uint8Array | null = null;
  /** Serves its requests in turn; null while it rests. */
  #exchange: Http1Exchange | null = null;
  /** How many requests have come whole. */
  #requests = 0;
  /** The next response is to be the last. */
  #isRetired = false;
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
  /** The local reply to a deadline is under way, and then the connection ends. */
  #expired = false;
  /** In a drain: how long (ms) it may be idle. */
  #grace = 0;

  constructor(transport: Transport, client: Client, context: ServerConnectionContext) {
    const { buffers } = context;
    this.transport = transport;
    this.client = client;
    this.context = context;
    this.input = new Input(transport, buffers.head, buffers.idle);
    const moved = () => this.#clientMoved();
    this.input.onWatched = moved;
  }

  get isServing(): boolean {
    return this.#phase === EXCHANGE;
  }

  get isLast(): boolean {
    const { context } = this;
    return this.#isRetired || this.#requests >= context.limits.requestsPerConnection ||
      context.isDraining();
  }

  /** An exchange is under way; else the connection may be closed without loss. */
  get isBusy(): boolean {
    if (this.#phase === FIN_WAIT) return false;
    return this.#phase !== IDLE && this.#phase !== HEAD || this.#hasBegun ||
      this.#pipelining.isWaiting ||
      this.#exchange !== null && this.#exchange.output.pending !== null;
  }

  /** A byte of the next request has come. */
  get #hasBegun(): boolean {
    return !this.#isResting && this.#exchange !== null && this.#exchange.headHasBegun;
  }

  /** Since when nothing has been under way, in ms, monotonic; Infinity while something is. */
  get idleSince(): number {
    if (this.isBusy) return Infinity;
    const { deadlines } = this.context;
    return deadlines.since(this.#deadline, this.#idleTimeout);
  }

  /** How long (ms) it may stay as it is, while nothing is under way. */
  get #idleTimeout(): number {
    if (this.#phase === FIN_WAIT) return FIN_WAIT_TIMEOUT;
    const { limits } = this.context;
    return this.#requests === 0 ? limits.requestHeadTimeout : limits.clientIdleTimeout;
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
        const exchange = this.#exchange ??= new Http1Exchange(this);
        if (this.#pipelining.mustWait(exchange.record.endpoint !== null)) {
          return this.#pipelining.wait(() => this.#run());
        }
        const received = this.#receive(exchange);
        if (received === false) return this.#leave();
        if (received !== true) {
          received.then((isWhole) => this.#received(exchange, isWhole), this.broke);
          return;
        }
        if (!this.#serve(exchange)) return;
      }
    } catch (error) {
      this.broke(error);
    }
  }

  /** True when the next request may come; else it is waited for, or the connection has ended. */
  #serve(exchange: Http1Exchange): boolean {
    return exchange.serve() && this.#next(exchange);
  }

  /** As `#serve`, once the exchange is over. */
  #next(exchange: Http1Exchange): boolean {
    exchange.end();
    if (!this.#settle(exchange)) return false;
    this.#beginWait();
    return true;
  }

  #received(exchange: Http1Exchange, isWhole: boolean): void {
    try {
      if (!isWhole) this.#leave();
      else if (this.#serve(exchange)) this.#run();
    } catch (error) {
      this.broke(error);
    }
  }

  exchangeServed(exchange: Http1Exchange): void {
    try {
      if (this.#next(exchange)) this.#run();
    } catch (error) {
      this.broke(error);
    }
  }

  readonly broke = (thrown: unknown): void => {
    this.fail(asProxyError(thrown, "internal"));
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

  /** Closes at once, whatever is under way. */
  close(): void {
    if (this.#phase === CLOSED) return;
    const isFinWait = this.#phase === FIN_WAIT;
    this.#phase = CLOSED;
    this.context.deadlines.delete(this);
    const exchange = this.#exchange;
    exchange?.leaveBodyCounts();
    if (this.preface === null) closeQuietly(this.transport);
    // Mostly nobody has to be stopped, and an error is dear.
    if (exchange !== null && exchange.cancellation.isAwaited) {
      exchange.cancellation.cancel(this.failure ?? new ProxyError("client_gone"));
    }
    // Cut off in an exchange, its buffers are left to the garbage collector.
    if (!this.#lent) {
      exchange?.release();
      this.input.release();
    }
    if (!this.#isResting && !isFinWait && !this.#pipelining.cancel()) return;
    this.#isResting = false;
    this.#leave();
  }

  /** Ends what is overdue. */
  check(now: number): number | void {
    const exchange = this.#exchange;
    if (exchange !== null) {
      if (exchange.output.isOverdue(now)) return this.fail(new ProxyError("client_stalled"));
      if (this.#phase === EXCHANGE && this.input.ended) exchange.checkHalfClosed(now);
      // A client that got its response early may send on, and what outlives its exchange has no deadline
      // of its own.
      const isUploading = !exchange.isOver && !this.#expired;
      if (isUploading && exchange.body.isOverdue(now)) {
        return this.#expire(exchange, "body_timeout");
      }
      if (this.#isResting && ++this.#rests >= RESTS && exchange.isFree) this.#exchange = null;
    }
    if (now < this.#deadline) return this.#isQuiet ? this.#deadline : undefined;
    // The last response is still being sent: its own deadline runs.
    if (this.#phase === IDLE && exchange?.output.writing) return;
    this.#deadline = NO_DEADLINE;
    switch (this.#phase) {
      case HEAD:
        if (exchange === null || !this.#hasBegun) this.#closeIdle();
        else this.#expire(exchange, exchange.refusal ?? "head_timeout");
        break;
      case IDLE:
        this.#closeIdle();
        break;
      default:
        this.close();
    }
  }

  /** Nothing is measured or probed: until bytes come or are sent, there is but the deadline. */
  get #isQuiet(): boolean {
    const exchange = this.#exchange;
    if (exchange === null) return this.#isResting;
    if (this.#phase === TUNNEL) return !exchange.output.writing;
    return this.#phase === EXCHANGE && exchange.isAtRest;
  }

  /** Sets a new deadline. */
  #endsAt(deadline: number): void {
    this.#deadline = deadline;
    this.context.deadlines.stir(this);
  }

  #closeIdle(): void {
    // A request that has been served meanwhile has set a new deadline.
    closeUnlessBusy(() => this.isBusy || this.#deadline !== NO_DEADLINE, () => this.close());
  }

  /**
   * Makes the next exchange the last: a client that hears so sends no more, whereas one whose idle
   * connection is closed may have a request on its way (RFC 9112 §9.5).
   */
  retire(): void {
    this.#isRetired = true;
  }

  /**
   * Makes the next response that begins the last. An idle connection closes after `grace` ms, so that
   * a request that is on its way already still gets its response.
   */
  drain(grace: number): void {
    this.retire();
    this.#grace = grace;
    if (this.#phase === IDLE || (this.#phase === HEAD && !this.#hasBegun)) {
      this.#endsAt(Math.min(this.#deadline, this.context.deadlines.in(grace)));
    }
  }

  // ── Requests ────────────────────────────────────────────────────────────────────────────────

  /** Begins to wait for the next head. */
  #beginWait(): void {
    const { limits, deadlines } = this.context;
    const isFirst = this.#requests === 0;
    this.#exchange?.body.release();
    this.#phase = isFirst ? HEAD : IDLE;
    const timeout = isFirst ? limits.requestHeadTimeout : limits.clientIdleTimeout;
    this.#endsAt(deadlines.in(this.#grace || timeout));
  }

  /**
   * Reads the next head, of which something has come. False when the connection is to end, with a
   * local reply where one is due.
   */
  #receive(exchange: Http1Exchange): boolean | Promise<boolean> {
    exchange.beginHead();
    return this.#advance(exchange) ?? this.#receiveRest(exchange);
  }

  async #receiveRest(exchange: Http1Exchange): Promise<boolean> {
    const input = this.input;
    for (;;) {
      if (input.isOver) {
        const { refusal } = exchange;
        return refusal !== null && this.#refuse(exchange, refusal);
      }
      exchange.makeRoom();
      await input.fill();
      if (this.#expired) {
        // The client has a moment to read its reply: to close before all has been read would reset it.
        await input.discard(() => this.#phase !== CLOSED);
        return false;
      }
      const received = this.#advance(exchange);
      if (received !== null) return received;
    }
  }

  /** As `#receive`; null where more must come. */
  #advance(exchange: Http1Exchange): boolean | Promise<boolean> | null {
    const result = exchange.advance();
    if (this.#phase === IDLE && (exchange.headHasBegun || result !== "pending")) {
      this.#phase = HEAD;
      this.#endsAt(this.context.deadlines.in(this.context.limits.requestHeadTimeout));
    }
    if (result === "pending") return null;
    if (result !== "complete") {
      if (this.context.h2c && !this.client.secure && this.#requests === 0) {
        this.preface = exchange.preface;
        if (this.preface !== null || exchange.isForeign) return false;
      }
      return this.#refuse(exchange, result.code);
    }
    this.#phase = EXCHANGE;
    this.#deadline = NO_DEADLINE;
    this.#requests++;
    this.#lent = true;
    exchange.begin();
    return true;
  }

  /** A watched read has settled: the next request's first bytes, FIN or a reset. */
  #clientMoved(): void {
    this.context.deadlines.stir(this);
    if (this.#isResting) this.#wake();
    else if (this.#phase === EXCHANGE) this.#exchange?.clientMoved();
    else if (this.#phase === FIN_WAIT) this.#finWaitRead();
  }

  tunnelBegins(): void {
    this.#phase = TUNNEL;
  }

  // ── Ends ────────────────────────────────────────────────────────────────────────────────────

  /** After an exchange: true when the next request may come, else the connection ends by itself. */
  #settle(exchange: Http1Exchange): boolean {
    if (this.#phase === CLOSED) {
      this.#leave();
      return false;
    }
    const unread = !exchange.body.done;
    this.#lent = unread;
    if (!exchange.responded) {
      this.fail(
        this.input.isOver
          ? new ProxyError("client_gone")
          : new ProxyError("internal", "an exchange ended without an answer"),
      );
      this.#leave();
      return false;
    }
    if (exchange.closesAfter || unread) {
      exchange.output.after(() => this.#end(unread));
      return false;
    }
    exchange.settle();
    return true;
  }

  /** The last response has been sent. */
  #end(unread: boolean): void {
    const { isEmpty, isReading } = this.input;
    const lingers = unread || !isEmpty;
    const isPlain = !this.client.secure && this.#phase !== CLOSED;
    if (isPlain && !lingers && isReading) this.#beginFinWait();
    else this.#close(lingers).then(() => this.#leave(), this.broke);
  }

  /**
   * Sends FIN, and waits for the client's (TCP's FIN-WAIT, RFC 9293 §3.3.2). The read under way is not
   * cancelled, which would cost an error with a stack, and late bytes of the client cause no RST.
   */
  #beginFinWait(): void {
    this.#phase = FIN_WAIT;
    this.#endsAt(this.context.deadlines.in(FIN_WAIT_TIMEOUT));
    this.transport.closeWrite().catch(ignore);
  }

  /** Bytes, which are dropped, or the end have come after our FIN. */
  #finWaitRead(): void {
    const input = this.input;
    input.start = input.end;
    if (input.isOver) this.#leave();
    else input.watch();
  }

  /** Sends the local reply to an error of the head, and ends the connection. */
  async #refuse(exchange: Http1Exchange, code: ErrorCode): Promise<false> {
    this.context.onError(new ProxyError(code), this.client);
    this.#deadline = NO_DEADLINE;
    this.#phase = EXCHANGE;
    await exchange.output.pending;
    exchange.beginRefusal();
    const { head, body } = this.context.localReply(code, exchange);
    try {
      const responding = exchange.respond(head, body);
      exchange.endRefused(code, head);
      await responding;
      await exchange.output.pending;
      await this.#close(true);
    } catch {
      // The client is gone: close() follows.
    }
    return false;
  }

  /**
   * A deadline has passed while the client was to send: it gets a local reply, and a moment to read
   * that before the connection closes.
   */
  #expire(exchange: Http1Exchange, code: ErrorCode): void {
    const error = new ProxyError(code);
    const inHead = this.#phase === HEAD;
    // While a head arrives, `responded` is that of the exchange before.
    if (this.#expired || (exchange.responded && !inHead)) return this.fail(error);
    this.#expired = true;
    exchange.closesAfter = true;
    if (inHead) {
      this.context.onError(error, this.client);
      exchange.beginRefusal();
    }
    const { head, body } = this.context.localReply(code, exchange);
    const fail = () => this.fail(error);
    const responding = exchange.respond(head, body);
    if (inHead) exchange.endRefused(code, head);
    // At once, so that no response of the backend's follows this one.
    exchange.cancellation.cancel(error);
    Promise.resolve(responding).then(() => exchange.output.pending).then(() => {
      this.#endsAt(this.context.deadlines.in(LINGER));
      return this.transport.closeWrite();
    }).catch(fail);
  }

  /** Ends the connection for a reason; the exchange under way is cancelled. */
  fail(error: ProxyError): void {
    if (this.failure === null) {
      this.failure = error;
      if (this.#phase !== CLOSED) this.context.onError(error, this.client);
    }
    this.close();
  }

  /** Closes after a response. With bytes unread, close() alone would send RST and lose it. */
  async #close(linger: boolean): Promise<void> {
    const reads = linger && !this.input.isOver;
    // Without close_notify a client must take a response that ends here for cut off.
    if (this.#phase !== CLOSED && (reads || this.client.secure)) {
      this.#phase = LINGERING;
      this.#endsAt(this.context.deadlines.in(LINGER));
      await this.transport.closeWrite().catch(() => {});
      if (reads) await this.input.discard(() => this.#phase === LINGERING);
    }
    this.close();
  }
}

function ignore(): void {}
