/**
 * What is different between the two roles of a connection. In: what a connection tells its role. Out:
 * what it must know of it.
 */
import type { ProxyError } from "../errors.ts";
import type { EndReason } from "./abuse.ts";
import type { Stream } from "./stream.ts";

/** What a connection's streams are for: `server_connection.ts`, `client_connection.ts`. */
export interface Role {
  /**
   * A whole head has come: for a known stream, or for a new one of the peer's (null). Must call
   * `connection.decode` exactly once, and return where that gives false.
   */
  headers(id: number, stream: Stream | null, endStream: boolean): void;
  /**
   * All whole frames of a read have been dispatched, or a turn's worth. False where it has more to do
   * and others must have their turn first: it is called again.
   */
  dispatched(): boolean;
  /** The peer's SETTINGS are in force. */
  settingsReceived(): void;
  /** The peer takes no more streams; those of ours that it has not seen have been broken. */
  goawayReceived(lastId: number, code: number, debug: string): void;
  /** A stream is over. */
  streamClosed(stream: Stream): void;
  /** We end the connection for what the peer did. */
  endedFor(reason: EndReason): void;
  /** The connection is over, and all of its streams have been told. Once. */
  ended(error: ProxyError | null): void;
}
