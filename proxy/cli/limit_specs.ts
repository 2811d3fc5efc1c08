/**
 * The flags of limits. In: the defaults of `limits.ts`. Out: what each takes and its help.
 * `options.ts` reads them.
 */
import { defineOptions } from "../../shared/options.ts";
import { DEFAULT_LIMITS } from "../http/limits.ts";

/** A flag for each of `Limits`. */
export const LIMIT_OPTIONS = defineOptions({
  requestHeadLimit: {
    type: "size",
    group: "Limits",
    default: DEFAULT_LIMITS.requestHeadBytes,
    min: 1024,
    max: 1024 * 1024,
    reason: "enough for cookies and tokens, and cheap to hold",
    help: "Maximum size of request line and headers together. Above it: 414 or 431.",
  },
  requestFieldLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.requestFields,
    min: 1,
    max: 10_000,
    reason: "browsers send about 20; Envoy and Apache allow 100 too",
    help: "Maximum number of request headers. Above it: 431.",
  },
  mergeSlashes: {
    type: "boolean",
    group: "Limits",
    default: DEFAULT_LIMITS.mergeSlashes,
    reason: "//a and /a are different paths in RFC 3986, and in object stores",
    help: "Merges repeated slashes of a path before routing and forwarding, as merge_slashes of " +
      "nginx: //admin becomes /admin. A route whose path contains // then matches no request.",
  },
  refuseEscapedSlashes: {
    type: "boolean",
    group: "Limits",
    default: DEFAULT_LIMITS.refuseEscapedSlashes,
    reason: "package and branch names contain them (npm's @scope%2Fname, GitLab's API)",
    help: "Rejects paths with an escaped slash or backslash (%2F, %5C) with 400.",
  },
  requestHeadTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.requestHeadTimeout,
    min: 1,
    reason: "a total, so that single bytes do not extend it",
    help: "Maximum time for receiving a complete request head. After it: 408.",
  },
  bodyLimit: {
    type: "size",
    group: "Limits",
    default: DEFAULT_LIMITS.bodyBytes,
    reason: "no limit: the size of uploads is up to the application",
    help: "Maximum size of a request body. Above it: 413. 0 is no limit. Routes may have a lower " +
      "limit.",
  },
  bodyTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.bodyTimeout,
    min: 1,
    reason: "counted from the last byte, so slow but steady uploads complete",
    help: "Maximum time without a new byte of a request body. After it: 408.",
  },
  bodyRate: {
    type: "size",
    group: "Limits",
    default: DEFAULT_LIMITS.bodyRate,
    reason: "no network is that slow; a client that holds connections by trickling is",
    help: "Minimum rate of a request body in bytes per second, averaged over each --body-timeout " +
      "that the proxy waits for it. Below it: 408. 0 is no limit.",
  },
  clientIdleTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.clientIdleTimeout,
    min: 1,
    reason: "browsers reuse connections within it, and idle connections cost descriptors",
    help: "Closes client connections that have been idle for this long.",
  },
  connectionRequestLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.requestsPerConnection,
    min: 1,
    reason: "distributes long-lived clients over replicas in time",
    help: "Maximum number of requests per client connection. The last response has Connection: " +
      "close.",
  },
  writeTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.writeTimeout,
    min: 1,
    reason: "a client that stops reading holds a buffer for this long, not forever",
    help: "Closes connections to which nothing could be written for this long.",
  },
  writeRate: {
    type: "size",
    group: "Limits",
    default: DEFAULT_LIMITS.writeRate,
    reason: "as for --body-rate",
    help:
      "Minimum rate in bytes per second at which a client reads a response, averaged over each " +
      "--write-timeout that the proxy waits for it. Below it the connection is closed. 0 is no " +
      "limit.",
  },
  connectionLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.connections,
    min: 1,
    max: 1_000_000,
    reason: "below the usual limit of 65,536 descriptors, with as many for upstream connections",
    help:
      "Maximum number of client connections. More are closed at once. From 80 % of it on, the " +
      "proxy closes those that have been idle longest.",
  },
  connectionsPerAddress: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.connectionsPerAddress,
    max: 1_000_000,
    reason: "0 is no limit: many users may share one address",
    help: "Maximum number of client connections per IPv4 address or IPv6 /64. More are closed at " +
      "once. --trusted-proxies are exempt.",
  },
  bodiesPerAddress: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.bodiesPerAddress,
    max: 1_000_000,
    reason: "eight HTTP/2 connections full of uploads; 0 is no limit",
    help: "Maximum number of active request bodies per IPv4 address or IPv6 /64, gRPC streams " +
      "included. Above it: 429. --trusted-proxies are exempt. Bodies that arrived together with " +
      "their head, and WebSockets, do not count.",
  },
  memoryLimit: {
    type: "size",
    group: "Limits",
    default: DEFAULT_LIMITS.memoryBytes,
    reason: "0 is no limit; in a container, set the container's",
    help: "Memory limit of the process. From 92 % of it, connections are closed after their " +
      "response and idle ones at once; from 95 %, new requests get 503, and only a few new TLS " +
      "connections at a time are accepted for it. Configurations that are estimated to take " +
      "more than 85 % of it are rejected.",
  },
  connectTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.connectTimeout,
    min: 1,
    reason: "pods accept within milliseconds; it allows three SYNs",
    help: "Maximum time for connecting to an endpoint. After it, the proxy tries another one.",
  },
  responseHeadTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.responseHeadTimeout,
    min: 1,
    reason: "proxy-read-timeout of ingress-nginx",
    help: "Maximum time from the last byte of the request to the response head. After it: 504.",
  },
  responseBodyTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.responseBodyTimeout,
    min: 1,
    reason: "event streams send a comment every 15 to 30 s",
    help: "Maximum time without a new byte of a response body. After it, the response is aborted.",
  },
  handshakeTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.handshakeTimeout,
    min: 1,
    reason: "round trips over any network, also for a phone that wakes up",
    help: "Maximum time for a TLS handshake. After it, the connection is closed.",
  },
  handshakeLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.handshakes,
    min: 1,
    max: 1_000_000,
    reason: "half a second of work for one CPU",
    help: "Maximum number of TLS handshakes in progress. Another one ends the oldest, so stalled " +
      "handshakes block nobody.",
  },
  tunnelIdleTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.tunnelIdleTimeout,
    min: 1,
    reason: "dashboards stay open for long, and send pings far more often",
    help: "Closes WebSockets and other upgraded connections without traffic for this long.",
  },
  responseHeadLimit: {
    type: "size",
    group: "Limits",
    default: DEFAULT_LIMITS.responseHeadBytes,
    min: 1024,
    max: 1024 * 1024,
    reason: "twice that of requests: backends set many cookies",
    help: "Maximum size of status line and headers of a response. Above it: 502.",
  },
  responseFieldLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.responseFields,
    min: 1,
    max: 10_000,
    reason: "twice that of requests: backends set many cookies",
    help: "Maximum number of response headers. Above it: 502.",
  },
  tries: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.tries,
    min: 1,
    max: 10,
    reason: "one retry; more would multiply an outage",
    help:
      "Maximum number of endpoints that are tried for a request, the first included. Unless it " +
      "is 1, up to 16 endpoints that refuse the connection do not count, here and in " +
      "--retry-budget.",
  },
  retryBudget: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.retryBudget,
    max: 100,
    reason: "retries add a fifth to the load of a failing backend, not as much again",
    help:
      "Maximum number of retries, in percent of the upstream's requests in the last 10 s. Above " +
      "it, the first failure is returned. 30 retries in 10 s are always allowed. 100 is no " +
      "limit while --tries is 2. Each worker counts its own.",
  },
  ejectionFailures: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.ejectionFailures,
    max: 1_000,
    reason: "one failure may be chance, and two a pod that restarts",
    help: "Number of consecutive failures (no connection, no TLS, no response) after which an " +
      "endpoint is ejected for --ejection-time. At most half of an upstream's endpoints are " +
      "ejected. 0 ejects none. Each worker counts its own.",
  },
  ejectionAnswers: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.ejectionAnswers,
    max: 1_000,
    reason: "consecutive_gateway_failure of Envoy; a single 503 may be intended",
    help:
      "Number of consecutive responses with 502, 503 or 504 after which an endpoint is ejected " +
      "as well. 0 does not count responses.",
  },
  ejectionTime: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.ejectionTime,
    min: 1,
    reason: "longer than most containers take to restart",
    help: "Time for which an endpoint is ejected. It doubles each time the endpoint fails right " +
      "after, up to 1m, until a response succeeds.",
  },
  holdTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.holdTimeout,
    max: 300_000,
    reason: "a waiting request holds a connection; set it for Services that scale to zero",
    help:
      "How long a request waits for a Service without ready endpoints, for example while it is " +
      "scaled up from zero, or for other endpoints if it cannot connect to any. After it: 503 " +
      "or 502. The request body is not read meanwhile. Requests for a Service that does not " +
      "exist, or of type ExternalName, do not wait. 0 disables waiting.",
  },
  holdLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.holdLimit,
    min: 1,
    max: 100_000,
    reason: "some hundred requests per second while a pod starts",
    help:
      "Maximum number of requests per worker that wait for an endpoint. More get 503 at once, " +
      "those to the Service with the most waiting first.",
  },
  http2StreamLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.http2Streams,
    min: 1,
    max: 10_000,
    reason: "the default of nginx; clients queue more",
    help: "Maximum number of concurrent requests per HTTP/2 client connection. More are refused, " +
      "and clients send them again.",
  },
  http2StreamWindow: {
    type: "size",
    group: "Limits",
    default: DEFAULT_LIMITS.http2StreamWindow,
    min: 16 * 1024,
    max: 16 * 1024 * 1024,
    reason: "it bounds what a slow backend leaves in memory; Envoy's value for the edge",
    help:
      "HTTP/2 flow-control window per stream, of clients for request bodies and of backends for " +
      "response bodies.",
  },
  http2ConnectionWindow: {
    type: "size",
    group: "Limits",
    default: DEFAULT_LIMITS.http2ConnectionWindow,
    min: 64 * 1024,
    max: 64 * 1024 * 1024,
    reason: "sixteen uploads at full speed; Envoy's value for the edge",
    help: "HTTP/2 flow-control window per connection.",
  },
  http2ResetLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.http2Resets,
    min: 1,
    max: 1_000_000,
    reason: "leaving a page cancels dozens of requests; attackers cancel thousands",
    help: "Maximum number of requests per HTTP/2 connection that the client cancels, or that are " +
      "malformed, before their response; 33 per second do not count. Above it, the connection " +
      "is closed (ENHANCE_YOUR_CALM).",
  },
  http2ControlLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.http2ControlFrames,
    min: 10,
    max: 1_000_000,
    reason: "each request comes with a few; more is a flood",
    help:
      "Maximum number of frames per HTTP/2 connection that carry no request or body and open no " +
      "window; 100 per second do not count. Above it, the connection is closed " +
      "(ENHANCE_YOUR_CALM).",
  },
  http2UpstreamStreams: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.http2UpstreamStreams,
    min: 1,
    max: 10_000,
    reason: "a connection that breaks or stalls affects no more requests",
    help:
      "Maximum number of concurrent requests per HTTP/2 connection to an endpoint, unless the " +
      "endpoint allows fewer. Then the proxy opens another connection.",
  },
  http2PingTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.http2PingTimeout,
    min: 100,
    reason: "keepalive timeout of gRPC",
    help: "Sends a PING to an HTTP/2 peer that has sent nothing for this long while requests are " +
      "active, and closes the connection without a response after as long again.",
  },
  upstreamIdleTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.upstreamIdleTimeout,
    min: 1,
    reason: "less than 60 s, after which many servers close connections",
    help: "Closes idle connections to an endpoint after this long.",
  },
  upstreamIdleLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.upstreamIdleConnections,
    max: 100_000,
    reason: "upstream-keepalive-connections of ingress-nginx",
    help: "Maximum number of idle connections per endpoint. 0 keeps none.",
  },
  upstreamConnectionAge: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.upstreamConnectionAge,
    min: 1,
    reason: "long enough to cost nothing, short enough to follow a load balancer behind a DNS name",
    help: "Maximum age of a connection to an endpoint that is reused.",
  },
});
