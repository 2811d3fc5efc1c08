/**
 * What the handlers of frames work on. In: nothing. Out: the parts of a connection whose state frames
 * change, and what a frame may do to the connection as a whole (`connection.ts`).
 */
import type { ProxyError } from "../errors.ts";
import type { AbuseReason, PeerBudget } from "./abuse.ts";
import type { ConnectionOptions } from "./connection_options.ts";
import type { FrameWriter } from "./frame/frame_writer.ts";
import type { PeerSettings } from "./frame/settings.ts";
import type { ReceiveWindow, SendWindow } from "./frame/window.ts";
import type { KeepAlive } from "./keep_alive.ts";
import type { Role } from "./role.ts";
import type { Stream } from "./stream.ts";
import type { Streams } from "./streams.ts";

/** The parts of one connection whose streams are of type `S`. */
export interface ConnectionParts<S extends Stream> {
  readonly options: ConnectionOptions;
  readonly role: Role<S>;
  readonly streams: Streams<S>;
  readonly peer: PeerSettings;
  readonly budget: PeerBudget;
  readonly writer: FrameWriter;
  readonly keepAlive: KeepAlive;
  /** What the peer lets us send on all streams, and we the peer. */
  readonly sendWindow: SendWindow;
  readonly receiveWindow: ReceiveWindow;
}

/** What a frame may do to its connection. */
export interface ConnectionCore {
  /** It has ended, or is about to: nothing is dispatched any more. */
  readonly isOver: boolean;
  /** Bytes of bodies have been used, or thrown away. */
  consumed(bytes: number): void;
  /** Its body has got bytes: whoever reads it is woken at the end of the turn. */
  stirred(stream: Stream): void;
  /** The peer knows our windows now; false where it has said so before. */
  settingsAcknowledged(): boolean;
  /** The peer's window for all streams has grown. */
  windowOpened(): void;
  /** The peer's mistake ends a stream, and counts. */
  provoked(stream: Stream, code: number, error: ProxyError): void;
  /** Refuses what has no stream, and counts that. */
  refuse(id: number, code: number): void;
  /** Ends the connection where a budget is used up. */
  tally(reason: AbuseReason | null): void;
  /** The peer breaks the protocol (RFC 9113 §5.4.1): it is told how, and everything ends. */
  fail(code: number, debug: string): void;
  /** Ends it by our own will, with GOAWAY; streams under way break off with `error`. */
  end(error: ProxyError | null): void;
  /** Breaks the streams of ours of which the peer has seen nothing. */
  breakUnsent(error: ProxyError): void;
}
