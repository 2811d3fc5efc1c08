/**
 * The proxy's command line. In: arguments. Out: typed options with the limits among them, a help
 * text, or what is wrong. Every flag of the proxy stands here; defaults of limits stand in
 * `limits.ts`.
 */
import { type Address } from "../shared/address.ts";
import { type CidrList } from "../shared/cidr.ts";
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from "../shared/log.ts";
import { defineOptions, parseOptions, type Program } from "../shared/options.ts";
import { DEFAULT_LIMITS, type Limits } from "./limits.ts";

export const PROXY_PROGRAM: Program = {
  name: "deno task proxy",
  summary: "The Pingress reverse proxy: serves the routes of one configuration file.",
};

const DNS_NAME = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const GENERAL_OPTIONS = defineOptions({
  config: {
    type: "string",
    value: "FILE",
    required: true,
    help: "The configuration: a snapshot as the controller writes it, or a proxy.json of the " +
      "Pingress Controller in Rust. Files that it names beside itself belong to it: it counts " +
      "once all of them are there.",
  },
  watch: {
    type: "string",
    value: "DIR",
    repeatable: true,
    help: "Reads the configuration anew when something in this folder changes. What cannot be " +
      "read then leaves the last good configuration in force. Files of certificates must be in " +
      "one of these folders, or in that of --config. With it, a configuration that does not " +
      "exist at the start is waited for: the proxy runs and is not ready. Without it, the proxy " +
      "ends with 1.",
  },
  maxRouteLoss: {
    type: "integer",
    default: 0,
    max: 100,
    reason: "0 is no limit: a file is taken at its word",
    help:
      "Refuses a new configuration in which more of the routes in force than this are gone, in " +
      "percent; it counts as refused in the metrics.",
  },
  listenHttp: {
    type: "address",
    repeatable: true,
    default: { hostname: "0.0.0.0", port: 8080 },
    reason: "a port from 1024 on needs no privilege, and a Service or host port maps 80 to it",
    help: "Takes HTTP requests on this address. Given once or more, it replaces the default.",
  },
  listenHttps: {
    type: "address",
    repeatable: true,
    help: "Takes HTTPS requests on this address, with the certificates of the configuration.",
  },
  sslRedirect: {
    type: "boolean",
    default: true,
    reason: "who has a certificate means HTTPS; ingress-nginx does the same",
    help: "Answers plain HTTP to hosts that have a certificate with 308 to HTTPS, where " +
      "--listen-https is given. /.well-known/acme-challenge/ is exempt.",
  },
  sslRedirectPort: {
    type: "integer",
    min: 0,
    max: 65535,
    default: 0,
    reason: "0 is the port of the first --listen-https",
    help: "The port that clients know for HTTPS, where a Service or host port maps another one.",
  },
  admin: {
    type: "address",
    default: { hostname: "127.0.0.1", port: 9090 },
    reason: "what it shows is not for the network; probes of a pod need 0.0.0.0:9090",
    help: "Serves /healthz, /readyz and /metrics on this address, and to this machine alone " +
      "/snapshot and /explain?url=….",
  },
  workers: {
    type: "integer",
    default: 0,
    max: 256,
    reason: "0 is one for each CPU",
    help: "Event loops that share the ports. One alone runs where the configuration is read.",
  },
  trustedProxies: {
    type: "cidr",
    help: "Believes X-Forwarded-*, X-Real-IP and X-Request-Id from these addresses; from all " +
      "others they are replaced. Without it nobody is believed.",
  },
  upstreamNetworks: {
    type: "cidr",
    help: "Dials endpoints in these networks only, such as the cluster's pods; Deno holds the " +
      "proxy to them too. Metadata, link-local and multicast addresses and the proxy's own " +
      "listeners are never dialled.",
  },
  allowLoopbackUpstreams: {
    type: "boolean",
    default: false,
    reason: "in a cluster no pod is there, but the node's own services may be",
    help: "Dials endpoints on 127.0.0.0/8 and ::1 too, for trying out on one machine.",
  },
  clusterDomain: {
    type: "string",
    value: "DOMAIN",
    default: "cluster.local",
    reason: "what nearly every cluster is set up with",
    check: (value) => DNS_NAME.test(value) ? null : "a DNS name like cluster.local",
    help: "The cluster's DNS domain: a backend of a proxy.json is looked up as " +
      "NAME.NAMESPACE.svc.DOMAIN.",
  },
  logLevel: {
    type: "choice",
    choices: LOG_LEVELS,
    default: "info",
    reason: "changes of state and what needs a hand, nothing per request",
    help: "Writes events of this level and above.",
  },
  logFormat: {
    type: "choice",
    choices: LOG_FORMATS,
    default: "json",
    reason: "log collectors read it without a pattern",
    help: "One JSON object a line, or text for people.",
  },
  accessLog: {
    type: "boolean",
    default: true,
    reason: "who asked what, and what became of it, is the first thing anyone looks for at night",
    help: "Writes a line of JSON for each request to standard output; docs/access-log.md says " +
      "what it holds.",
  },
  accessLogQuery: {
    type: "boolean",
    default: false,
    reason: "queries carry tokens and names, which a log keeps for long",
    help: "Writes queries to the access log too.",
  },
  drainDelay: {
    type: "duration",
    default: 15_000,
    reason: "load balancers take that long to notice a failing readiness",
    help: "After SIGTERM, keeps accepting for this long while /readyz already fails.",
  },
  drainTimeout: {
    type: "duration",
    default: 300_000,
    reason: "what a slow upload may need; the pod's terminationGracePeriodSeconds must exceed both",
    help: "After the delay, gives running exchanges this long to finish; then they are cut.",
  },
});

