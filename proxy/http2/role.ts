/**
 * What is different between the two roles of a connection. In: what a connection tells its role. Out:
 * what it must know of it.
 */
import type { ProxyError } from "../errors.ts";
import type { EndReason } from "./abuse.ts";
import type { HeadBlock } from "./hpack/head_block.ts";

/** Decodes the header block that has come, in the order of the connection's table. */
export interface HeadDecoder {
  /** For heads of no stream, and trailers: what it holds must be used at once. */
  readonly scratch: HeadBlock;
  /** Bytes of the block that was decoded last. */
  readonly blockSize: number;
  /** Decodes the block into `head`, which has begun; false where that ends the connection. */
  decode(head: HeadBlock): boolean;
}

/** What a connection's streams, of type `S`, are for: `server_connection.ts`, `client_connection.ts`. */
export interface Role<S> {
  /** Bytes have come, or the end of them. */
  heard(): void;
  /**
   * A whole head has come: for a known stream, or for a new one of the peer's (null). Must call
   * `decoder.decode` exactly once, and return where that gives false.
   */
  headers(id: number, stream: S | null, endStream: boolean, decoder: HeadDecoder): void;
  /**
   * All whole frames of a read have been dispatched, or a turn's worth. False where it has more to do
   * and others must have their turn first: it is called again.
   */
  dispatched(): boolean;
  /** The peer's SETTINGS are active. */
  settingsReceived(): void;
  /** The peer takes no more streams; those of ours that it has not seen have been broken. */
  goawayReceived(lastId: number, code: number, debug: string): void;
  /** We end the connection for what the peer did. */
  endedFor(reason: EndReason): void;
  /** The connection is over, and all of its streams have been told. Once. */
  ended(error: ProxyError | null): void;
}
