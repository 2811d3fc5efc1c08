/**
 * The proxy's flags, but for limits. In: nothing. Out: what each takes, its default with the reason,
 * and its help. `options.ts` reads them.
 */
import { LOG_FORMATS, LOG_LEVELS } from "../../shared/log.ts";
import { defineOptions } from "../../shared/options.ts";
import { BALANCES } from "../../shared/snapshot/setting_values.ts";
import { parseControllerUrl } from "../config/stream/controller_address.ts";

/** As a label's value is: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/ */
const ZONE = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

const DNS_NAME = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

export const GENERAL_OPTIONS = defineOptions({
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
  controller: {
    type: "string",
    value: "URL",
    check: (value) =>
      parseControllerUrl(value) === null
        ? "https:// with a host and a port like https://pingress-controller.pingress-system.svc:9443"
        : null,
    help: "Takes changes from the controller's stream too, milliseconds after they are made. The " +
      "configuration file stays the ground: with it, the proxy serves while no controller answers; " +
      "without it, the proxy waits for the stream. The newer one of both is in force. Needs " +
      "--controller-ca and --controller-token.",
  },
  controllerCa: {
    type: "string",
    value: "FILE",
    help: "The authorities, in PEM, of which the controller's certificate must be; read anew for " +
      "each stream.",
  },
  controllerToken: {
    type: "string",
    value: "FILE",
    help: "The service-account token, for the audience pingress-stream, by which the controller " +
      "knows the proxy; read anew for each stream and every ten seconds.",
  },
  zone: {
    type: "string",
    value: "NAME",
    check: (value) => ZONE.test(value) ? null : "a zone's name like eu-central-1a",
    help:
      "The zone that this proxy is in: endpoints that are meant for it are asked. Without it, " +
      "the zone is that of the node, which the controller's stream tells.",
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
    help:
      "Takes HTTP requests on this address. Without it and --listen-https, the proxy listens on " +
      "0.0.0.0:80 and 0.0.0.0:443 as the proxy in Rust does or, where the system or Deno's " +
      "permissions do not allow both, on 0.0.0.0:8080 and 0.0.0.0:8443; a log line says which. A port " +
      "that another program has is an error. With --listen-https alone it is 0.0.0.0:8080.",
  },
  listenHttps: {
    type: "address",
    repeatable: true,
    help: "Takes HTTPS requests on this address, with the certificates of the configuration.",
  },
  http2: {
    type: "boolean",
    default: true,
    reason: "browsers and gRPC clients prefer it, and those that do not are not asked to",
    help: "Offers HTTP/2 beside HTTP/1.1 to clients of --listen-https (ALPN).",
  },
  h2c: {
    type: "boolean",
    default: true,
    reason: "gRPC clients within a network speak it; whoever begins with HTTP/1.1 never meets it",
    help: "Takes HTTP/2 in plain text on --listen-http from clients that begin with it (prior " +
      "knowledge). Upgrade: h2c is never answered.",
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
      "/configuration, /snapshot and /explain?url=….",
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
  balance: {
    type: "choice",
    choices: BALANCES,
    default: "round-robin",
    reason: "replicas are mostly alike, and turns can be foretold",
    help: "How requests are spread over a Service's endpoints, unless its annotation " +
      "pingress.io/balance says it: each in turn, or of two that are chosen at random the one " +
      "that is being asked less. Each worker counts its own.",
  },
  grpcWeb: {
    type: "boolean",
    default: false,
    reason: "who has gRPC backends need not have them called from pages",
    help:
      "Translates gRPC-Web to gRPC for backends of HTTP/2 (appProtocol grpc, h2c and the like, " +
      "and https), unless the annotation pingress.io/grpc-web of their Service says it.",
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
