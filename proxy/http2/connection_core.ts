/**
 * What the handlers of frames know of their connection (`connection.ts`): the state that frames
 * change, and the ends that they may cause. In: nothing. Out: a type.
 */
import type { ProxyError } from "../errors.ts";
import type { AbuseReason, PeerBudget } from "./abuse.ts";
import type { ConnectionOptions } from "./connection_options.ts";
import type { FrameWriter } from "./frame/frame_writer.ts";
import type { Role } from "./role.ts";
import type { PeerSettings } from "./frame/settings.ts";
import type { Stream } from "./stream.ts";
import type { Streams } from "./streams.ts";
import type { SendWindow } from "./frame/window.ts";

export interface ConnectionCore {
  readonly role: Role;
  readonly options: ConnectionOptions;
  readonly streams: Streams;
  readonly peer: PeerSettings;
  readonly budget: PeerBudget;
  /** What the peer lets us send on all streams. */
  readonly window: SendWindow;
  readonly writer: FrameWriter;
  /** It has ended, or is about to: nothing is dispatched any more. */
  readonly isOver: boolean;
  /** DATA has come: its bytes count; false where they are more than were granted. */
  take(bytes: number): boolean;
  /** Bytes of bodies have been used, or thrown away. */
  consumed(bytes: number): void;
  /** Its body has got bytes: whoever reads it is woken at the end of the turn. */
  stirred(stream: Stream): void;
  /** The peer knows our windows now; false where it has said so before. */
  settingsAcknowledged(): boolean;
  /** The peer's window for all streams has grown. */
  opened(): void;
  /** PING's acknowledgement has come; false where nobody waits for one. */
  ponged(): boolean;
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
