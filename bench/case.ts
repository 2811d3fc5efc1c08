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
import { IDLE_10K_H2C } from "./cases/idle_10k_h2c.ts";
import { IDLE_10K_PLAIN } from "./cases/idle_10k_plain.ts";
import { IDLE_10K_TLS } from "./cases/idle_10k_tls.ts";
import { ROUTES_1 } from "./cases/routes_1.ts";
import { ROUTES_100K } from "./cases/routes_100k.ts";
import { ROUTES_100K_ALONE } from "./cases/routes_100k_alone.ts";
import { ROUTES_10K } from "./cases/routes_10k.ts";
import { NEW_CONNECTIONS } from "./cases/new_connections.ts";
import { NEW_CONNECTIONS_HALF_RATE } from "./cases/new_connections_half_rate.ts";
import { SSE_1K } from "./cases/sse_1k.ts";
import { SSE_1K_BURST } from "./cases/sse_1k_burst.ts";
import { TLS_1MIB_DOWN } from "./cases/tls_1mib_down.ts";
import { SLOW_CLIENTS } from "./cases/slow_clients.ts";
import { TLS_HANDSHAKES_FULL } from "./cases/tls_handshakes_full.ts";
import { TLS_HANDSHAKES_RESUMED } from "./cases/tls_handshakes_resumed.ts";
import { TRACES } from "./cases/traces.ts";
import { WEBSOCKET_1K } from "./cases/websocket_1k.ts";
import { WORKERS_2 } from "./cases/workers_2.ts";
import type { Case } from "./model.ts";

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
  NEW_CONNECTIONS_HALF_RATE,
  SLOW_CLIENTS,
  TLS_HANDSHAKES_FULL,
  TLS_HANDSHAKES_RESUMED,
  SSE_1K,
  SSE_1K_BURST,
  WEBSOCKET_1K,
  IDLE_10K_PLAIN,
  IDLE_10K_TLS,
  IDLE_10K_H2C,
  ROUTES_1,
  ROUTES_10K,
  ROUTES_100K,
  ROUTES_100K_ALONE,
  RELOAD_10K,
  ENDPOINTS_1K,
  WORKERS_2,
  ACCESS_LOG,
  TRACES,
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
