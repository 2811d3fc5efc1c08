/**
 * One connection of HTTP/2 from a client. In: its transport. Out: exchanges for the handler, many at
 * a time, and an end in two steps, so that no request is lost that was on its way.
 */
import { type Deadlined, NO_DEADLINE } from "../io/deadlines.ts";
import { ProxyError } from "../errors.ts";
import type { Client } from "../http/message.ts";
import type { DownstreamConnection } from "../http/downstream.ts";
import type { Transport } from "../io/transport.ts";
import { isTurnOver, STARTS_PER_LOOK } from "../io/turn_budget.ts";
import { turnNow } from "../io/turn_clock.ts";
import type { EndReason } from "./abuse.ts";
import { Connection } from "./connection.ts";
import { errorName, NO_ERROR, REFUSED_STREAM } from "./frame/error_codes.ts";
import { ENABLE_CONNECT_PROTOCOL, MAX_CONCURRENT_STREAMS } from "./frame/frame.ts";
import type { HeadDecoder, Role } from "./role.ts";
import type { Http2ServerContext } from "./server_context.ts";
import { ServerStream, type StreamOwner } from "./server_stream.ts";
import { Streams } from "./streams.ts";

/** For how long (ms) a client may not have heard that no more streams are taken. */
const DRAIN_GRACE = 1_000;
/** Stream objects that are kept for the next requests. */
const KEPT_STREAMS = 32;
/** For how long (ms) what the next request would need is kept when none comes. */
const KEPT_TIME = 1_000;

