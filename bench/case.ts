/** What one measurement asks for. In: nothing. Out: the type, and all cases in order. */
import { H1_DOWN } from "./cases/h1_1mib_down.ts";
import { H1_UP } from "./cases/h1_1mib_up.ts";
import { H1_SMALL } from "./cases/h1_small.ts";
import { H1_SMALL_2_WORKERS } from "./cases/h1_small_2_workers.ts";
import { H1_TLS_SMALL } from "./cases/h1_tls_small.ts";
import { TLS_HANDSHAKE } from "./cases/tls_handshake.ts";
import { WEBSOCKET_ECHO } from "./cases/websocket_echo.ts";

export interface Case {
  readonly name: string;
  /** For people, what it is. */
  readonly about: string;
  /**
   * What is counted and has its price. It decides on the load too: wrk makes requests, ab makes
   * handshakes, `websocket_load.ts` makes messages. A message there and its echo back are two.
   */
  readonly unit: Unit;
  /** One of the paths that `backend.ts` serves. */
  readonly path: "/small" | "/1mib" | "/upload" | "/echo";
  /** Connections at the same time, each with one request, handshake or echo under way. */
  readonly connections: number;
  /** Body of each request; 0 asks with GET. */
  readonly uploadBytes: number;
  /** Whether clients come with TLS; backends never do. */
  readonly tls: boolean;
  /** Event loops, processes or threads, in the proxy's own words. */
  readonly workers: number;
}

export type Unit = "request" | "handshake" | "message";

export const CASES: readonly Case[] = [
  H1_SMALL,
  H1_DOWN,
  H1_UP,
  H1_TLS_SMALL,
  TLS_HANDSHAKE,
  WEBSOCKET_ECHO,
  H1_SMALL_2_WORKERS,
];
