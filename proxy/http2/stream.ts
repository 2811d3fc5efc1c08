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
import { ReceiveWindow } from "./frame/window.ts";

/** What a stream needs of its connection. */
export interface StreamConnection extends SenderConnection<Stream> {
  readonly peer: PeerSettings;
  readonly role: { streamClosed(stream: Stream): void };
  /** Bytes that a peer who does not know our window yet may send beyond it, on a new stream. */
  readonly unknownWindow: number;
  consumed(bytes: number): void;
  writeWindowUpdate(id: number, increment: number): void;
  writeReset(stream: Stream, code: number): void;
  provoked(stream: Stream, code: number, error: ProxyError): void;
  finished(stream: Stream): void;
  forget(stream: Stream): void;
}

export abstract class Stream implements Consumer {
  /** 0 until it is open. */
  id = 0;
  /** When it was opened, in ms, monotonic, at most one sweep too early. */
  openedAt = 0;
  /** We have said END_STREAM. */
  localEnded = false;
  /** The peer has said END_STREAM. */
  remoteEnded = false;
  /** Over: finished or broken. */
  isClosed = true;
  /** Why it broke, if it did. */
  failure: ProxyError | null = null;
  /** The peer has said that it has done nothing with it (RFC 9113 §8.7). */
  unprocessed = false;
  readonly body: ReceivedBody;
  readonly sender: StreamSender<Stream>;
  readonly receiveWindow: ReceiveWindow;
  connection: StreamConnection;

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
  /** It is over before its end; `body` and `sender` have failed with `error`. Once. */
  protected abstract broken(error: ProxyError): void;
  /** Both sides have said END_STREAM. Once. */
  protected abstract finished(): void;

  /** A new stream of the connection, perhaps in an object that has served another. */
  begin(): void {
    const { connection } = this;
    this.id = 0;
    this.openedAt = connection.options.deadlines.now;
    this.localEnded = this.remoteEnded = this.isClosed = false;
    this.failure = null;
    this.unprocessed = false;
    this.receiveWindow.reset(connection.unknownWindow);
    this.sender.begin(connection, connection.peer.initialWindow);
  }

  /** Bytes of its body have been used: the peer may send as many more. */
  consumed(bytes: number): void {
    const { connection } = this;
    connection.consumed(bytes);
    // Who breaks off a body wants no more of it.
    if (this.remoteEnded || this.isClosed || this.body.isBroken) return;
    const increment = this.receiveWindow.give(bytes);
    if (increment > 0) connection.writeWindowUpdate(this.id, increment);
  }

  /** The peer has said END_STREAM, after its body is `finish`ed. */
  endRemote(): void {
    this.remoteEnded = true;
    if (this.localEnded) this.#finish();
  }

  /** We have said END_STREAM. */
  endLocal(): void {
    this.localEnded = true;
    if (this.remoteEnded) this.#finish();
  }

  /** Ends it with RST_STREAM; its exchange breaks off with `error`. */
  reset(code: number, error: ProxyError): void {
    if (this.isClosed) return;
    this.connection.writeReset(this, code);
    this.break(error);
  }

  /** The peer has sent RST_STREAM. */
  resetBy(code: number): void {
    const error = this.resetByPeer(code);
    if (this.remoteEnded && !this.connection.options.isServer) {
      // RFC 9113 §8.1: the answer is whole, and the rest of the request is not wanted.
      this.sender.fail(error);
      this.#finish();
    } else this.break(error);
  }

  /** It breaks off; without a word to the peer, who knows. */
  break(error: ProxyError): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.failure = error;
    this.body.fail(error);
    this.sender.fail(error);
    this.connection.forget(this);
    this.broken(error);
    this.connection.role.streamClosed(this);
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

  #finish(): void {
    this.isClosed = true;
    this.connection.finished(this);
    this.finished();
    this.connection.role.streamClosed(this);
  }
}
