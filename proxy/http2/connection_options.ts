/** What a connection of either role is made with. In: the role's choices. Out: a type. */
import type { Buffers } from "../io/buffer_pool.ts";
import type { Deadlines } from "../io/deadlines.ts";
import type { ErrorCode } from "../errors.ts";
import type { Limits } from "../http/limits.ts";

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
