/**
 * One connection of HTTP/2 (RFC 9113), in what both roles share. In: a transport, and a role that
 * knows what streams are for. Out: frames dispatched, a read at a time and without a promise each;
 * streams' heads and bodies sent fairly within the windows; and an end with a reason.
 *
 *     running ──fail, end──▶ leaving (GOAWAY is written, the rest is thrown away) ──▶ closed
 *        └──the peer's FIN, a reset, close()──────────────────────────────────────────▶ ┘
 */
import { NO_DEADLINE } from "../io/deadlines.ts";
import { asProxyError, ProxyError } from "../errors.ts";
import type { Fields } from "../http/fields.ts";
import { Output } from "../io/output.ts";
import { closeQuietly, type Transport } from "../io/transport.ts";
import { inNextTurn } from "../io/turn_budget.ts";
import { ABUSE_TEXTS, type AbuseReason, END_REASONS, PeerBudget } from "./abuse.ts";
import type { ConnectionCore, ConnectionParts } from "./connection_core.ts";
import type { ConnectionOptions } from "./connection_options.ts";
import * as errors from "./frame/error_codes.ts";
import { FIRST_DUE, FrameHandler } from "./frame_handler.ts";
import { FrameInput } from "./frame/frame_input.ts";
import { FrameOutput, NOTHING } from "./frame/frame_output.ts";
import { FrameWriter } from "./frame/frame_writer.ts";
import * as frame from "./frame/frame.ts";
import { KeepAlive } from "./keep_alive.ts";
import type { Role } from "./role.ts";
import { PeerSettings } from "./frame/settings.ts";
import type { Stream, StreamConnection } from "./stream.ts";
import type { StreamSender } from "./stream_sender.ts";
import type { Streams } from "./streams.ts";
import { Scheduler } from "./scheduler.ts";
import { ReceiveWindow, SendWindow } from "./frame/window.ts";

/** What is left to read behind GOAWAY is taken for so long (ms), so that no RST eats it. */
const LINGER = 1_000;

const RUNNING = 0;
const LEAVING = 1;
const CLOSED = 2;

/** `S`: the streams of its role, which keeps them. */
export class Connection<S extends Stream> implements ConnectionCore, StreamConnection {
  readonly options: ConnectionOptions;
  readonly peer = new PeerSettings();
  /** What the peer lets us send on all streams. */
  readonly window = new SendWindow();
  /** What we let the peer send on all streams. */
  readonly receiveWindow: ReceiveWindow;
  /** Why it is over, where that was no plain end. */
  failure: ProxyError | null = null;
  /** Bytes that a peer who does not know our window yet may send beyond it, on a new stream. */
  unknownWindow: number;
  readonly #role: Role<S>;
  readonly #streams: Streams<S>;
  readonly #budget: PeerBudget;
  readonly #writer: FrameWriter;
  readonly #transport: Transport;
  readonly #input: FrameInput;
  readonly #output: Output;
  readonly #out: FrameOutput;
  readonly #handler: FrameHandler<S>;
  readonly #keepAlive: KeepAlive;
  readonly #turns = new Scheduler<StreamSender<Stream>>();
  /** Whose bodies have got bytes in this turn. */
  readonly #stirred: Stream[] = [];
  #waiters: (() => void)[] = [];
  #phase = RUNNING;
  #lingerDeadline = NO_DEADLINE;
  /** For SETTINGS, and for what is half here and no body. */
  #headDeadline: number;
  /** What that is, as the handler counts. */
  #due = FIRST_DUE;
  #isAcknowledged = false;
  #isRoleBehind = false;
  /** The last stream, once it has been said: it becomes no later one. -1 before. */
  #saidLast = -1;

