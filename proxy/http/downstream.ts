/**
 * What all connections from clients share. In: the process's limits, buffers and deadlines, and who
 * serves an exchange. Out: the type that each connection is given.
 */
import type { Buffers } from "../io/buffer_pool.ts";
import type { Deadlines } from "../io/deadlines.ts";
import type { ErrorCode, ProxyError } from "../errors.ts";
import type { Limits } from "./limits.ts";
import type { Body } from "./body.ts";
import type { Client, Exchange, ExchangeHandler, ResponseHead } from "./message.ts";

export interface ServerConnectionContext {
  readonly limits: Limits;
  readonly buffers: Buffers;
  readonly deadlines: Deadlines;
  /** Plain connections may begin with HTTP/2. */
  readonly h2c: boolean;
  readonly handler: ExchangeHandler;
  /** Our own response to an error; `exchange` is null where no head could be read. */
  readonly localReply: (
    code: ErrorCode,
    exchange: Exchange | null,
  ) => { head: ResponseHead; body: Body };
  /** True once responses that begin are to be the last of their connections. */
  readonly isDraining: () => boolean;
  /** Told of each exchange when it has ended, and of each request that was refused. Must not throw. */
  readonly onExchangeEnd: (exchange: Exchange) => void;
  /** Told of what ends a connection before or outside an exchange, for the log. */
  readonly onError: (error: ProxyError, client: Client) => void;
}

/** A connection from a client, of either version. */
export interface DownstreamConnection {
  /** Its index in `ClientConnections`, which writes it; -1 outside. */
  place: number;
  readonly client: Client;
  /** Serves it to its end. Never rejects. */
  serve(): Promise<void>;
  /** Since when nothing has been under way, in ms, monotonic; Infinity while something is. */
  readonly idleSince: number;
  /** Its client should not come back on it: told with the next answer where only that loses nothing. */
  retire(): void;
  /** Finishes what is under way, and takes no more. `grace` (ms): what an idle one may be waited for. */
  drain(grace: number): void;
  /** Closes at once, whatever is under way. */
  close(): void;
}
