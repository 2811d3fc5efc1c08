/**
 * What each frame means to a connection (RFC 9113 §6). In: whole frames, in their order. Out: calls
 * of the connection, its streams and its role; or what the peer has done wrong, by which a stream or
 * the connection ends.
 */
import { ProxyError } from "../errors.ts";
import { asciiBytes, latin1 } from "../http/fields.ts";
import type { ConnectionCore, ConnectionParts } from "./connection_core.ts";
import {
  FLOW_CONTROL_ERROR,
  FRAME_SIZE_ERROR,
  NO_ERROR,
  PROTOCOL_ERROR,
  STREAM_CLOSED,
} from "./frame/error_codes.ts";
import {
  ACK,
  CONTINUATION,
  DATA,
  END_STREAM,
  FRAME_HEADER,
  FRAME_SIZE,
  GOAWAY,
  GOAWAY_SIZE,
  HEADERS,
  MAX_31_BITS,
  PADDED,
  PING,
  PING_SIZE,
  PREFACE,
  PRIORITY,
  PRIORITY_SIZE,
  PUSH_PROMISE,
  readUint24,
  readUint31,
  readUint32,
  RST_STREAM,
  SETTING,
  SETTINGS,
  WINDOW_UPDATE,
} from "./frame/frame.ts";
import { FrameRules } from "./frame_rules.ts";
import { HeadReceiver } from "./head_receiver.ts";
import type { Stream } from "./stream.ts";

/** What an answer of HTTP/1.1 begins with. */
const HTTP_1 = asciiBytes("HTTP/1.");
/** Of GOAWAY's debug data, for the log. */
const DEBUG_SHOWN = 200;

/** What is due first of all: preface and SETTINGS. */
export const FIRST_DUE = 1;

export class FrameHandler<S extends Stream> {
  readonly heads: HeadReceiver<S>;
  /** Bytes of the frame that is half here, its header included; 0 where not even that is known. */
  wanted = 0;
  readonly #connection: ConnectionCore;
  readonly #parts: ConnectionParts<S>;
  readonly #rules: FrameRules;
  /** The preface is still to come. */
  #awaitsPreface: boolean;
  /** What is half here is not a body. */
  #isInFrame = false;
  /** Frames that have been handled, and how many when the head under way began. */
  #handled = 0;
  #headsBegun = 0;