/** A flag for each of `Limits`. */
const LIMIT_OPTIONS = defineOptions({
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
    help: "Body of a request; past it 413. 0 is no limit.",
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
  memoryLimit: {
    type: "size",
    group: "Limits",
    default: DEFAULT_LIMITS.memoryBytes,
    reason: "0 is no limit; in a container, give the container's",
    help: "Memory that the process may use. From 92 % of it connections end after their answer " +
      "and idle ones are closed, from 95 % new requests get 503, and of new TLS connections " +
      "only a few at a time are let in to get theirs: the others are closed at once.",
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
    help: "Endpoints tried for one request, the first included.",
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
  ejectionTime: {
    type: "duration",
    group: "Limits",
    default: DEFAULT_LIMITS.ejectionTime,
    min: 1,
    reason: "longer than most containers take to restart",
    help: "How long an endpoint that keeps failing is left out; twice as long each time that it " +
      "fails right after, up to 1m. An answer ends it.",
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

/** In the order of help and documentation. */
export const PROXY_OPTIONS = defineOptions({ ...GENERAL_OPTIONS, ...LIMIT_OPTIONS });

export interface ProxyOptions {
  /** The configuration file. */
  readonly config: string;
  /** Folders whose changes lead to another read. */
  readonly watch: readonly string[];
  /** In percent of the routes in force; 0 is no limit. */
  readonly maxRouteLoss: number;
  readonly listenHttp: readonly Address[];
  readonly listenHttps: readonly Address[];
  readonly sslRedirect: boolean;
  /** 0 is the port of the first HTTPS listener. */
  readonly sslRedirectPort: number;
  readonly admin: Address;
  /** 0 is one for each CPU. */
  readonly workers: number;
  readonly trustedProxies: CidrList;
  /** Empty for no bound. */
  readonly upstreamNetworks: CidrList;
  readonly allowLoopbackUpstreams: boolean;
  readonly clusterDomain: string;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly accessLog: boolean;
  readonly accessLogQuery: boolean;
  /** In ms. */
  readonly drainDelay: number;
  /** In ms, after the delay. */
  readonly drainTimeout: number;
  readonly limits: Limits;
}

export type ParsedProxyOptions =
  | { readonly kind: "ok"; readonly options: ProxyOptions }
  | { readonly kind: "help" | "error"; readonly text: string };

/** Never throws for what a user wrote. */
export function parseProxyOptions(args: readonly string[]): ParsedProxyOptions {
  const parsed = parseOptions(PROXY_PROGRAM, PROXY_OPTIONS, args);
  if (parsed.kind !== "ok") return parsed;
  const given = parsed.options;
  return {
    kind: "ok",
    options: {
      config: given.config,
      watch: given.watch,
      maxRouteLoss: given.maxRouteLoss,
      listenHttp: given.listenHttp,
      listenHttps: given.listenHttps,
      sslRedirect: given.sslRedirect,
      sslRedirectPort: given.sslRedirectPort,
      admin: given.admin,
      workers: given.workers,
      trustedProxies: given.trustedProxies,
      upstreamNetworks: given.upstreamNetworks,
      allowLoopbackUpstreams: given.allowLoopbackUpstreams,
      clusterDomain: given.clusterDomain,
      logLevel: given.logLevel,
      logFormat: given.logFormat,
      accessLog: given.accessLog,
      accessLogQuery: given.accessLogQuery,
      drainDelay: given.drainDelay,
      drainTimeout: given.drainTimeout,
      limits: {
        requestHeadBytes: given.requestHeadLimit,
        requestFields: given.requestFieldLimit,
        requestHeadTimeout: given.requestHeadTimeout,
        bodyBytes: given.bodyLimit,
        bodyTimeout: given.bodyTimeout,
        bodyRate: given.bodyRate,
        clientIdleTimeout: given.clientIdleTimeout,
        requestsPerConnection: given.connectionRequestLimit,
        writeTimeout: given.writeTimeout,
        writeRate: given.writeRate,
        connections: given.connectionLimit,
        connectionsPerAddress: given.connectionsPerAddress,
        memoryBytes: given.memoryLimit,
        connectTimeout: given.connectTimeout,
        responseHeadTimeout: given.responseHeadTimeout,
        responseBodyTimeout: given.responseBodyTimeout,
        handshakeTimeout: given.handshakeTimeout,
        handshakes: given.handshakeLimit,
        tunnelIdleTimeout: given.tunnelIdleTimeout,
        responseHeadBytes: given.responseHeadLimit,
        responseFields: given.responseFieldLimit,
        tries: given.tries,
        retryBudget: given.retryBudget,
        ejectionFailures: given.ejectionFailures,
        ejectionTime: given.ejectionTime,
        upstreamIdleTimeout: given.upstreamIdleTimeout,
        upstreamIdleConnections: given.upstreamIdleLimit,
        upstreamConnectionAge: given.upstreamConnectionAge,
      },
    },
  };
}
