/**
 * The proxy's limits and timeouts. In: nothing. Out: `DEFAULT_LIMITS`, the one place where their
 * defaults stand, each with its reason. `proxy/cli/limit_specs.ts` gives each a flag. Times in ms, sizes in
 * bytes; 0 means no limit where the comment says so.
 */
import type { PathOptions } from "../../shared/path/canonical_path.ts";

export interface Limits extends PathOptions {
  /** Request line and fields together; past it 414 (still in the request line) or 431. */
  readonly requestHeadBytes: number;
  /** Fields of a request, and of a trailer section; past it 431. */
  readonly requestFields: number;
  /** From the first byte of a request (from accept, for the first) to the end of its head: 408. */
  readonly requestHeadTimeout: number;
  /** Body of a request; past it 413. 0 is no limit. */
  readonly bodyBytes: number;
  /** A request's body without a new byte: 408. */
  readonly bodyTimeout: number;
  /** Bytes a second of a request's body while it is waited for, over each `bodyTimeout`: 408. 0: any. */
  readonly bodyRate: number;
  /** A downstream connection between two requests: closed without a word. */
  readonly clientIdleTimeout: number;
  /** Exchanges on one downstream connection; the last one answers `Connection: close`. */
  readonly requestsPerConnection: number;
  /** A write, either side, without progress: the connection is closed. */
  readonly writeTimeout: number;
  /** Bytes a second that a client takes while it is written to, over each `writeTimeout`. 0: any. */
  readonly writeRate: number;
  /** Downstream connections in all; one more is closed at once. From 80 % idle ones make way. */
  readonly connections: number;
  /** Downstream connections from one address that is no trusted proxy; 0 is no limit. */
  readonly connectionsPerAddress: number;
  /** Request bodies under way from one address that is no trusted proxy; past it 429. 0: no limit. */
  readonly bodiesPerAddress: number;
  /** Memory of the process: near it, connections and then requests are shed. 0 is no limit. */
  readonly memoryBytes: number;
  /** TCP connect to one endpoint; then another endpoint is tried. */
  readonly connectTimeout: number;
  /** From the request's last byte sent to the response's head: 504. */
  readonly responseHeadTimeout: number;
  /** A response's body without a new byte: the exchange is cut. */
  readonly responseBodyTimeout: number;
  /** A TLS handshake, from accept: the connection is closed. */
  readonly handshakeTimeout: number;
  /** TLS handshakes under way; one more ends the oldest. */
  readonly handshakes: number;
  /** A tunnel (WebSocket or another upgrade) in which nothing moves, either way, is closed. */
  readonly tunnelIdleTimeout: number;
  /** Status line and fields of a response; past it 502. */
  readonly responseHeadBytes: number;
  /** Fields of a response; past it 502. */
  readonly responseFields: number;
  /** Endpoints tried for one request, the first included. */
  readonly tries: number;
  /** Retries of an upstream's requests, in percent of these; a few are always allowed. */
  readonly retryBudget: number;
  /** Failures in a row after which an endpoint is left out; 0 never does. */
  readonly ejectionFailures: number;
  /** Answers 502, 503 or 504 in a row after which an endpoint is left out; 0 never does. */
  readonly ejectionAnswers: number;
  /** For how long, the first time; twice as long each time that it fails right after. */
  readonly ejectionTime: number;
  /** How long a request waits for an upstream to have an endpoint; 0 does not wait. */
  readonly holdTimeout: number;
  /** Requests of a worker that wait so; one more is answered at once. */
  readonly holdLimit: number;
  /** Streams that a client may have open on a connection (RFC 9113 §5.1.2); one more is refused. */
  readonly http2Streams: number;
  /** Bytes of a request's body that a client may send ahead of being asked for more. */
  readonly http2StreamWindow: number;
  /** The same of all streams of a connection together. */
  readonly http2ConnectionWindow: number;
  /** Streams that end before their answer, by the client or by its mistakes; past it GOAWAY. */
  readonly http2Resets: number;
  /** Frames that carry no request and no body; past it GOAWAY. */
  readonly http2ControlFrames: number;
  /** Streams on one connection to an endpoint, if it does not allow fewer; then another is made. */
  readonly http2UpstreamStreams: number;
  /** A peer that is silent while streams are open is asked after this, and given up after as long. */
  readonly http2PingTimeout: number;
  /** An idle pooled connection to an endpoint is closed after this. */
  readonly upstreamIdleTimeout: number;
  /** Idle connections kept for one endpoint. */
  readonly upstreamIdleConnections: number;
  /** A pooled connection older than this is not used again. */
  readonly upstreamConnectionAge: number;
}

