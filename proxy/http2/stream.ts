/**
 * One stream of a connection (RFC 9113 §5.1), in what both roles share. In: frames for it, and what
 * its exchange sends. Out: its state, its windows, and its end, told once: `finished` or `broken`.
 */
import { ProxyError } from "../errors.ts";
import { CANCEL, PROTOCOL_ERROR } from "./frame/error_codes.ts";
import type { HpackEncoder } from "./hpack/encoder.ts";
import { type Consumer, type LengthProblem, ReceivedBody } from "./received_body.ts";
import type { PeerSettings } from "./frame/settings.ts";
import { type SenderConnection, StreamSender } from "./stream_sender.ts";
import {
  ABANDON,
  CLOSED,
  END_RECEIVED,
  END_SENT,
  EVENT_NAMES,
  HALF_CLOSED_LOCAL,
  HALF_CLOSED_REMOTE,
  HEADERS,
  IDLE,
  RESET,
  STATE_NAMES,
  type StreamEvent,
  type StreamState,
  transition,
} from "./stream_state.ts";
import { ReceiveWindow } from "./frame/window.ts";

/** What a stream needs of its connection. */
export interface StreamConnection extends SenderConnection<Stream> {
  readonly peer: PeerSettings;
  /** Bytes that a peer who does not know our window yet may send beyond it, on a new stream. */
  readonly unknownWindow: number;
  /** That of all streams: closed while streams that nobody reads hold all of it. */
  readonly receiveWindow: Pick<ReceiveWindow, "isOpen">;
  /** A request counts from now on: it pays for some control frames of the peer's. */
  requestBegun(): void;
  /** Settles when there is room for a head, or all is over; null where there is some. */
  whenRoom(): Promise<void> | null;
  /** Its body has got bytes: whoever reads it is woken at the end of the turn. */
  stirred(stream: Stream): void;
  consumed(bytes: number): void;
  writeWindowUpdate(id: number, increment: number): void;
  writeReset(stream: Stream, code: number): void;
  provoked(stream: Stream, code: number, error: ProxyError): void;
  finished(stream: Stream): void;
  forget(stream: Stream): void;
  close(error: ProxyError): void;
}

export abstract class Stream implements Consumer {
  /** 0 until it is open. */
  id = 0;
  /** When it was opened, in ms, monotonic, at most one sweep too early. */
  openedAt = 0;
  /** Why it broke, if it did. */
  failure: ProxyError | null = null;
  readonly body: ReceivedBody;
  readonly sender: StreamSender<Stream>;
  readonly receiveWindow: ReceiveWindow;
  protected readonly connection: StreamConnection;
  /** Closed before the first `begin`, as between two streams. */
  #state: StreamState = CLOSED;

  constructor(connection: StreamConnection) {
    const { buffers, deadlines, streamWindow } = connection.options;
    this.connection = connection;
    this.body = new ReceivedBody(this, buffers, deadlines);
    this.sender = new StreamSender(this);
    this.receiveWindow = new ReceiveWindow(streamWindow);
  }

  /** A bound for what `encodeHead` writes, in bytes. */
  abstract headBound(): number;
  /** Writes the head's fields, once and right behind `headBound`; the position after them. */
  abstract encodeHead(encoder: HpackEncoder, out: Uint8Array, at: number): number;
  /** The peer has sent RST_STREAM with this code: why the exchange breaks off. */
  abstract resetByPeer(code: number): ProxyError;
  /** Its head is written now: one of ours that has no id yet gets it (RFC 9113 §5.1.1). */
  abstract number(): void;
  /** It is over before its end; `body` and `sender` have failed with `error`. Once. */
  protected abstract broken(error: ProxyError): void;
  /** Both sides have said END_STREAM. Once. */
  protected abstract finished(): void;

  get isClosed(): boolean {
    return this.#state === CLOSED;
  }

