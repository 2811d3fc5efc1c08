/**
 * The proxy's flags, but for limits. In: nothing. Out: what each takes, its default with the reason,
 * and its help. `options.ts` reads them.
 */
import { LOG_FORMATS, LOG_LEVELS } from "../../shared/log.ts";
import { MAX_RANGE_PORTS, parsePortRange } from "../../shared/net/port_range.ts";
import { defineOptions } from "../../shared/options.ts";
import { BALANCES } from "../../shared/snapshot/setting_values.ts";
import { DEFAULT_SERIES, MAX_SERIES_LIMIT, SERIES_BY } from "../telemetry/series_options.ts";
import { ACCESS_LOG_FORMATS, parseFields } from "../telemetry/access_log/options.ts";
import { parseOtlpEndpoint } from "../telemetry/traces/options.ts";
import { parseControllerUrl } from "../config/stream/controller_address.ts";

/** As a label's value is: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/ */
export const ZONE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

const DNS_NAME = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

export const GENERAL_OPTIONS = defineOptions({
  config: {
    type: "string",
    value: "FILE",
    required: true,
    help: "Configuration file: a snapshot written by the controller, or a proxy.json of the " +
      "Pingress Controller in Rust. Files that it references are part of it: it is applied once " +
      "all of them exist.",
  },
  watch: {
    type: "string",
    value: "DIR",
    repeatable: true,
    help:
      "Reloads the configuration when something in this folder changes. If it cannot be read, " +
      "the last valid configuration stays active. Certificate files must be in one of these " +
      "folders, or in that of --config. With this flag, the proxy waits for a configuration " +
      "that does not exist at startup and is not ready until then; without it, the proxy exits " +
      "with code 1.",
  },
  controller: {
    type: "string",
    value: "URL",
    check: (value) =>
      parseControllerUrl(value) === null
        ? "https:// with a host and a port like https://pingress-controller.pingress-system.svc:9443"
        : null,
    help:
      "Also receives configuration over the controller's stream, milliseconds after a change. " +
      "The proxy starts from the configuration file if there is one, so it serves while no " +
      "controller is available; otherwise it waits for the stream. The newer of the two is " +
      "active. Requires --controller-ca and --controller-token.",
  },
  controllerCa: {
    type: "string",
    value: "FILE",
    help: "CA certificates (PEM) that verify the controller's certificate. The file is read for " +
      "each stream.",
  },
  controllerToken: {
    type: "string",
    value: "FILE",
    help:
      "Service account token with the audience pingress-stream, which authenticates the proxy " +
      "to the controller. The file is read for each stream and every ten seconds.",
  },
  zone: {
    type: "string",
    value: "NAME",
    check: (value) => ZONE.test(value) ? null : "a zone's name like eu-central-1a",
    help:
      "Topology zone of this proxy. If endpoints have zone hints, the proxy sends requests to " +
      "those for its zone. Without the flag, the controller's stream provides the zone of the " +
      "node.",
  },
  maxRouteLoss: {
    type: "integer",
    default: 0,
    max: 100,
    reason: "0 is no limit: the file is trusted",
    help:
      "Rejects a new configuration that removes more than this percentage of the active routes. " +
      "The metrics count it as rejected.",
  },
  listenHttp: {
    type: "address",
    repeatable: true,
    help: "Listens for HTTP on this address. Without this flag and --listen-https, the proxy " +
      "listens on 0.0.0.0:80 and 0.0.0.0:443, as the proxy in Rust does; if the system or " +
      "Deno's permissions do not allow both, it listens on 0.0.0.0:8080 and 0.0.0.0:8443, and " +
      "logs it. A port that another program uses is an error. With --listen-https alone, the " +
      "default is 0.0.0.0:8080.",
  },
  listenHttps: {
    type: "address",
    repeatable: true,
    help: "Listens for HTTPS on this address, with the certificates of the configuration.",
  },
  listenRange: {
    type: "string",
    value: "FIRST-LAST",
    check: (value) =>
      parsePortRange(value) === null
        ? `a range of up to ${MAX_RANGE_PORTS} ports like 10000-10255`
        : null,
    help:
      "Ports for listeners of Gateways. The configuration says which of them are open; they open " +
      "and close while the proxy runs, on the address of the first --listen-http. A port that no " +
      "listener uses any more closes after --drain-delay. Without the flag, the proxy serves no " +
      "listeners of Gateways.",
  },
  http2: {
    type: "boolean",
    default: true,
    reason: "browsers and gRPC clients prefer it, and other clients do not negotiate it",
    help: "Offers HTTP/2 besides HTTP/1.1 on --listen-https (ALPN).",
  },
  h2c: {
    type: "boolean",
    default: true,
    reason: "gRPC clients within a network use it, and HTTP/1.1 clients are not affected",
    help: "Accepts HTTP/2 without TLS on --listen-http from clients that start with it (prior " +
      "knowledge). Upgrade: h2c is not supported.",
  },
  sslRedirect: {
    type: "boolean",
    default: true,
    reason: "a host with a certificate is meant for HTTPS; ingress-nginx does the same",
    help:
      "Redirects plain HTTP with 308 to HTTPS for hosts that have a certificate, if the proxy " +
      "listens for HTTPS and no route says otherwise. /.well-known/acme-challenge/ is exempt.",
  },
  sslRedirectPort: {
    type: "integer",
    min: 0,
    max: 65535,
    default: 0,
    reason: "0 is the port of the first --listen-https",
    help: "HTTPS port in redirects, if a Service or host port maps another port to the proxy.",
  },
  admin: {
    type: "address",
    default: { hostname: "127.0.0.1", port: 9090 },
    reason: "it is not meant for the network; probes of a pod need 0.0.0.0:9090",
    help:
      "Serves /healthz, /readyz and /metrics on this address, and /configuration, /snapshot and " +
      "/explain?url=… to clients on this machine only.",
  },
  workers: {
    type: "integer",
    default: 0,
    max: 256,
    reason: "0 is one per CPU",
    help: "Number of worker threads. With one, it shares a thread with everything else.",
  },
  trustedProxies: {
    type: "cidr",
    help:
      "Trusts X-Forwarded-*, X-Real-IP and X-Request-Id of requests from these addresses, and, but " +
      "for X-Real-IP, from trustedProxies of the configuration. The proxy replaces them in all " +
      "other requests.",
  },
  upstreamNetworks: {
    type: "cidr",
    help:
      "Connects to endpoints in these networks only, such as the cluster's pod network; Deno's " +
      "permissions enforce it as well. The proxy never connects to metadata, link-local and " +
      "multicast addresses, and not to its own listeners.",
  },
  allowLoopbackUpstreams: {
    type: "boolean",
    default: false,
    reason:
      "in a cluster there are no pods on loopback addresses, but there may be services of the " +
      "node",
    help: "Also allows endpoints on 127.0.0.0/8 and ::1, for tests on one machine.",
  },
  balance: {
    type: "choice",
    choices: BALANCES,
    default: "round-robin",
    reason: "replicas are mostly alike, and round robin is predictable",
    help: "Load balancing policy of Services without the annotation pingress.io/balance: " +
      "round-robin, or least-requests, which picks two endpoints at random and of these the one " +
      "with fewer active requests. Each worker balances on its own.",
  },
  grpcWeb: {
    type: "boolean",
    default: false,
    reason: "gRPC backends are not meant to be called from web pages unless somebody says so",
    help:
      "Translates gRPC-Web to gRPC for HTTP/2 backends (appProtocol grpc, h2c and the like, and " +
      "https) of Services without the annotation pingress.io/grpc-web.",
  },
  clusterDomain: {
    type: "string",
    value: "DOMAIN",
    default: "cluster.local",
    reason: "the default of Kubernetes",
    check: (value) => DNS_NAME.test(value) ? null : "a DNS name like cluster.local",
    help: "DNS domain of the cluster. Backends of a proxy.json are resolved as " +
      "NAME.NAMESPACE.svc.DOMAIN.",
  },
  logLevel: {
    type: "choice",
    choices: LOG_LEVELS,
    default: "info",
    reason: "changes of state and what needs attention, nothing per request",
    help: "Lowest level of log entries that are written.",
  },
  logFormat: {
    type: "choice",
    choices: LOG_FORMATS,
    default: "auto",
    reason: "programs parse the logs of a cluster, people read a terminal",
    help:
      "Log format: one JSON object per line, or text for people. auto is text if standard output " +
      "is a terminal, else json.",
  },
  accessLog: {
    type: "boolean",
    default: true,
    reason: "it is the first thing to look at in an incident",
    help: "Writes a line for each request to standard output. docs/access-log.md lists the " +
      "fields.",
  },
  accessLogFormat: {
    type: "choice",
    choices: ACCESS_LOG_FORMATS,
    default: "json",
    reason: "it has all fields, and programs read it without a pattern",
    help:
      "Format of the access log: one JSON object per line, or nginx for the format combined of " +
      "nginx, with its escapes.",
  },
  accessLogFields: {
    type: "string",
    value: "FIELD,…",
    check: (value) => {
      const wrong = parseFields(value);
      return typeof wrong === "string" ? `a list like time,method,path,status: ${wrong}` : null;
    },
    help: "Fields of the access log in JSON, in this order. Without the flag, a line has all of " +
      "them.",
  },
  accessLogRatio: {
    type: "ratio",
    default: 1,
    reason: "a request that a user asks about is in it",
    help:
      "Share of requests that have a line in the access log. Requests that failed (5xx responses, " +
      "and those with an error code) have one always. The request id decides, so that proxies " +
      "which pass it on choose the same requests.",
  },
  accessLogQuery: {
    type: "boolean",
    default: false,
    reason: "queries contain tokens and names, and logs are kept for long",
    help: "Includes the query of the URL in the access log, and in spans.",
  },
  otlpEndpoint: {
    type: "string",
    value: "URL",
    check: (value) =>
      parseOtlpEndpoint(value) === null
        ? "http:// or https:// with a host like http://otel-collector.observability.svc:4318"
        : null,
    help: "Sends spans of requests to this OpenTelemetry collector, by OTLP over HTTP in JSON. " +
      "/v1/traces is appended to the URL. Without the flag, no spans are made, and trace headers " +
      "pass unchanged. docs/traces.md lists the attributes.",
  },
  traceRatio: {
    type: "ratio",
    default: 0.01,
    reason: "a proxy serves thousands of requests per second, and those that failed are kept",
    help:
      "Share of requests without a parent span that are sampled. Requests with a traceparent of a " +
      "trusted proxy are sampled as it says. Requests with a 5xx response that are not sampled have " +
      "spans too, up to 50 spans per second and worker.",
  },
  traceServiceName: {
    type: "string",
    value: "NAME",
    default: "pingress",
    reason: "the name of the product",
    check: (value) => /^[\x21-\x7e]{1,255}$/.test(value) ? null : "a name without blanks",
    help: "The attribute service.name of spans.",
  },
  metricsBy: {
    type: "choice",
    choices: SERIES_BY,
    default: DEFAULT_SERIES.by,
    reason: "the number of series does not grow with the number of paths",
    help: "Counts requests by host, or by route too: the metrics of requests then also have the " +
      "label route, and there is pingress_route_info to join them with.",
  },
  metricsLimit: {
    type: "integer",
    default: DEFAULT_SERIES.limit,
    min: 1,
    max: MAX_SERIES_LIMIT,
    reason: "each has some 20 series: what a Prometheus of usual size takes of one target",
    help:
      "Maximum number of hosts (or routes) and of Services with metrics of their own. What is " +
      "beyond counts as other; pingress_metrics_entries says how many there are.",
  },
  drainDelay: {
    type: "duration",
    default: 15_000,
    reason: "the time that load balancers take to notice that a proxy is not ready",
    help: "After SIGTERM, the time for which the proxy still accepts connections while /readyz " +
      "already fails. Also the time for which a port of --listen-range that no listener uses any " +
      "more still accepts connections.",
  },
  drainTimeout: {
    type: "duration",
    default: 300_000,
    reason:
      "enough for a slow upload; terminationGracePeriodSeconds of the pod must exceed the delay " +
      "and this together",
    help:
      "After the drain delay, the time for active requests to complete. Then their connections " +
      "are closed.",
  },
});
