/**
 * What is different between the two roles of a connection. In: what a connection tells its role. Out:
 * what it must know of it.
 */
import type { Buffers } from "../buffer_pool.ts";
import type { Deadlines } from "../deadlines.ts";
import type { ErrorCode, ProxyError } from "../errors.ts";
import type { Limits } from "../limits.ts";
import type { EndReason } from "./abuse.ts";
import type { Stream } from "./stream.ts";

export interface ConnectionOptions {
  readonly isServer: boolean;
  readonly limits: Limits;
  readonly buffers: Buffers;
  readonly deadlines: Deadlines;
  /** What exchanges break off with: the peer is gone, has broken the protocol, does not read. */
  readonly codes: {
    readonly gone: ErrorCode;
    readonly malformed: ErrorCode;
    readonly stalled: ErrorCode;
  };
  /** Bytes a second that the peer must take; 0 for any. */
  readonly writeRate: number;
  /** What we let the peer send ahead, in bytes, on a stream and on all of them. */
  readonly streamWindow: number;
  readonly connectionWindow: number;
  /** Of a decoded head, as RFC 9113 §10.5.1 counts its bytes. */
  readonly headBytes: number;
  readonly headFields: number;
  /** Further parameters of our SETTINGS: ids and values in turn. */
  readonly settings: readonly number[];
}

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