/** Those of one attempt, which a route may set. */
export type Timeouts = Pick<
  Limits,
  | "connectTimeout"
  | "writeTimeout"
  | "responseHeadTimeout"
  | "responseBodyTimeout"
  | "tunnelIdleTimeout"
>;

export const DEFAULT_LIMITS: Limits = {
  // nginx takes 4 × 8 KiB, Envoy 60 KiB: room for cookies and tokens, cheap to hold.
  requestHeadBytes: 32 * 1024,
  // Browsers send about 20; 100 is what Envoy and Apache allow.
  requestFields: 100,
  // RFC 3986 has `/a//b` and `/a/b` as two paths, and some backends (object stores) do too.
  mergeSlashes: false,
  // Names of packages and branches have them (npm's @scope%2Fname, GitLab's API).
  refuseEscapedSlashes: false,
  // Total, so that a trickle does not extend it: slowloris is cut where nginx's 60 s did not.
  requestHeadTimeout: 10_000,
  // Uploads are the application's business; ingress-nginx's 1 MiB default is its most asked question.
  bodyBytes: 0,
  // Progress, not total: a slow but steady upload goes on.
  bodyTimeout: 30_000,
  // Kestrel's, half of Apache's: no modem is that slow, but a client that trickles to hold on is.
  bodyRate: 240,
  // What browsers reuse within; HAProxy and Envoy hold longer at the price of descriptors.
  clientIdleTimeout: 60_000,
  // Spreads long-lived clients over replicas in time; nginx takes 1,000.
  requestsPerConnection: 10_000,
  // A reader that stops holds at most one buffer for this long.
  writeTimeout: 30_000,
  // As for a request's body: who takes less than that is not after the answer.
  writeRate: 240,
  // Below the usual descriptor limit of 65,536 with as many upstream sockets and files to spare.
  connections: 16_384,
  // Offices and carriers put thousands of clients behind one address: only who knows can set it.
  connectionsPerAddress: 0,
  // Slow bodies hold endpoints' workers: far more than the streams of one browser or gRPC client, and
  // so few that no address takes all of a backend's.
  bodiesPerAddress: 1_024,
  // Only the manifest knows the container's limit.
  memoryBytes: 0,
  // A pod on the same network answers in milliseconds; three SYNs fit.
  connectTimeout: 3_000,
  // ingress-nginx's proxy-read-timeout.
  responseHeadTimeout: 60_000,
  // As above: event streams send a comment every 15 to 30 s.
  responseBodyTimeout: 60_000,
  // Three round trips over any network, with time to spare for a phone that wakes up.
  handshakeTimeout: 10_000,
  // More than half a second's work for one CPU: whoever waits longer has stalled or better come again.
  handshakes: 1_024,
  // Chats and dashboards stay open for long; their pings come far more often than this.
  tunnelIdleTimeout: 3_600_000,
  // Twice the request's: backends set many cookies.
  responseHeadBytes: 64 * 1024,
  responseFields: 200,
  // One retry on another endpoint; more would multiply an outage.
  tries: 2,
  // Envoy's and Linkerd's: an outage of all endpoints grows by a fifth, not to twice its load.
  retryBudget: 20,
  // One may be chance, and two a pod that restarts; Envoy's five lose more requests on the way.
  ejectionFailures: 3,
  // Envoy's consecutive_gateway_failure: an application may mean a 503 or two as they are.
  ejectionAnswers: 5,
  // Longer than most containers take to restart; Envoy's 30 s are long for one that is back.
  ejectionTime: 5_000,
  // Who waits keeps a connection open: only whoever scales to zero wants that.
  holdTimeout: 0,
  // A start takes seconds: some hundred a second of them, and a few MiB.
  holdLimit: 1_024,
  // nginx's; browsers and gRPC clients queue what is beyond it.
  http2Streams: 128,
  // Envoy's for the edge; what a slow backend leaves waiting in memory.
  http2StreamWindow: 64 * 1024,
  // Sixteen uploads at full speed; Envoy's for the edge.
  http2ConnectionWindow: 1024 * 1024,
  // A browser that leaves a page of pictures cancels dozens; an attacker thousands.
  http2Resets: 100,
  // Some of each kind belong to every stream; beside data the rest is noise.
  http2ControlFrames: 1_000,
  // As many as from a client: one lost packet stalls no more than those.
  http2UpstreamStreams: 128,
  // gRPC's keepalive timeout.
  http2PingTimeout: 20_000,
  // Less than the 60 s (Node 5 s aside) after which most servers close on their side.
  upstreamIdleTimeout: 50_000,
  // ingress-nginx's upstream-keepalive-connections.
  upstreamIdleConnections: 320,
  // Long enough to be free, short enough to follow load balancers behind a DNS name.
  upstreamConnectionAge: 3_600_000,
};