  constructor(connection: ConnectionCore, parts: ConnectionParts<S>) {
    this.#connection = connection;
    this.#parts = parts;
    this.#rules = new FrameRules(connection, parts);
    this.#awaitsPreface = parts.options.isServer;
    this.heads = new HeadReceiver(connection, parts, this.#rules);
  }

  /**
   * A number for what has begun and has to be whole in time: the connection itself, a head, a frame;
   * 0 for nothing. The same number is the same thing: that more of it comes wins no time.
   */
  get due(): number {
    if (!this.#parts.peer.isKnown) return FIRST_DUE;
    if (!this.#isInFrame && this.heads.awaits === 0) return 0;
    return FIRST_DUE + (this.heads.awaits !== 0 ? this.#headsBegun : this.#handled);
  }

  /** Handles all that is whole of `bytes[start, end)`, or a turn's worth; where the rest begins. */
  dispatch(bytes: Uint8Array, start: number, end: number): number {
    const connection = this.#connection;
    this.wanted = 0;
    if (this.#awaitsPreface) {
      if (!this.#takePreface(bytes, start, end)) return start;
      start += PREFACE.length;
    }
    while (end - start >= FRAME_HEADER) {
      const length = readUint24(bytes, start);
      if (!this.#parts.peer.isKnown && isHttp1(bytes, start)) {
        connection.fail(PROTOCOL_ERROR, "an answer of HTTP/1.1 to the preface of HTTP/2");
        return start;
      }
      if (length > FRAME_SIZE) {
        connection.fail(FRAME_SIZE_ERROR, "a frame larger than SETTINGS_MAX_FRAME_SIZE");
        return start;
      }
      const next = start + FRAME_HEADER + length;
      if (next > end) {
        this.wanted = next - start;
        break;
      }
      const id = readUint31(bytes, start + 5);
      this.#handle(bytes[start + 3], bytes[start + 4], id, bytes, start + FRAME_HEADER, next);
      if (connection.isOver) return next;
      start = next;
      if (this.heads.isTurnOver) {
        // Nothing is due from the peer: it is the proxy that goes on later.
        this.#isInFrame = false;
        return start;
      }
    }
    // A body may take its time: its reader has a deadline.
    this.#isInFrame = start !== end && (this.wanted === 0 || bytes[start + 3] !== DATA);
    return start;
  }

  /** True once it is there; it has been compared as far as it is here. */
  #takePreface(bytes: Uint8Array, start: number, end: number): boolean {
    const length = Math.min(end - start, PREFACE.length);
    for (let i = 0; i < length; i++) {
      if (bytes[start + i] === PREFACE[i]) continue;
      this.#connection.fail(PROTOCOL_ERROR, "bad connection preface");
      return false;
    }
    this.wanted = PREFACE.length;
    this.#awaitsPreface = length < PREFACE.length;
    return !this.#awaitsPreface;
  }

  #handle(
    type: number,
    flags: number,
    id: number,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): void {
    const connection = this.#connection;
    const { peer } = this.#parts;
    this.#handled++;
    if (type === HEADERS) this.#headsBegun = this.#handled;
    if (!peer.isKnown && (type !== SETTINGS || (flags & ACK) !== 0)) {
      return connection.fail(PROTOCOL_ERROR, "the first frame is not SETTINGS");
    }
    const { awaits } = this.heads;
    if (awaits !== 0 && (type !== CONTINUATION || id !== awaits)) {
      return connection.fail(PROTOCOL_ERROR, "a frame between HEADERS and its CONTINUATION");
    }
    switch (type) {
      case DATA:
        return this.#data(flags, id, bytes, start, end);
      case HEADERS:
        return this.heads.headers(flags, id, bytes, start, end);
      case PRIORITY:
        return this.#priority(id, bytes, start, end);
      case RST_STREAM:
        return this.#rstStream(id, bytes, start, end);
      case SETTINGS:
        return this.#settings(flags, id, bytes, start, end);
      case PUSH_PROMISE:
        return connection.fail(PROTOCOL_ERROR, "PUSH_PROMISE, which nobody asked for");
      case PING:
        return this.#ping(flags, id, bytes, start, end);
      case GOAWAY:
        return this.#goaway(id, bytes, start, end);
      case WINDOW_UPDATE:
        return this.#windowUpdate(id, bytes, start, end);
      case CONTINUATION:
        return this.heads.continuation(flags, id, bytes, start, end);
      default:
        // RFC 9113 §5.5: ignored.
        this.#rules.countControl();
    }
  }

  // ── DATA ────────────────────────────────────────────────────────────────────────────────────

  #data(flags: number, id: number, bytes: Uint8Array, start: number, end: number): void {
    const connection = this.#connection;
    if (id === 0) return connection.fail(PROTOCOL_ERROR, "DATA on stream 0");
    const dataEnd = this.#rules.unpadded(flags, bytes, start, end);
    if (dataEnd === -1) return;
    const size = end - start;
    if (!this.#parts.receiveWindow.take(size)) {
      return connection.fail(FLOW_CONTROL_ERROR, "DATA past the connection's window");
    }
    const stream = this.#parts.streams.get(id);
    if (stream === null) {
      // Clients cancel responses of which a thousand small frames may be on their way: these must not end the
      // connection that other clients share. On open streams such frames of a backend are not counted either.
      const isFree = !this.#parts.options.isServer && dataEnd > start;
      if (this.#rules.isBearable(id, "DATA", isFree)) connection.consumed(size);
      return;
    }
    if (stream.remoteEnded) {
      connection.consumed(size);
      return this.#rules.streamError(stream, STREAM_CLOSED, "DATA behind END_STREAM");
    }
    if (!stream.receiveWindow.take(size)) {
      connection.consumed(size);
      return this.#rules.streamError(stream, FLOW_CONTROL_ERROR, "DATA past the stream's window");
    }
    const dataStart = (flags & PADDED) === 0 ? start : start + 1;
    const count = dataEnd - dataStart;
    const isEnd = (flags & END_STREAM) !== 0;
    if (!isEnd) {
      const { budget, options } = this.#parts;
      connection.tally(budget.dataReceived(options.deadlines.now, count));
      if (connection.isOver) return;
    }
    if (size > count) stream.consumed(size - count);
    const { body } = stream;
    const wasStirred = body.isStirred;
    const problem = body.push(bytes, dataStart, dataEnd) ?? (isEnd ? body.finish(null) : null);
    if (body.isStirred && !wasStirred) connection.stirred(stream);
    if (problem !== null) return stream.wrongLength(problem);
    if (isEnd) stream.endRemote();
  }

  // ── Streams ─────────────────────────────────────────────────────────────────────────────────

  /** Priorities of RFC 7540 are ignored, once it is clear that they are what they should be. */
  #priority(id: number, bytes: Uint8Array, start: number, end: number): void {
    const connection = this.#connection;
    if (id === 0) return connection.fail(PROTOCOL_ERROR, "PRIORITY on stream 0");
    const isLong = end - start === PRIORITY_SIZE;
    if (isLong && readUint31(bytes, start) !== id) return this.#rules.countControl();
    const code = isLong ? PROTOCOL_ERROR : FRAME_SIZE_ERROR;
    const text = isLong ? "a stream that depends on itself" : "PRIORITY of a wrong size";
    const stream = this.#parts.streams.get(id);
    if (stream !== null) this.#rules.streamError(stream, code, text);
    else connection.fail(code, text);
  }

  #rstStream(id: number, bytes: Uint8Array, start: number, end: number): void {
    const connection = this.#connection;
    if (id === 0) return connection.fail(PROTOCOL_ERROR, "RST_STREAM on stream 0");
    if (end - start !== 4) {
      return connection.fail(FRAME_SIZE_ERROR, "RST_STREAM of a wrong size");
    }
    const stream = this.#parts.streams.get(id);
    if (stream === null) {
      if (this.#parts.streams.fate(id) === "idle") {
        return connection.fail(PROTOCOL_ERROR, "RST_STREAM on an idle stream");
      }
      this.#parts.streams.resetByBoth(id);
      return this.#rules.countControl();
    }
    const { budget, options: { deadlines, isServer } } = this.#parts;
    const { openedAt, localEnded } = stream;
    stream.resetBy(readUint32(bytes, start));
    // Who has been answered only leaves off; and a backend may refuse what it likes, as it is we who ask.
    if (localEnded) this.#rules.countControl();
    else if (isServer) connection.tally(budget.reset(deadlines.now, openedAt));
  }

  #windowUpdate(id: number, bytes: Uint8Array, start: number, end: number): void {
    const connection = this.#connection;
    if (end - start !== 4) {
      return connection.fail(FRAME_SIZE_ERROR, "WINDOW_UPDATE of a wrong size");
    }
    const increment = readUint31(bytes, start);
    if (id === 0) {
      if (increment === 0) return connection.fail(PROTOCOL_ERROR, "WINDOW_UPDATE of 0");
      if (!this.#parts.sendWindow.grow(increment)) {
        return connection.fail(FLOW_CONTROL_ERROR, "the connection's window past 2^31-1");
      }
      this.#rules.countControl();
      return connection.windowOpened();
    }
    const stream = this.#parts.streams.get(id);
    if (stream === null) {
      const fate = this.#parts.streams.fate(id);
      if (fate === "idle") connection.fail(PROTOCOL_ERROR, "WINDOW_UPDATE on an idle stream");
      else if (increment === 0 && fate === "closed") connection.refuse(id, PROTOCOL_ERROR);
      else this.#rules.countControl();
      return;
    }
    if (increment === 0) {
      return this.#rules.streamError(stream, PROTOCOL_ERROR, "WINDOW_UPDATE of 0");
    }
    if (!stream.sender.window.grow(increment)) {
      return this.#rules.streamError(stream, FLOW_CONTROL_ERROR, "the stream's window past 2^31-1");
    }
    this.#rules.countControl();
    stream.sender.opened();
  }

