/**
 * What a `ProxyServer` is made with, and how it ends. In: nothing. Out: the types.
 */
import type { CidrList } from "../shared/net/cidr.ts";
import type { Logger } from "../shared/log.ts";
import type { Balance } from "../shared/snapshot/types.ts";
import type { ListenRange } from "../shared/net/port_range.ts";
import type { ConnectionCounts } from "./listen/connection_counts.ts";
import type { SocketStates } from "./listen/socket_states.ts";
import type { ErrorPage } from "./forward/local_reply.ts";
import type { FilterMakers } from "./filters/registry.ts";
import type { VerifyPassword } from "./filters/passwords/messages.ts";
import type { Limits } from "./http/limits.ts";
import type { SelfProbes } from "./listen/self_probes.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";

/**
 * Settings that all servers of a process share. They can be posted: `worker.ts` passes them on as they
 * are, so that a setting that is added here reaches every worker.
 */
export interface ServerSettings {
  readonly limits: Limits;
  /** 127.0.0.0/8 and ::1 are dialled too: on a laptop and in tests. */
  readonly allowLoopbackUpstreams: boolean;
  /** For upstreams that do not say how. */
  readonly balance: Balance;
  /** Translates gRPC-Web for upstreams of HTTP/2 that do not say whether. */
  readonly grpcWeb: boolean;
  /** The own element of `CDN-Loop`: all add and count the same. */
  readonly loopMark: string;
  /** Offers HTTP/2 over TLS. */
  readonly http2: boolean;
  /** Takes HTTP/2 in plain text from clients that begin with it. */
  readonly h2c: boolean;
  /** Plain HTTP to hosts that have a certificate goes to HTTPS, once that is listened for. */
  readonly sslRedirect: boolean;
  /** The port that clients know for HTTPS; 0 is that of the first listener for it. */
  readonly sslRedirectPort: number;
  /** Ports for listeners of Gateways; null where none is served. */
  readonly listenRange: ListenRange | null;
  /** Of a port in that range that no listener uses any more, in ms. */
  readonly drainDelay: number;
  /** Of its connections, after that, in ms. */
  readonly drainTimeout: number;
}

/**
 * What may be left out: endpoints in turn, no gRPC-Web, a mark of its own, both kinds of HTTP/2, no
 * listeners of Gateways.
 */
type Defaulted =
  | ("balance" | "grpcWeb" | "loopMark" | "http2" | "h2c")
  | ("listenRange" | "drainDelay" | "drainTimeout");

export interface ProxyServerOptions
  extends Omit<ServerSettings, Defaulted>, Partial<Pick<ServerSettings, Defaulted>> {
  /** Besides those of the snapshot. */
  readonly trustedProxies: CidrList;
  /** Endpoints outside of these are not dialled; an empty list bounds nothing. */
  readonly upstreamNetworks: CidrList;
  /** Makes filters, by kind; those of the registry by default. */
  readonly filterMakers?: FilterMakers;
  /** Verifies passwords; by default, a thread that this one starts when it needs it. */
  readonly verifyPassword?: VerifyPassword;
  readonly log: Logger;
  /** Several workers share each port. */
  readonly reusePort?: boolean;
  /** What limits count in; workers that share them count together. Its own by default. */
  readonly counts?: ConnectionCounts;
  /** Request bodies of all workers; its own by default. */
  readonly bodies?: ConnectionCounts;
  /** Calls to see whether ports answer; workers know of each other's. Its own by default. */
  readonly ownCalls?: SelfProbes;
  /** Bytes in use, for the limit of memory; what the process tells by default. */
  readonly memoryInUse?: () => number;
  /** What counts the traffic, and writes of it; without it nobody is told. */
  readonly telemetry?: Telemetry;
  /** For responses of the proxy itself; only on a laptop, see `ErrorPage`. */
  readonly errorPage?: ErrorPage;
  /** Other sockets of listeners are open than before, or cannot be. */
  readonly onSockets?: (states: SocketStates) => void;
  /** Why traffic should not come, by a name of the reason; null once it may again. */
  readonly onObstacle?: (name: string, reason: string | null) => void;
}

export interface DrainOptions {
  /** Goes on accepting for this long (ms), until load balancers have noticed. */
  readonly delay: number;
  /** Then exchanges under way get this long (ms) to finish. */
  readonly timeout: number;
}