  /** No END_STREAM of ours is due: it has been sent, or the stream is closed. */
  get localEnded(): boolean {
    return this.#state === HALF_CLOSED_LOCAL || this.#state === CLOSED;
  }

  /** No END_STREAM of the peer's is due: it has been received, or the stream is closed. */
  get remoteEnded(): boolean {
    return this.#state === HALF_CLOSED_REMOTE || this.#state === CLOSED;
  }

  /** A new stream of the connection, perhaps in an object that has served another. */
  begin(): void {
    const { connection } = this;
    this.id = 0;
    this.openedAt = connection.options.deadlines.now;
    this.#state = IDLE;
    this.failure = null;
    this.receiveWindow.reset(connection.unknownWindow);
    this.sender.begin(connection, connection.peer.initialWindow);
  }

  /** Its first HEADERS frame is sent, or has been received. */
  opened(id: number): void {
    this.id = id;
    this.#enter(HEADERS);
  }

  /** Bytes of its body have been used: the peer may send as many more. */
  consumed(bytes: number): void {
    const { connection } = this;
    connection.consumed(bytes);
    // Who breaks off a body wants no more of it.
    if (this.remoteEnded || this.body.isBroken) return;
    const increment = this.receiveWindow.give(bytes);
    if (increment > 0) connection.writeWindowUpdate(this.id, increment);
  }

  /** The peer has said END_STREAM, after its body is `finish`ed. */
  endRemote(): void {
    if (this.#enter(END_RECEIVED) && this.isClosed) this.#finish();
  }

  /** We have said END_STREAM. */
  endLocal(): void {
    if (this.#enter(END_SENT) && this.isClosed) this.#finish();
  }

  /** Ends it with RST_STREAM; its exchange breaks off with `error`. */
  reset(code: number, error: ProxyError): void {
    if (this.isClosed) return;
    this.connection.writeReset(this, code);
    this.break(error);
  }

  /** The peer has sent RST_STREAM. */
  resetBy(code: number): void {
    this.lost(this.resetByPeer(code));
  }

  /** It ends both ways at once: by RST_STREAM of the peer, or with its connection. */
  lost(error: ProxyError): void {
    if (this.remoteEnded && !this.isClosed && !this.connection.options.isServer) {
      // RFC 9113 §8.1: the answer is whole, and the rest of the request is not wanted.
      this.sender.fail(error);
      this.#enter(RESET);
      this.#finish();
    } else this.break(error);
  }

  /** It breaks off; without a word to the peer, who knows. */
  break(error: ProxyError): void {
    if (this.isClosed) return;
    this.#enter(this.#state === IDLE ? ABANDON : RESET);
    this.failure = error;
    this.body.fail(error);
    this.sender.fail(error);
    this.connection.forget(this);
    this.broken(error);
  }

  /** As `break`, where the peer has done nothing with it (RFC 9113 §6.8, §8.7), or knows nothing of it. */
  breakUnprocessed(error: ProxyError): void {
    this.break(error);
  }

  /** The body is not what its head has said (RFC 9113 §8.1.1). */
  wrongLength(problem: LengthProblem): void {
    const { connection } = this;
    const error = new ProxyError(connection.options.codes.malformed, problem);
    connection.provoked(this, PROTOCOL_ERROR, error);
  }

  /** Ends it where the peer keeps its window shut. `now` in ms, monotonic. */
  check(now: number): void {
    if (!this.sender.isOverdue(now)) return;
    this.reset(CANCEL, new ProxyError(this.connection.options.codes.stalled));
  }

  /** An event that the state does not allow is a mistake of ours: it ends the connection alone. */
  #enter(event: StreamEvent): boolean {
    const next = transition(this.#state, event);
    if (next !== null) {
      this.#state = next;
      return true;
    }
    const what = `stream ${this.id}: ${EVENT_NAMES[event]} while ${STATE_NAMES[this.#state]}`;
    this.connection.close(new ProxyError("internal", what));
    return false;
  }

  #finish(): void {
    this.connection.finished(this);
    this.finished();
  }
}