  // ── The connection ──────────────────────────────────────────────────────────────────────────

  #settings(flags: number, id: number, bytes: Uint8Array, start: number, end: number): void {
    const connection = this.#connection;
    const { peer, writer, budget, options: { deadlines, isServer } } = this.#parts;
    if (id !== 0) return connection.fail(PROTOCOL_ERROR, "SETTINGS on a stream");
    const size = end - start;
    if ((flags & ACK) !== 0) {
      if (size !== 0) return connection.fail(FRAME_SIZE_ERROR, "SETTINGS ACK with a payload");
      // Ours are sent once.
      if (!connection.settingsAcknowledged()) this.#rules.countControl();
      return;
    }
    if (size % SETTING !== 0) {
      return connection.fail(FRAME_SIZE_ERROR, "SETTINGS of a wrong size");
    }
    connection.tally(budget.settings(deadlines.now, size / SETTING));
    if (connection.isOver) return;
    const { initialWindow } = peer;
    const error = peer.read(bytes, start, end, isServer);
    if (error !== null) return connection.fail(error.code, error.text);
    writer.settingsAck();
    connection.tally(budget.ackQueued());
    if (connection.isOver) return;
    if (peer.smallestTableSize !== Infinity) {
      writer.encoder.setTableLimit(peer.smallestTableSize);
      writer.encoder.setTableLimit(peer.tableSize);
    }
    if (peer.initialWindow !== initialWindow) this.#moveWindows(peer.initialWindow - initialWindow);
    if (!connection.isOver) this.#parts.role.settingsReceived();
  }

  /** RFC 9113 §6.9.2: the windows of all streams change, and may become negative. */
  #moveWindows(by: number): void {
    const { streams } = this.#parts;
    for (const stream of streams.values()) {
      if (!stream.sender.window.grow(by)) {
        return this.#connection.fail(FLOW_CONTROL_ERROR, "a stream's window past 2^31-1");
      }
    }
    if (by > 0) { for (const stream of [...streams.values()]) stream.sender.opened(); }
  }

  #ping(flags: number, id: number, bytes: Uint8Array, start: number, end: number): void {
    const connection = this.#connection;
    if (id !== 0) return connection.fail(PROTOCOL_ERROR, "PING on a stream");
    if (end - start !== PING_SIZE) {
      return connection.fail(FRAME_SIZE_ERROR, "PING of a wrong size");
    }
    if ((flags & ACK) !== 0) {
      if (!this.#parts.keepAlive.answered()) this.#rules.countControl();
      return;
    }
    this.#rules.countControl();
    if (connection.isOver) return;
    this.#parts.writer.pong(bytes, start);
    connection.tally(this.#parts.budget.ackQueued());
  }

  #goaway(id: number, bytes: Uint8Array, start: number, end: number): void {
    const connection = this.#connection;
    const { streams, options: { codes, isServer }, role } = this.#parts;
    if (id !== 0) return connection.fail(PROTOCOL_ERROR, "GOAWAY on a stream");
    if (end - start < GOAWAY_SIZE) {
      return connection.fail(FRAME_SIZE_ERROR, "GOAWAY of a wrong size");
    }
    this.#rules.countControl();
    if (connection.isOver) return;
    const lastId = readUint31(bytes, start);
    const code = readUint32(bytes, start + 4);
    if (isServer) {
      // No stream is ours, so there is nothing to give up, however often it says so.
      if (code !== NO_ERROR && streams.size === 0) connection.end(null);
      return;
    }
    const shown = Math.min(end, start + GOAWAY_SIZE + DEBUG_SHOWN);
    const debug = latin1(bytes, start + GOAWAY_SIZE, shown).replace(/[^\x20-\x7e]/g, "?");
    connection.breakUnsent(new ProxyError(codes.gone, "sent GOAWAY"));
    if (lastId !== MAX_31_BITS) this.#abandon(lastId);
    role.goawayReceived(lastId, code, debug);
    if (code !== NO_ERROR && streams.size === 0) connection.end(null);
  }

  /** Streams of ours that the peer has not looked at are over. */
  #abandon(lastId: number): void {
    const { streams, options: { codes } } = this.#parts;
    const error = new ProxyError(codes.gone, "sent GOAWAY before it was asked");
    for (const stream of [...streams.values()]) {
      if (streams.isPeers(stream.id) || stream.id <= lastId) continue;
      stream.breakUnprocessed(error);
    }
  }
}

function isHttp1(bytes: Uint8Array, at: number): boolean {
  for (let i = 0; i < HTTP_1.length; i++) if (bytes[at + i] !== HTTP_1[i]) return false;
  return true;
}
