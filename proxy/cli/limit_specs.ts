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
    reason: "room for cookies and tokens, cheap to hold",
    help: "Request line and header fields together; past it 414 or 431.",
  },
  requestFieldLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.requestFields,
    min: 1,
    max: 10_000,
    reason: "browsers send about 20; Envoy and Apache allow 100 too",
    help: "Header fields of a request; past it 431.",
  },
  mergeSlashes: {
    type: "boolean",
    group: "Limits",
    default: DEFAULT_LIMITS.mergeSlashes,
    reason: "RFC 3986 has //a and /a as two paths, and object stores do too",
    help: "Routes and forwards a path with several slashes in a row with one, as nginx's " +
      "merge_slashes: //admin is /admin. A route whose path has // then takes no request.",
  },
  refuseEscapedSlashes: {
    type: "boolean",
    group: "Limits",
    default: DEFAULT_LIMITS.refuseEscapedSlashes,
    reason: "names of packages and branches have them (npm's @scope%2Fname, GitLab's API)",
    help: "Answers 400 to a path with an escaped slash or backslash (%2F, %5C).",
  },
  requestHeadTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.requestHeadTimeout,
    min: 1,
    reason: "total, so that a trickle of bytes does not extend it",
    help: "Time for a whole request head; past it 408.",
  },
  bodyLimit: {
    type: "size",
    group: "Limits",
    default: DEFAULT_LIMITS.bodyBytes,
    reason: "none: how large an upload may be is the application's business",
    help: "Body of a request; past it 413. 0 is no limit. Routes may have a lower limit.",
  },
  bodyTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.bodyTimeout,
    min: 1,
    reason: "progress counts, so a slow but steady upload goes on",
    help: "A request's body without a new byte; past it 408.",
  },
  bodyRate: {
    type: "size",
    group: "Limits",
    default: DEFAULT_LIMITS.bodyRate,
    reason: "no network is that slow, but a client that trickles to hold a connection is",
    help: "Bytes a second of a request's body, averaged over each --body-timeout in which they " +
      "are waited for; below it 408. 0 takes any.",
  },
  clientIdleTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.clientIdleTimeout,
    min: 1,
    reason: "browsers reuse a connection within it, and idle ones cost descriptors",
    help: "Closes a client's connection after this long without a request.",
  },
  connectionRequestLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.requestsPerConnection,
    min: 1,
    reason: "spreads long-lived clients over replicas in time",
    help: "Requests on one client's connection; the last one answers Connection: close.",
  },
  writeTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.writeTimeout,
    min: 1,
    reason: "a reader that stops holds one buffer for this long, not for ever",
    help: "Closes a connection to which nothing could be written for this long.",
  },
  writeRate: {
    type: "size",
    group: "Limits",
    default: DEFAULT_LIMITS.writeRate,
    reason: "as for --body-rate",
    help: "Bytes a second that a client takes, averaged over each --write-timeout in which it is " +
      "waited for; below it the connection is closed. 0 takes any.",
  },
  connectionLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.connections,
    min: 1,
    max: 1_000_000,
    reason: "below the usual limit of 65,536 descriptors with as many upstream sockets to spare",
    help: "Client connections in all; one more is closed at once. From 80 % of it on, those that " +
      "have been idle longest make way.",
  },
  connectionsPerAddress: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.connectionsPerAddress,
    max: 1_000_000,
    reason: "0 is no limit: an office or a carrier may stand behind one address",
    help: "Client connections from one IPv4 address or IPv6 /64; one more is closed at once. " +
      "--trusted-proxies are exempt.",
  },
  bodiesPerAddress: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.bodiesPerAddress,
    max: 1_000_000,
    reason: "eight connections of HTTP/2 full of uploads; 0 is no limit",
    help:
      "Request bodies, streams of gRPC calls included, that may be under way at once from one " +
      "IPv4 address or IPv6 /64; one more gets 429. --trusted-proxies are exempt. A body that " +
      "came along with its head does not count, nor does a WebSocket.",
  },
  memoryLimit: {
    type: "size",
    group: "Limits",
    default: DEFAULT_LIMITS.memoryBytes,
    reason: "0 is no limit; in a container, give the container's",
    help: "Memory that the process may use. From 92 % of it connections end after their answer " +
      "and idle ones are closed, from 95 % new requests get 503, and of new TLS connections " +
      "only a few at a time are let in to get theirs: the others are closed at once. A " +
      "configuration that is estimated to take more than 85 % of it is refused.",
  },
  connectTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.connectTimeout,
    min: 1,
    reason: "a pod answers within milliseconds; three SYNs fit",
    help: "Time to connect to an endpoint; then another one is tried.",
  },
  responseHeadTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.responseHeadTimeout,
    min: 1,
    reason: "ingress-nginx's proxy-read-timeout",
    help: "From the request's last byte to the response's head; past it 504.",
  },
  responseBodyTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.responseBodyTimeout,
    min: 1,
    reason: "event streams send a comment every 15 to 30 s",
    help: "A response's body without a new byte; past it the exchange is cut.",
  },
  handshakeTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.handshakeTimeout,
    min: 1,
    reason: "round trips over any network, with time to spare for a phone that wakes up",
    help: "Time for a TLS handshake; past it the connection is closed.",
  },
  handshakeLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.handshakes,
    min: 1,
    max: 1_000_000,
    reason: "half a second's work for one CPU",
    help:
      "TLS handshakes under way; one more ends the oldest, so that stalled ones keep nobody out.",
  },
  tunnelIdleTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.tunnelIdleTimeout,
    min: 1,
    reason: "dashboards stay open for long, and ping far more often",
    help: "Closes a WebSocket or another upgrade in which nothing has moved for this long.",
  },
  responseHeadLimit: {
    type: "size",
    group: "Limits",
    default: DEFAULT_LIMITS.responseHeadBytes,
    min: 1024,
    max: 1024 * 1024,
    reason: "twice the request's: backends set many cookies",
    help: "Status line and header fields of a response; past it 502.",
  },
  responseFieldLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.responseFields,
    min: 1,
    max: 10_000,
    reason: "twice the request's, as above",
    help: "Header fields of a response; past it 502.",
  },
  tries: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.tries,
    min: 1,
    max: 10,
    reason: "one more endpoint; more would multiply an outage",
    help:
      "Endpoints tried for one request, the first included. Unless it is 1, up to 16 endpoints " +
      "that refuse the connection are not counted, here and in --retry-budget.",
  },
  retryBudget: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.retryBudget,
    max: 100,
    reason: "retries of a backend that fails whole add a fifth to its load, not as much again",
    help: "Second tries in percent of an upstream's requests in the last 10 s; past it the first " +
      "failure is answered. 30 in that time are always allowed. 100 bounds nothing while --tries " +
      "is 2. Each worker counts its own.",
  },
  ejectionFailures: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.ejectionFailures,
    max: 1_000,
    reason: "one failure may be chance, and two a pod that restarts",
    help: "Failures in a row (no connection, no TLS, no answer) after which an endpoint is left " +
      "out for --ejection-time; never more than half of an upstream's. 0 leaves none out. Each " +
      "worker judges for itself.",
  },
  ejectionAnswers: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.ejectionAnswers,
    max: 1_000,
    reason: "Envoy's consecutive_gateway_failure; one 503 may be meant as it is",
    help: "Answers 502, 503 or 504 in a row after which an endpoint is left out in the same way. " +
      "0 takes them for answers like any other.",
  },
  ejectionTime: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.ejectionTime,
    min: 1,
    reason: "longer than most containers take to restart",
    help: "How long an endpoint that keeps failing is left out; twice as long each time that it " +
      "fails right after, up to 1m. An answer ends it.",
  },
  holdTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.holdTimeout,
    max: 300_000,
    reason: "who waits holds a connection: for those who scale to zero",
    help: "How long a request waits for a Service without endpoints to get one, as while it is " +
      "scaled up from zero, or for others than those that it cannot connect to; then 503 or 502. Its body is not read meanwhile. A Service that does not " +
      "exist, or that is a name elsewhere, is not waited for. 0 lets nobody wait.",
  },
  holdLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.holdLimit,
    min: 1,
    max: 100_000,
    reason: "some hundred a second for as long as a start takes",
    help: "Requests that wait so in one worker; one more gets 503 at once.",
  },
  http2StreamLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.http2Streams,
    min: 1,
    max: 10_000,
    reason: "nginx's; clients queue what is beyond it",
    help: "Requests under way on one HTTP/2 connection of a client; one more is refused, to be " +
      "sent again.",
  },
  http2StreamWindow: {
    type: "size",
    group: "Limits",
    default: DEFAULT_LIMITS.http2StreamWindow,
    min: 16 * 1024,
    max: 16 * 1024 * 1024,
    reason: "what a slow backend leaves waiting in memory; Envoy's for the edge",
    help:
      "Bytes of a request's body that an HTTP/2 client may send ahead of the backend, and of an " +
      "answer's that a backend may send ahead of the client.",
  },
  http2ConnectionWindow: {
    type: "size",
    group: "Limits",
    default: DEFAULT_LIMITS.http2ConnectionWindow,
    min: 64 * 1024,
    max: 64 * 1024 * 1024,
    reason: "sixteen uploads at full speed; Envoy's for the edge",
    help: "The same of all requests of a connection together.",
  },
  http2ResetLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.http2Resets,
    min: 1,
    max: 1_000_000,
    reason: "who leaves a page cancels dozens of requests, an attacker thousands",
    help: "Requests of one HTTP/2 connection that may end before their answer, by the client's " +
      "will or its mistakes; 33 a second are forgiven. Past it the connection ends " +
      "(ENHANCE_YOUR_CALM).",
  },
  http2ControlLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.http2ControlFrames,
    min: 10,
    max: 1_000_000,
    reason: "a few belong to every request; the rest is noise",
    help: "Frames of one HTTP/2 connection that carry neither a request nor a body nor make room " +
      "for one; 100 a second are forgiven. Past it the connection ends (ENHANCE_YOUR_CALM).",
  },
  http2UpstreamStreams: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.http2UpstreamStreams,
    min: 1,
    max: 10_000,
    reason: "a connection that breaks or stalls takes no more with it",
    help: "Requests on one HTTP/2 connection to an endpoint, if it does not allow fewer; then " +
      "another connection is made.",
  },
  http2PingTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.http2PingTimeout,
    min: 100,
    reason: "gRPC's keepalive timeout",
    help: "An HTTP/2 peer that says nothing for this long while requests are under way is asked " +
      "whether it is there, and given up after as long again.",
  },
  upstreamIdleTimeout: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.upstreamIdleTimeout,
    min: 1,
    reason: "less than the 60 s after which many servers close on their side",
    help: "Closes a pooled connection to an endpoint after this long without a request.",
  },
  upstreamIdleLimit: {
    type: "integer",
    group: "Limits",
    default: DEFAULT_LIMITS.upstreamIdleConnections,
    max: 100_000,
    reason: "ingress-nginx's upstream-keepalive-connections",
    help: "Idle connections kept for one endpoint; 0 keeps none.",
  },
  upstreamConnectionAge: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.upstreamConnectionAge,
    min: 1,
    reason: "long enough to be free, short enough to follow a load balancer behind a DNS name",
    help: "Uses no pooled connection that is older than this.",
  },
});