  constructor(
    transport: Transport,
    role: Role<S>,
    streams: Streams<S>,
    options: ConnectionOptions,
  ) {
    const { limits, buffers, deadlines, isServer } = options;
    this.#transport = transport;
    this.#role = role;
    this.#streams = streams;
    this.options = options;
    this.#budget = new PeerBudget(limits, deadlines.now, !isServer);
    this.#headDeadline = deadlines.in(limits.requestHeadTimeout);
    this.unknownWindow = Math.max(0, frame.INITIAL_WINDOW - options.streamWindow);
    this.window.available = frame.INITIAL_WINDOW;
    const received = Math.max(options.connectionWindow, frame.INITIAL_WINDOW);
    this.receiveWindow = new ReceiveWindow(received, true);
    this.#input = new FrameInput(transport, buffers);
    this.#output = new Output(
      transport,
      deadlines,
      limits.writeTimeout,
      options.writeRate,
      null,
      (cause) => {
        this.close(new ProxyError(options.codes.gone, "closed while it was sent to", { cause }));
        return this.failure ?? new ProxyError(options.codes.gone);
      },
    );
    this.#out = new FrameOutput(this.#output, buffers);
    const flushed = () => this.#budget.acksWritten();
    this.#out.onRoom = this.#roomCame;
    this.#out.onFlush = flushed;
    this.#writer = new FrameWriter(this.#out);
    this.#keepAlive = new KeepAlive(deadlines, limits.http2PingTimeout, () => this.#writer.ping());
    const parts: ConnectionParts<S> = {
      options,
      role,
      streams,
      peer: this.peer,
      budget: this.#budget,
      writer: this.#writer,
      keepAlive: this.#keepAlive,
      sendWindow: this.window,
      receiveWindow: this.receiveWindow,
    };
    this.#handler = new FrameHandler(this, parts);
  }

  /** It has ended, or is about to: nothing is dispatched any more. */
  get isOver(): boolean {
    return this.#phase !== RUNNING;
  }

  get #isClosed(): boolean {
    return this.#phase === CLOSED;
  }

  /** Until bytes come or are sent, nothing of it can be overdue, as long as it has no streams. */
  get isAtRest(): boolean {
    return this.#phase === RUNNING && this.#headDeadline === NO_DEADLINE && !this.isWriting;
  }

  /** Gives back what can be made anew; nothing is under way. */
  rest(): void {
    this.#writer.encoder.rest();
  }

  /** Something waits to be written. */
  get isWriting(): boolean {
    return !this.#out.isEmpty;
  }

  // ── Reading ─────────────────────────────────────────────────────────────────────────────────

  /**
   * Serves it to its end; `first` is what has been read of it already. Never rejects. What belongs
   * at its beginning is sent at once, in one write with what the role sends in the same turn.
   */
  async serve(first: Uint8Array | null): Promise<void> {
    const input = this.#input;
    this.#begin();
    if (first !== null) input.preload(first);
    while (this.#phase === RUNNING) {
      try {
        this.#consume();
      } catch (error) {
        return this.close(asProxyError(error, "internal"));
      }
      if (this.#phase !== RUNNING) break;
      if (input.isOver && !this.isBehind) return this.close(this.#endOfInput());
      const clogged = this.#out.whenFlowing();
      if (clogged !== null) await clogged;
      if (this.isBehind) {
        await new Promise<void>(inNextTurn);
        this.#handler.heads.beginTurn();
        continue;
      }
      // Closed meanwhile, it has given back what it reads into.
      if (this.#isClosed) return;
      input.prepare(this.#handler.wanted);
      await input.fill();
      this.#keepAlive.heard();
      this.#role.heard();
    }
    await input.discard(() => this.#phase === LEAVING);
    this.close(this.failure);
  }

  /** What the end of what is read means; null where nothing was under way. */
  #endOfInput(): ProxyError | null {
    const { failed, isEmpty } = this.#input;
    const isHalf = !isEmpty || this.#handler.heads.awaits !== 0;
    if (this.#streams.size === 0 && !isHalf) return null;
    const what = failed !== null ? "reset the connection" : "closed the connection";
    const where = failed === null && isHalf ? " in the middle of a frame" : "";
    return new ProxyError(this.options.codes.gone, what + where);
  }

  #begin(): void {
    const { isServer, streamWindow, connectionWindow, headBytes, settings } = this.options;
    if (!isServer) this.#writer.preface();
    this.#writer.settings([
      frame.INITIAL_WINDOW_SIZE,
      streamWindow,
      frame.MAX_HEADER_LIST_SIZE,
      headBytes,
      ...settings,
    ]);
    const more = connectionWindow - frame.INITIAL_WINDOW;
    if (more > 0) this.#writer.windowUpdate(0, more);
  }

  /** Dispatches what is whole, as far as one turn goes. */
  #consume(): void {
    const input = this.#input;
    if (this.#isRoleBehind) {
      this.#isRoleBehind = !this.#role.dispatched();
      if (this.#isRoleBehind || this.#phase !== RUNNING) return;
    }
    input.start = this.#handler.dispatch(input.bytes, input.start, input.end);
    // Also where the last stream's end has just ended the connection: its reader is told.
    const stirred = this.#stirred;
    for (let i = 0; i < stirred.length; i++) stirred[i].body.wake();
    stirred.length = 0;
    if (this.#phase !== RUNNING) return;
    const { due } = this.#handler;
    if (due !== this.#due) {
      const { deadlines, limits } = this.options;
      this.#due = due;
      this.#headDeadline = due === 0 ? NO_DEADLINE : deadlines.in(limits.requestHeadTimeout);
    }
    this.#isRoleBehind = !this.#role.dispatched();
  }

  /** What has been read is not dispatched yet, or not served: others have their turn. */
  get isBehind(): boolean {
    return this.#isRoleBehind || this.#handler.heads.isTurnOver;
  }

  /** Bytes of bodies have been used, or thrown away. */
  consumed(bytes: number): void {
    if (this.#phase !== RUNNING) return;
    const increment = this.receiveWindow.give(bytes);
    if (increment > 0) this.#writer.windowUpdate(0, increment);
  }

  /** Its body has got bytes: whoever reads it is woken at the end of the turn. */
  stirred(stream: Stream): void {
    this.#stirred.push(stream);
  }

  /** The peer knows our windows now; false where it has said so before. */
  settingsAcknowledged(): boolean {
    this.unknownWindow = 0;
    const isFirst = !this.#isAcknowledged;
    this.#isAcknowledged = true;
    return isFirst;
  }

  // ── Writing ─────────────────────────────────────────────────────────────────────────────────

  /** Tells the peer that it may send more on a stream. */
  writeWindowUpdate(id: number, increment: number): void {
    if (this.#phase === RUNNING) this.#writer.windowUpdate(id, increment);
  }

  /** Whether a stream with a head to send may; else it waits for its turn. */
  takesHead(sender: StreamSender<Stream>, turn: 0 | 1 | 2): boolean {
    if (this.#out.room > 0 && (turn !== 0 || !this.#turns.hasHeads)) return true;
    this.#turns.addHead(sender);
    return false;
  }

  /** Bytes of DATA that a stream may send now, frame and all; 0 where it waits for its turn. */
  roomForData(sender: StreamSender<Stream>, turn: 0 | 1 | 2): number {
    const room = Math.min(this.#out.room - frame.FRAME_HEADER, this.window.available);
    if (room > 0 && (turn !== 0 || !this.#turns.hasData)) return room;
    this.#turns.addData(sender);
    return 0;
  }

  queueData(sender: StreamSender<Stream>): void {
    this.#turns.addData(sender);
  }

  dequeue(sender: StreamSender<Stream>): void {
    this.#turns.remove(sender);
  }

  /** Settles when there is room for a head, or all is over; null where there is some. */
  whenRoom(): Promise<void> | null {
    if (this.#out.room > 0 || this.#phase !== RUNNING) return null;
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** Sends a stream's head, with END_STREAM where nothing follows. Its bytes, without framing. */
  writeHead(stream: Stream, isWhole: boolean): number {
    stream.number();
    const size = this.#writer.head(stream, isWhole);
    if (isWhole) stream.endLocal();
    return size;
  }

  /** Sends trailers, with END_STREAM. The bytes of their block. */
  writeTrailers(stream: Stream, trailers: Fields): number {
    const size = this.#writer.trailers(stream.id, trailers);
    stream.endLocal();
    return size;
  }

  /** Sends `view[start, end)`, which windows and room allow. */
  writeData(
    stream: Stream,
    view: Uint8Array,
    start: number,
    end: number,
    isEnd: boolean,
    isCut: boolean,
  ): void {
    this.window.available -= end - start;
    this.#budget.dataSent(end - start, isCut);
    this.#writer.data(stream.id, view, start, end, isEnd);
    if (isEnd) stream.endLocal();
  }

  /** Says END_STREAM by itself. */
  writeEnd(stream: Stream): void {
    this.#writer.data(stream.id, NOTHING, 0, 0, true);
    stream.endLocal();
  }

  /** Says RST_STREAM, where the peer knows of the stream. */
  writeReset(stream: Stream, code: number): void {
    if (stream.id === 0 || this.#phase !== RUNNING) return;
    this.#writer.reset(stream.id, code);
    if (!stream.remoteEnded) this.#streams.wasReset(stream.id);
  }

  /** The output has room, or the window has grown: those who wait take turns. */
  readonly #roomCame = (): void => {
    const turns = this.#turns;
    const out = this.#out;
    this.#wakeWaiters();
    while (turns.hasHeads && out.room > 0) turns.takeHead().advance(1);
    while (turns.hasData && out.room > frame.FRAME_HEADER && this.window.available > 0) {
      const sender = turns.takeData();
      sender.advance(turns.hasData ? 2 : 1);
    }
  };

  #wakeWaiters(): void {
    if (this.#waiters.length === 0) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }

  /** The peer's window for all streams has grown. */
  windowOpened(): void {
    this.#roomCame();
  }

  // ── Streams ─────────────────────────────────────────────────────────────────────────────────

  /** A request counts from now on: it pays for some control frames of the peer's. */
  requestBegun(): void {
    this.#budget.opened();
  }

  /** A stream has come to its end. */
  finished(stream: Stream): void {
    this.#streams.delete(stream.id);
    this.#budget.answered();
  }

  /** A stream has broken off. */
  forget(stream: Stream): void {
    if (stream.id !== 0) this.#streams.delete(stream.id);
  }

  /** The peer's mistake ends a stream, and counts. */
  provoked(stream: Stream, code: number, error: ProxyError): void {
    stream.reset(code, error);
    // A backend may answer as it likes: it is we who ask.
    if (this.options.isServer) this.tally(this.#budget.provoked(this.options.deadlines.now));
  }

  /** Refuses what has no stream, and counts that. */
  refuse(id: number, code: number): void {
    this.#writer.reset(id, code);
    this.#streams.wasReset(id);
    this.tally(this.#budget.provoked(this.options.deadlines.now));
  }

  /** Ends the connection where a budget is used up. */
  tally(reason: AbuseReason | null): void {
    if (reason === null || this.#phase !== RUNNING) return;
    this.#role.endedFor(reason);
    this.#leave(errors.ENHANCE_YOUR_CALM, ABUSE_TEXTS[reason]);
  }

  // ── Ends ────────────────────────────────────────────────────────────────────────────────────

  /**
   * Announces that streams will be refused soon (RFC 9113 §6.8): GOAWAY with the highest id, and
   * PING; `onHeard` is called once the peer has acknowledged that, and so has read both.
   */
  announceDrain(onHeard: () => void): void {
    this.#writer.goaway(frame.MAX_31_BITS, errors.NO_ERROR, "");
    this.#keepAlive.ask(onHeard);
  }

  /** The peer breaks the protocol (RFC 9113 §5.4.1): it is told how, and everything ends. */
  fail(code: number, debug: string): void {
    if (this.#phase !== RUNNING) return;
    const reason = END_REASONS[code];
    if (reason !== undefined) this.#role.endedFor(reason);
    this.#leave(code, debug);
  }

  /** Says that the peer's streams so far are the last (RFC 9113 §6.8). */
  sayLast(): void {
    this.#saidLast = this.#streams.lastPeerId;
    this.#writer.goaway(this.#saidLast, errors.NO_ERROR, "");
  }

  /** Ends it by our own will, with GOAWAY; streams under way break off with `error`. */
  end(error: ProxyError | null): void {
    if (this.#phase !== RUNNING) return;
    this.failure = error;
    this.#leave(errors.NO_ERROR, "");
  }

  /** Closes at once. */
  close(error: ProxyError | null): void {
    if (this.#phase === CLOSED) return;
    this.#phase = CLOSED;
    this.failure ??= error;
    closeQuietly(this.#transport);
    this.#breakStreams();
    this.#out.close();
    this.#wakeWaiters();
    this.#input.release();
    this.#role.ended(this.failure);
  }

  /** Ends what is overdue. `now` in ms, monotonic. */
  check(now: number): void {
    const { codes } = this.options;
    if (this.#output.isOverdue(now)) return this.close(new ProxyError(codes.stalled));
    if (this.#phase === LEAVING) {
      if (now >= this.#lingerDeadline) this.close(this.failure);
      return;
    }
    if (now >= this.#headDeadline) {
      const what = this.peer.isKnown ? "a frame took too long to arrive" : "no SETTINGS in time";
      return this.fail(errors.PROTOCOL_ERROR, what);
    }
    if (this.#streams.size > 0) {
      if (!this.#keepAlive.check(now)) {
        return this.close(new ProxyError(codes.gone, "no answer to PING"));
      }
      for (const stream of this.#streams.values()) stream.check(now);
    }
  }

  #leave(code: number, debug: string): void {
    if (code !== errors.NO_ERROR) {
      this.failure = new ProxyError(
        this.options.codes.malformed,
        `${errors.errorName(code)}: ${debug}`,
      );
    }
    if (code !== errors.NO_ERROR || this.#saidLast === -1) {
      const last = this.#saidLast === -1 ? this.#streams.lastPeerId : this.#saidLast;
      this.#writer.goaway(last, code, debug);
    }
    this.#phase = LEAVING;
    this.#lingerDeadline = this.options.deadlines.in(LINGER);
    this.#breakStreams();
    this.#out.whenEmpty(() => {
      this.#transport.closeWrite().catch(() => {
        // The peer is gone already, which the read that is under way tells.
      });
    });
  }

  /** Streams of ours whose head waits still are in no table: the peer knows nothing of them. */
  breakUnsent(error: ProxyError): void {
    for (const { stream } of this.#turns.heads()) {
      if (stream.id !== 0) continue;
      stream.breakUnprocessed(error);
    }
  }

  #breakStreams(): void {
    if (this.#streams.size === 0 && !this.#turns.hasHeads) return;
    const error = this.failure ?? new ProxyError(this.options.codes.gone);
    for (const stream of [...this.#streams.values()]) stream.lost(error);
    this.breakUnsent(error);
  }
}
