/**
 * What one measurement asks for. In: nothing. Out: the type, and all cases in order. What a case
 * names (its load, what goes on beside it) imports nothing but types from here.
 */
import { ACCESS_LOG } from "./cases/access_log.ts";
import { CHUNKED } from "./cases/chunked.ts";
import { ENDPOINTS_1K } from "./cases/endpoints_1k.ts";
import { GRPC_UNARY } from "./cases/grpc_unary.ts";
import { H1_DOWN } from "./cases/h1_1mib_down.ts";
import { H1_UP } from "./cases/h1_1mib_up.ts";
import { H1_HALF_RATE } from "./cases/h1_half_rate.ts";
import { H1_SMALL } from "./cases/h1_small.ts";
import { H1_TLS_HALF_RATE } from "./cases/h1_tls_half_rate.ts";
import { H1_TLS_SMALL } from "./cases/h1_tls_small.ts";
import { H2_DOWN } from "./cases/h2_1mib_down.ts";
import { H2_UP } from "./cases/h2_1mib_up.ts";
import { H2_IDLE_STREAMS } from "./cases/h2_idle_streams.ts";
import { H2_TLS_SMALL } from "./cases/h2_tls_small.ts";
import { H2C_SMALL } from "./cases/h2c_small.ts";
import { RELOAD_10K } from "./cases/reload_10k.ts";
import { IDLE_10K_PLAIN } from "./cases/idle_10k_plain.ts";
import { IDLE_10K_TLS } from "./cases/idle_10k_tls.ts";
import { ROUTES_1 } from "./cases/routes_1.ts";
import { ROUTES_100K } from "./cases/routes_100k.ts";
import { ROUTES_100K_ALONE } from "./cases/routes_100k_alone.ts";
import { ROUTES_10K } from "./cases/routes_10k.ts";
import { NEW_CONNECTIONS } from "./cases/new_connections.ts";
import { SSE_1K } from "./cases/sse_1k.ts";
import { TLS_1MIB_DOWN } from "./cases/tls_1mib_down.ts";
import { SLOW_CLIENTS } from "./cases/slow_clients.ts";
import { TLS_HANDSHAKES_FULL } from "./cases/tls_handshakes_full.ts";
import { TLS_HANDSHAKES_RESUMED } from "./cases/tls_handshakes_resumed.ts";
import { WEBSOCKET_1K } from "./cases/websocket_1k.ts";
import { WORKERS_2 } from "./cases/workers_2.ts";
import { type Beside } from "./beside.ts";
import { type Load } from "./load.ts";

export interface Case {
  readonly name: string;
  /** For people, what it is. */
  readonly about: string;
  /**
   * What is counted and has its price. It decides on the load too, unless `load` does: wrk or
   * h2load make requests, `websocket_load.ts` makes messages (a message there and its echo back are
   * two), `event_load.ts` holds streams open and counts what comes on them.
   */
  readonly unit: Unit;
  /** One of the paths that `backend.ts` serves. */
  readonly path: Path;
  /** The version of HTTP that clients speak. */
  readonly http: 1 | 2;
  /** What the backend speaks: HTTP/1.1, or gRPC by HTTP/2 without TLS. */
  readonly upstream: "http" | "grpc";
  /** Connections at the same time. */
  readonly connections: number;
  /** On each of them, requests, handshakes or echoes under way at the same time. */
  readonly streams: number;
  /** Body of each request; 0 asks with GET. */
  readonly uploadBytes: number;
  /** Whether clients come with TLS; backends never do. */
  readonly tls: boolean;
  /** Event loops, processes or threads, in the proxy's own words. */
  readonly workers: number;
  /** Hosts and paths in the proxy's configuration; requests go to all of them in turn. One without. */
  readonly routes?: number;
  /** Hosts and paths that requests go to in turn, where they are not those of `routes`. */
  readonly requests?: number;
  /** Endpoints behind the one Service, each an address of 127.0.0.0/8 at the backend's port; or one. */
  readonly endpoints?: number;
  /** Whether a line is written for each request, to the program's standard output or a file. */
  readonly accessLog?: boolean;
  /** What makes the load, where the unit and the version of HTTP do not decide. */
  readonly load?: Load;
  /**
   * The load offers requests at a constant rate, by `load`: this share of what the slowest of the
   * measured peers carried just before, in rounds of the load that the unit decides on. All peers
   * get the same rate.
   */
  readonly pace?: number;
  /** What goes on beside the load, from before each measurement until after it. */
  readonly beside?: Beside;
  /**
   * The load opens so many at first, which are held while nothing counts yet, and all of `connections`
   * and `streams` later: memory is told for each one more.
   */
  readonly held?: Held;
  /** In seconds, before anything counts; without it five, or one where a round is no longer. */
  readonly warmUp?: number;
  /** Rounds at most, whatever is asked for: where a round takes long and figures vary little. */
  readonly mostRounds?: number;
  /**
   * The same thing without what the case is about: measured for each peer in the same alternation,
   * and what `× baseline` compares with.
   */
  readonly baseline?: Case;
  /** Names of the peers that it says something about. Without it, all that can do it. */
  readonly peers?: readonly string[];
}

export type Unit = "request" | "handshake" | "message" | "event" | "connection";

export interface Held {
  readonly connections: number;
  readonly streams: number;
}

export type Path = "/small" | "/1mib" | "/chunked" | "/upload" | "/echo" | "/grpc" | "/events";

export const CASES: readonly Case[] = [
  H1_SMALL,
  H1_DOWN,
  H1_UP,
  CHUNKED,
  H1_TLS_SMALL,
  TLS_1MIB_DOWN,
  H1_HALF_RATE,
  H1_TLS_HALF_RATE,
  NEW_CONNECTIONS,
  SLOW_CLIENTS,
  TLS_HANDSHAKES_FULL,
  TLS_HANDSHAKES_RESUMED,
  SSE_1K,
  WEBSOCKET_1K,
  IDLE_10K_PLAIN,
  IDLE_10K_TLS,
  ROUTES_1,
  ROUTES_10K,
  ROUTES_100K,
  ROUTES_100K_ALONE,
  RELOAD_10K,
  ENDPOINTS_1K,
  WORKERS_2,
  ACCESS_LOG,
  H2_TLS_SMALL,
  H2C_SMALL,
  GRPC_UNARY,
  H2_DOWN,
  H2_UP,
  H2_IDLE_STREAMS,
];

/**
 * What `--quick` runs without being told which: one case for each way through the proxy. The others
 * differ in size, take long, or hold what these show too.
 */
export const QUICK_CASES: readonly Case[] = [
  H1_SMALL,
  H1_DOWN,
  H1_UP,
  H1_TLS_SMALL,
  NEW_CONNECTIONS,
  TLS_HANDSHAKES_FULL,
  WEBSOCKET_1K,
  RELOAD_10K,
  H2_TLS_SMALL,
  GRPC_UNARY,
];
