/**
 * What a `ProxyServer` is made with, and how it ends. In: nothing. Out: the types.
 */
import type { CidrList } from "../shared/net/cidr.ts";
import type { Logger } from "../shared/log.ts";
import type { Balance } from "../shared/snapshot/types.ts";
import type { ConnectionCounts } from "./listen/connection_counts.ts";
import type { FilterMakers } from "./filters/registry.ts";
import type { Limits } from "./http/limits.ts";
import type { SelfProbes } from "./listen/self_probes.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";

export interface ProxyServerOptions {
  readonly limits: Limits;
  readonly trustedProxies: CidrList;
  /** Endpoints outside of these are not dialled; an empty list bounds nothing. */
  readonly upstreamNetworks: CidrList;
  /** 127.0.0.0/8 and ::1 are dialled too: on a laptop and in tests. */
  readonly allowLoopbackUpstreams: boolean;
  /** For upstreams that do not say how; endpoints in turn by default. */
  readonly balance?: Balance;
  /** Translates gRPC-Web for upstreams of HTTP/2 that do not say whether; false by default. */
  readonly grpcWeb?: boolean;
  /** Makes filters, by kind; those of the registry by default. */
  readonly filterMakers?: FilterMakers;
  /** The own element of `CDN-Loop`; workers of one process share it. One of its own by default. */
  readonly loopMark?: string;
  readonly log: Logger;
  /** Offers HTTP/2 over TLS; true by default. */
  readonly http2?: boolean;
  /** Takes HTTP/2 in plain text from clients that begin with it; true by default. */
  readonly h2c?: boolean;
  /** Plain HTTP to hosts that have a certificate goes to HTTPS, once that is listened for. */
  readonly sslRedirect: boolean;
  /** The port that clients know for HTTPS; 0 is that of the first listener for it. */
  readonly sslRedirectPort: number;
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
  /** Why traffic should not come, by a name of the reason; null once it may again. */
  readonly onObstacle?: (name: string, reason: string | null) => void;
}

export interface DrainOptions {
  /** Goes on accepting for this long (ms), until load balancers have noticed. */
  readonly delay: number;
  /** Then exchanges under way get this long (ms) to finish. */
  readonly timeout: number;
}
