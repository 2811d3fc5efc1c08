/**
 * What we send on a stream: a head, a body, trailers. In: a stream that knows its head, and a body
 * that is pulled. Out: frames in the connection's output, within the peer's windows and in turn with
 * the other streams. Nothing is pulled before the last view has been framed: that is the
 * backpressure; and no promise is made where the body is at hand and has room.
 */
import { NO_DEADLINE } from "../io/deadlines.ts";
import { asProxyError, type ProxyError } from "../errors.ts";
import { type Fields, NEVER_CROSSES } from "../http/fields.ts";
import { type Body, LATER, readThen } from "../http/body.ts";
import { MinRate } from "../io/min_rate.ts";
import type { ReadWaiter } from "../io/direct_relay.ts";
import type { WriteWaiter } from "../io/output.ts";
import type { ConnectionOptions } from "./connection_options.ts";
import { FRAME_SIZE } from "./frame/frame.ts";
import { SendWindow } from "./frame/window.ts";

/** The stream that sends, as `Stream` is. */
export interface SendingStream {
  readonly id: number;
  readonly localEnded: boolean;
}

/** What a sender needs of its connection. */
export interface SenderConnection<S extends SendingStream> {
  readonly options: ConnectionOptions;
  /** What the peer lets us send on all streams. */
  readonly window: SendWindow;
  takesHead(sender: StreamSender<S>, turn: 0 | 1 | 2): boolean;
  roomForData(sender: StreamSender<S>, turn: 0 | 1 | 2): number;
  queueData(sender: StreamSender<S>): void;
  dequeue(sender: StreamSender<S>): void;
  writeHead(stream: S, isWhole: boolean): number;
  writeTrailers(stream: S, trailers: Fields): number;
  writeData(
    stream: S,
    view: Uint8Array,
    start: number,
    end: number,
    isEnd: boolean,
    isCut: boolean,
  ): void;
  writeEnd(stream: S): void;
}

export class StreamSender<S extends SendingStream = SendingStream> implements ReadWaiter {
  readonly window = new SendWindow();
  /** Header blocks and bodies, without framing, in bytes. */
  sent = 0;
  /** Header blocks of heads among them. */
  sentHeads = 0;
  /** It is in a queue of the connection: for room, or for the connection's window. */
  isQueued = false;
  /** Its head waits to be written. */
  isHeadDue = false;
  /** A read of the body is under way: what it gives may come after the stream has ended. */
  isReading = false;
  /** Of a peer that grants no window, in ms. */
  timeout = 0;
  readonly stream: S;
  #connection!: SenderConnection<S>;
  #body: Body | null = null;
  #view: Uint8Array | null = null;
  #offset = 0;
  /** Behind the view and the body comes END_STREAM. */
  #isLast = true;
  /** The body has said that it is at its end. */
  #isAtEnd = false;
  #resolve: (() => void) | null = null;
  #reject: ((error: unknown) => void) | null = null;
  #failure: unknown = null;
  #isDone = true;
  #deadline = NO_DEADLINE;
  #pace: MinRate | null = null;

  constructor(stream: S) {
    this.stream = stream;
  }

  /** A new stream; `window` in bytes is what the peer grants. */
  begin(connection: SenderConnection<S>, window: number): void {
    this.#connection = connection;
    this.window.available = window;
    this.timeout = connection.options.limits.writeTimeout;
    this.sent = this.sentHeads = 0;
    this.isQueued = this.isHeadDue = this.isReading = false;
    this.#body = this.#view = null;
    this.#resolve = this.#reject = null;
    this.#failure = null;
    this.#isDone = true;
    this.#isAtEnd = false;
    this.#deadline = NO_DEADLINE;
    this.#pace = null;
  }

  /**
   * Sends the stream's head, then `payload` or else `body` with its trailers, and END_STREAM; without
   * both, END_STREAM on the head. Undefined where all has been handed over; else a promise of that,
   * which rejects with the stream's failure or with what the body rejects with: then the stream is
   * the caller's to reset. Throws, before anything is sent, what the body throws at once.
   */
  send(body: Body | null, payload: Uint8Array | null): Promise<void> | void {
    let first: ReturnType<typeof readThen> = payload;
    if (body !== null && payload === null) {
      first = readThen(body, this);
      this.#isAtEnd = first === null;
      if (first === null && crossing(body.trailers) === null) body = null;
    } else body = null;
    this.isHeadDue = true;
    this.#isLast = true;
    this.#body = body;
    if (first === LATER) this.isReading = true;
    else this.#view = first;
    return this.#start();
  }

  /** Sends the stream's head, and no END_STREAM: for a tunnel. */
  open(): Promise<void> | void {
    this.isHeadDue = true;
    this.#isLast = false;
    return this.#start();
  }