export class Http2ServerConnection
  implements DownstreamConnection, Deadlined, Role<ServerStream>, StreamOwner {
  deadlinePlace = -1;
  place = -1;
  readonly client: Client;
  readonly context: Http2ServerContext;
  readonly #connection: Connection<ServerStream>;
  readonly #streams = new Streams<ServerStream>(true);
  #first: Uint8Array | null;
  /** Streams whose head has come in this turn. */
  readonly #fresh: ServerStream[] = [];
  /** Of these, how many have been started. */
  #nextFresh = 0;
  readonly #free: ServerStream[] = [];
  /** Exchanges that the handler has. */
  #serving = 0;
  #requests = 0;
  /** Since the clock was looked at. */
  #starts = 0;
  #idleAt: number;
  #isDraining = false;
  /** The client has been told which stream is the last. */
  #isSettled = false;
  #drainDeadline = NO_DEADLINE;

  /** @param first what has been read of it already, from the preface on. */
  constructor(
    transport: Transport,
    client: Client,
    context: Http2ServerContext,
    first: Uint8Array | null,
  ) {
    const { limits, buffers, deadlines } = context;
    this.client = client;
    this.context = context;
    this.#first = first;
    this.#idleAt = deadlines.now;
    this.#connection = new Connection(transport, this, this.#streams, {
      isServer: true,
      limits,
      buffers,
      deadlines,
      codes: { gone: "client_gone", malformed: "client_gone", stalled: "client_stalled" },
      writeRate: limits.writeRate,
      streamWindow: limits.http2StreamWindow,
      connectionWindow: limits.http2ConnectionWindow,
      headBytes: limits.requestHeadBytes,
      headFields: limits.requestFields,
      settings: [MAX_CONCURRENT_STREAMS, limits.http2Streams, ENABLE_CONNECT_PROTOCOL, 1],
    });
  }

  /** Serves the connection to its end. Never rejects. */
  serve(): Promise<void> {
    this.context.deadlines.add(this);
    const first = this.#first;
    // Kept no longer than it is needed.
    this.#first = null;
    return this.#connection.serve(first);
  }

  /** An exchange is under way; else the connection may be closed without loss. */
  get isBusy(): boolean {
    const connection = this.#connection;
    return this.#serving > 0 || this.#streams.size > 0 || connection.isWriting ||
      connection.isBehind;
  }

  /** Since when nothing has been under way, in ms, monotonic; Infinity while something is. */
  get idleSince(): number {
    return this.isBusy ? Infinity : this.#idleAt;
  }

  /** GOAWAY loses nothing whenever it comes: `drain` is early enough. */
  retire(): void {}

  /** Takes no more streams: the client is told at once, and once more when it must have heard. */
  drain(): void {
    const connection = this.#connection;
    if (this.#isDraining || connection.isOver) return;
    this.#isDraining = true;
    this.#drainDeadline = this.context.deadlines.in(DRAIN_GRACE);
    this.context.deadlines.stir(this);
    connection.announceDrain(() => this.#settleDrain());
  }

  /** Closes at once, whatever is under way. */
  close(): void {
    this.#connection.close(null);
  }

  /** Ends what is overdue. */
  check(now: number): number | void {
    const connection = this.#connection;
    connection.check(now);
    if (connection.isOver) return;
    if (now >= this.#drainDeadline) this.#settleDrain();
    if (this.isBusy) return;
    const idle = now - this.#idleAt;
    if (idle < KEPT_TIME) return;
    this.#free.length = 0;
    connection.rest();
    const { clientIdleTimeout } = this.context.limits;
    const end = clientIdleTimeout === 0 ? NO_DEADLINE : this.#idleAt + clientIdleTimeout;
    if (now >= end) connection.end(null);
    else if (connection.isAtRest && !this.#isDraining) return end;
  }

  heard(): void {
    this.context.deadlines.stir(this);
  }

  /** From now on streams above the last one are nobody's. */
  #settleDrain(): void {
    const connection = this.#connection;
    this.#drainDeadline = NO_DEADLINE;
    if (this.#isSettled || connection.isOver) return;
    this.#isSettled = true;
    if (this.isEmpty) connection.end(null);
    else connection.sayLast();
  }

  get isEmpty(): boolean {
    return this.#serving === 0 && this.#streams.size === 0;
  }

  // ── What the connection tells ───────────────────────────────────────────────────────────────

  headers(
    id: number,
    stream: ServerStream | null,
    endStream: boolean,
    decoder: HeadDecoder,
  ): void {
    const connection = this.#connection;
    const { limits } = this.context;
    if (stream !== null) {
      const { scratch } = decoder;
      scratch.begin(limits.requestHeadBytes, limits.requestFields, true);
      if (decoder.decode(scratch)) stream.trailersCame(scratch, decoder.blockSize, endStream);
      return;
    }
    if (this.#isFull) this.#stopLingering();
    if (this.#isSettled || this.#isFull) return this.#passOver(id, decoder);
    const fresh = this.#free.pop() ?? new ServerStream(connection, this);
    if (!fresh.open(id, endStream, turnNow(), decoder)) return;
    connection.requestBegun();
    this.#fresh.push(fresh);
    this.#serving++;
  }

  /** Streams that have been reset count for as long as their exchanges do, if not as strictly. */
  get #isFull(): boolean {
    const { http2Streams } = this.context.limits;
    return this.#streams.size >= http2Streams || this.#serving >= 2 * http2Streams;
  }

  /** Streams that have been answered early make way. */
  #stopLingering(): void {
    for (const stream of [...this.#streams.values()]) stream.stopLingering();
  }

  /** Takes no stream for a head, which is decoded for the table's sake. */
  #passOver(id: number, decoder: HeadDecoder): void {
    const { scratch } = decoder;
    scratch.begin(0, 0, false);
    if (!decoder.decode(scratch)) return;
    if (this.#isSettled) this.#streams.wasReset(id);
    else this.#connection.refuse(id, REFUSED_STREAM);
  }

  dispatched(): boolean {
    const isDone = this.#startFresh(false);
    if (this.#isDraining) return isDone;
    if (this.#requests >= this.context.limits.requestsPerConnection || this.context.isDraining()) {
      this.drain();
    }
    return isDone;
  }

  /** Starts the streams whose heads have come; false where some are left for another turn. */
  #startFresh(isLast: boolean): boolean {
    const fresh = this.#fresh;
    while (this.#nextFresh < fresh.length) {
      // Counted first: it may close the connection, which starts those that are left.
      fresh[this.#nextFresh++].start();
      this.#requests++;
      if (++this.#starts < STARTS_PER_LOOK || isLast) continue;
      this.#starts = 0;
      if (isTurnOver()) return false;
    }
    fresh.length = this.#nextFresh = 0;
    return true;
  }

  streamOpened(stream: ServerStream): void {
    this.#streams.add(stream);
  }

  exchangeEnded(stream: ServerStream): void {
    this.#serving--;
    if (stream.isClosed) this.#keep(stream);
    this.#rest();
  }

  streamClosed(stream: ServerStream): void {
    if (stream.isDone) this.#keep(stream);
    this.#rest();
  }

  /** Keeps the object of a stream for another, once neither handler nor client have to do with it. */
  #keep(stream: ServerStream): void {
    // A read of a body that has been left alone may still give something.
    if (!stream.sender.isReading && this.#free.length < KEPT_STREAMS) this.#free.push(stream);
  }

  /** When the last exchange and the last stream are over. */
  #rest(): void {
    if (!this.isEmpty) return;
    this.#idleAt = this.context.deadlines.now;
    if (this.#isSettled) this.#connection.end(null);
  }

  endedFor(reason: EndReason): void {
    this.context.onEnd(reason);
  }

  ended(error: ProxyError | null): void {
    this.context.deadlines.delete(this);
    // Those that have not been started learn that the client is gone, and are told of as others are.
    this.#startFresh(true);
    this.#free.length = 0;
    if (error !== null) this.context.onError(error, this.client);
  }

  settingsReceived(): void {}

  goawayReceived(_lastId: number, code: number, debug: string): void {
    if (code === NO_ERROR) return;
    const what = `sent GOAWAY with ${errorName(code)}${debug === "" ? "" : `: ${debug}`}`;
    this.context.onError(new ProxyError("client_gone", what), this.client);
  }
}