  /** Sends `view` on an open stream; settles when it may be used again. */
  write(view: Uint8Array): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    this.#view = view;
    this.#offset = 0;
    this.#isLast = false;
    return this.#start() ?? Promise.resolve();
  }

  /** As `write`, of `bytes[0, length)`. */
  writeThen(bytes: Uint8Array, length: number, waiter: WriteWaiter): void {
    const view = length === bytes.length ? bytes : bytes.subarray(0, length);
    this.write(view).then(() => waiter.wrote(), (error) => waiter.writeBroke(error));
  }

  /** The header block of a head has been written, of so many bytes. */
  headSent(bytes: number): void {
    this.sent += bytes;
    this.sentHeads += bytes;
  }

  /** Says END_STREAM on an open stream. */
  end(): Promise<void> | void {
    if (this.#failure !== null || this.stream.localEnded) return;
    this.#isLast = true;
    // What is still being sent ends with it.
    if (this.#view !== null) return;
    return this.#start();
  }

  /** The stream is over: whoever waits learns it. */
  fail(error: ProxyError): void {
    this.#failure = error;
    this.#body = this.#view = null;
    this.#deadline = NO_DEADLINE;
    this.isHeadDue = false;
    if (this.isQueued) this.#connection.dequeue(this);
    this.#settle(error);
  }

  /** What is still to be sent will not reach the peer. */
  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  /** The window has grown. */
  opened(): void {
    if (!this.#isDone && !this.isQueued && !this.isReading && this.#view !== null) this.advance(0);
  }

  /** The peer keeps its windows shut, or hardly opens them. `now` in ms, monotonic. */
  isOverdue(now: number): boolean {
    if (this.#deadline === NO_DEADLINE) return false;
    return now >= this.#deadline || (this.#pace !== null && this.#pace.isTooSlow(this.sent));
  }

  #start(): Promise<void> | void {
    this.#isDone = false;
    this.#offset = 0;
    if (!this.isReading || this.isHeadDue) this.advance(0);
    if (this.#isDone) return this.#failure === null ? undefined : Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /**
   * Sends what can be sent, or takes its place in a queue. `turn` is 1 where a queue has come to it,
   * and 2 where others wait behind it: then it sends one frame.
   */
  advance(turn: 0 | 1 | 2): void {
    const connection = this.#connection;
    if (this.isHeadDue) {
      if (!connection.takesHead(this, turn)) return;
      const isWhole = this.#isLast && this.#body === null && this.#view === null && !this.isReading;
      this.isHeadDue = false;
      this.headSent(connection.writeHead(this.stream, isWhole));
      if (isWhole) return this.#finish();
    }
    if (this.isReading) return;
    for (;;) {
      if (this.#view !== null) {
        if (!this.#sendView(turn)) return;
        // All of the view has been framed; with END_STREAM where nothing follows.
        this.#view = null;
        if (this.stream.localEnded) return this.#finish();
      }
      const body = this.#body;
      if (body === null) {
        if (this.#isLast) connection.writeEnd(this.stream);
        return this.#finish();
      }
      let next: ReturnType<typeof readThen>;
      try {
        next = this.#isAtEnd ? null : readThen(body, this);
      } catch (error) {
        return this.#broke(error);
      }
      if (next === LATER) {
        this.isReading = true;
        return;
      }
      if (next === null) {
        const trailers = crossing(body.trailers);
        if (trailers === null) connection.writeEnd(this.stream);
        else this.sent += connection.writeTrailers(this.stream, trailers);
        return this.#finish();
      }
      this.#view = next;
      this.#offset = 0;
    }
  }

  /** Sends of the view what windows and room allow; true once all of it is framed. */
  #sendView(turn: 0 | 1 | 2): boolean {
    const view = this.#view!;
    const connection = this.#connection;
    const body = this.#body;
    const endsWith = this.#isLast &&
      (body === null || (body.done && crossing(body.trailers) === null));
    if (view.length === 0) {
      if (endsWith) connection.writeEnd(this.stream);
      return true;
    }
    while (this.#offset < view.length) {
      const left = view.length - this.#offset;
      const window = this.window.available;
      if (window <= 0) {
        this.#blocked();
        return false;
      }
      const room = connection.roomForData(this, turn);
      if (room === 0) {
        if (connection.window.available <= 0) this.#blocked();
        return false;
      }
      const count = Math.min(left, window, room, FRAME_SIZE);
      const isEnd = count === left && endsWith;
      const isCut = count < left && count < room && count < FRAME_SIZE;
      this.window.available -= count;
      this.sent += count;
      const from = this.#offset;
      this.#offset += count;
      connection.writeData(this.stream, view, from, from + count, isEnd, isCut);
      if (this.#deadline !== NO_DEADLINE) this.#deadline = NO_DEADLINE;
      if (turn === 2 && this.#offset < view.length) {
        if (this.window.available > 0) connection.queueData(this);
        else this.#blocked();
        return false;
      }
    }
    return true;
  }

  /** Waits for the peer: its time runs. */
  #blocked(): void {
    if (this.#deadline !== NO_DEADLINE) return;
    const { deadlines, writeRate } = this.#connection.options;
    this.#deadline = deadlines.in(this.timeout);
    if (writeRate === 0 || this.#pace !== null) return;
    this.#pace = new MinRate(writeRate, this.timeout);
    this.#pace.begin(this.sent);
  }

  arrived(view: Uint8Array | null): void {
    this.isReading = false;
    if (this.#failure !== null || this.#isDone) return;
    this.#view = view;
    this.#offset = 0;
    this.#isAtEnd = view === null;
    // The head may wait for its turn still.
    if (this.isQueued) return;
    this.advance(0);
  }

  broke(error: unknown): void {
    this.isReading = false;
    if (this.#failure === null && !this.#isDone) this.#broke(error);
  }

  #broke(error: unknown): void {
    this.#failure = asProxyError(error, "internal");
    this.#body = this.#view = null;
    this.isHeadDue = false;
    if (this.isQueued) this.#connection.dequeue(this);
    this.#settle(this.#failure);
  }

  #finish(): void {
    this.#body = this.#view = null;
    this.#settle(null);
  }

  #settle(error: unknown): void {
    const resolve = this.#resolve;
    const reject = this.#reject;
    this.#resolve = this.#reject = null;
    this.#isDone = true;
    if (error === null) resolve?.();
    else reject?.(error);
  }
}

/** Trailers of which something crosses; else null. */
function crossing(trailers: Fields | null): Fields | null {
  if (trailers === null) return null;
  for (let i = 0; i < trailers.count; i++) {
    if (NEVER_CROSSES[trailers.ids[i]] === 0) return trailers;
  }
  return null;
}
