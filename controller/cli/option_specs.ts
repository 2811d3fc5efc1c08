/**
 * The controller's flags. In: nothing. Out: what each takes, its default with the reason, and its
 * help. `options.ts` reads them.
 */
import { isIP } from "node:net";
import { LOG_FORMATS, LOG_LEVELS } from "../../shared/log.ts";
import { defineOptions } from "../../shared/options.ts";
import {
  DEFAULT_LISTEN_RANGE,
  formatPortRange,
  isInRange,
  MAX_RANGE_PORTS,
  parsePortRange,
} from "../../shared/net/port_range.ts";
import { PROXY_PORTS } from "../../shared/net/proxy_ports.ts";
import { STREAM_PORT } from "../../shared/stream/protocol.ts";
import { VERSION } from "../../shared/version.ts";
import {
  acceptCheck,
  labelCheck,
  parseAnnotation,
  parseConfigMapName,
  parseDefaultBackend,
  parseLabels,
  parseSecretName,
} from "./option_values.ts";
import { DEFAULT_MAX_RSA_BITS } from "../translate/certificates/certificate_source.ts";
import { HOST_OWNERSHIPS } from "../translate/hosts/host_owner.ts";
import { isDnsName } from "../base/names.ts";

export const BACKENDS = ["HostPort", "LoadBalancer"] as const;
export type Backend = typeof BACKENDS[number];
export const SERVICE_TYPES = ["LoadBalancer", "NodePort", "ClusterIP"] as const;
export const SECRET_MODES = ["named", "tls"] as const;
export const UPDATE_WAYS = ["stream", "files"] as const;

export const CLUSTER_OPTIONS = defineOptions({
  kubeconfig: {
    type: "string",
    value: "FILE",
    help: "Connects to the API server with this kubeconfig. Without the flag: with the service " +
      "account of the pod.",
  },
  context: {
    type: "string",
    value: "NAME",
    help: "Context of the kubeconfig. Without the flag: its current context.",
  },
  namespace: {
    type: "string",
    value: "NAME",
    default: "pingress-system",
    check: labelCheck("the name of a namespace"),
    help: "Namespace of the proxies and of the configuration that is published for them.",
  },
});

export const WATCH_OPTIONS = defineOptions({
  watchNamespace: {
    type: "string",
    value: "NAME",
    repeatable: true,
    check: labelCheck("the name of a namespace"),
    group: "What is served",
    help: "Serves Ingresses of this namespace only, and reads no objects of other namespaces.",
  },
  ingressClass: {
    type: "string",
    value: "NAME",
    repeatable: true,
    default: "pingress",
    check: (value) => isDnsName(value) ? null : "the name of an IngressClass",
    group: "What is served",
    help: "Serves Ingresses of this class, whether or not an IngressClass of that name exists. " +
      "Replaces the default.",
  },
  nginxClass: {
    type: "string",
    value: "NAME",
    repeatable: true,
    check: (value) => isDnsName(value) ? null : "the name of an IngressClass",
    group: "What is served",
    help:
      "Serves Ingresses of this class as well, with the profile nginx, as if its IngressClass had " +
      "the annotation pingress.io/profile: nginx.",
  },
  controllerName: {
    type: "string",
    value: "NAME",
    repeatable: true,
    default: ["pingress.io/ingress-controller", "networking.kinorca.com/pingress-controller"],
    reason: "the second is that of the controller in Rust, since spec.controller is immutable",
    group: "What is served",
    help: "Serves Ingresses of every IngressClass with this spec.controller; those of " +
      "k8s.io/ingress-nginx with the profile nginx.",
  },
  hostOwnership: {
    type: "choice",
    choices: HOST_OWNERSHIPS,
    reason:
      "namespace; shared, as in ingress-nginx, where every --ingress-class is nginx and every " +
      "--controller-name is k8s.io/ingress-nginx",
    group: "What is served",
    help:
      "namespace: a host belongs to one namespace, and rules and TLS entries of others for it " +
      "are rejected. shared: the oldest Ingress of any namespace gets a path.",
  },
  watchIngressWithoutClass: {
    type: "boolean",
    reason: "they may be meant for another controller",
    group: "What is served",
    help: "Serves Ingresses without a class even if none of the served classes is the default " +
      "class.",
  },
  defaultBackend: {
    type: "string",
    value: "NAMESPACE/SERVICE:PORT",
    check: (value) => parseDefaultBackend(value) === null ? "of the form default/web:80" : null,
    group: "What is served",
    help: "Receives requests that match no Ingress. Without the flag, they get 404.",
  },
  defaultSslCertificate: {
    type: "string",
    value: "NAMESPACE/NAME",
    check: (value) => parseSecretName(value) === null ? "of the form default/wildcard-tls" : null,
    group: "What is served",
    help: "Secret of type kubernetes.io/tls with the certificate for clients that send no server " +
      "name, or one without a certificate. Without the flag, they get the TLS alert " +
      "unrecognized_name. Hosts of TLS entries without a usable Secret are redirected to HTTPS if " +
      "this certificate names them. " +
      "With --watch-namespace, the Secret must be in a watched namespace.",
  },
  allowExternalName: {
    type: "boolean",
    reason: "such a Service makes proxies connect to any name that a user writes",
    group: "What is served",
    help: "Allows Services of type ExternalName as backends.",
  },
  maxRsaBits: {
    type: "integer",
    default: DEFAULT_MAX_RSA_BITS,
    min: 2048,
    max: 16_384,
    reason: "a handshake with 8192 bits blocks the event loop of a proxy for 66 ms",
    group: "What is served",
    help:
      "Maximum key size of RSA certificates. Larger ones are rejected; one that was published " +
      "before stays in use, with a warning.",
  },
  gateway: {
    type: "boolean",
    default: true,
    reason: "without the CRDs or the rights, nothing of it is watched or written",
    group: "What is served",
    help:
      "Serves Gateways and HTTPRoutes of Gateway API while its CRDs are installed and the controller " +
      "has the rights of overlays/gateway. --gateway=false turns it off.",
  },
  listenRange: {
    type: "string",
    value: "FIRST-LAST",
    default: formatPortRange(DEFAULT_LISTEN_RANGE),
    check: (value) => {
      const range = parsePortRange(value);
      const ports = Object.values(PROXY_PORTS);
      return range === null || ports.some((port) => isInRange(range, port))
        ? `a range of up to ${MAX_RANGE_PORTS} ports like 10000-10255, without ${
          ports.join(", ")
        }, on which proxies listen`
        : null;
    },
    reason: "256 ports, below those that Linux gives to outgoing connections",
    group: "What is served",
    help:
      "Container ports for listeners of Gateways, one for each port of a Gateway. Proxies are " +
      "started with it; a listener without a port has the condition PortUnavailable.",
  },
  configmap: {
    type: "string",
    value: "NAMESPACE/NAME",
    check: (value) =>
      parseConfigMapName(value) === null
        ? "of the form ingress-nginx/ingress-nginx-controller"
        : null,
    group: "What is served",
    help: "ConfigMap of ingress-nginx, for all Ingresses of the profile nginx. Keys that protect " +
      "and have no effect here close their paths, which return 503, as they do without the " +
      "ConfigMap. The controller needs the right to watch it: overlays/configmap.",
  },
  acceptUnsupported: {
    type: "string",
    value: "NAME,…",
    repeatable: true,
    check: acceptCheck,
    group: "What is served",
    help:
      "Serves Ingresses with these unsupported annotations of ingress-nginx, such as limit-rps, " +
      "and ignores the annotations; those that only require the profile nginx apply without it. " +
      "Without the flag, their paths return 503. Also keys of the ConfigMap of --configmap.",
  },
  allowAcceptUnsupportedAnnotation: {
    type: "boolean",
    reason: "otherwise owners of Ingresses could drop protection that the operator relies on",
    group: "What is served",
    help: "Allows the annotation pingress.io/accept-unsupported, by which an Ingress accepts " +
      "unsupported annotations for itself.",
  },
  secrets: {
    type: "choice",
    choices: SECRET_MODES,
    default: "named",
    reason: "the controller receives no other Secret's data",
    group: "What is served",
    help:
      "named: reads the Secrets that accepted Ingresses reference, of any type. tls: lists all " +
      "Secrets of type kubernetes.io/tls at once, for clusters with thousands of certificates.",
  },
});

export const WORKLOAD_OPTIONS = defineOptions({
  backend: {
    type: "choice",
    choices: BACKENDS,
    required: true,
    group: "The proxies",
    help: "HostPort: a DaemonSet of proxies on ports 80 and 443 of the nodes. LoadBalancer: a " +
      "Deployment of proxies behind a Service.",
  },
  proxyServerImage: {
    type: "string",
    value: "IMAGE",
    default: `ghcr.io/pingress/pingress-proxy-server:${VERSION}`,
    reason: "the proxy of the same version as the controller",
    group: "The proxies",
    help: "Image of the proxies.",
  },
  imagePullSecret: {
    type: "string",
    value: "NAME",
    repeatable: true,
    check: (value) => isDnsName(value) ? null : "the name of a Secret",
    group: "The proxies",
    help: "Image pull Secret of the proxies, in their namespace.",
  },
  nodeSelector: {
    type: "string",
    value: "KEY=VALUE,…",
    repeatable: true,
    check: (value) => parseLabels(value) === null ? "labels like example.com/edge=true" : null,
    group: "The proxies",
    help: "Node selector of the proxies.",
  },
  proxyReplicas: {
    type: "integer",
    default: 2,
    min: 1,
    max: 1000,
    reason: "one can be replaced without failed requests",
    group: "The proxies",
    help: "Number of proxies of --backend LoadBalancer.",
  },
  proxyMaxReplicas: {
    type: "integer",
    min: 1,
    max: 1000,
    group: "The proxies",
    help: "Creates a HorizontalPodAutoscaler with --proxy-replicas as minimum and this as maximum.",
  },
  proxyCpuTarget: {
    type: "integer",
    default: 70,
    min: 1,
    max: 100,
    reason: "the rest carries the load until another proxy is ready",
    group: "The proxies",
    help: "Target CPU utilization of the autoscaler, in percent of the proxies' CPU request.",
  },
  serviceType: {
    type: "choice",
    choices: SERVICE_TYPES,
    default: "LoadBalancer",
    group: "The proxies",
    help: "Type of the Service of --backend LoadBalancer, and of Services of Gateways.",
  },
  serviceAnnotation: {
    type: "string",
    value: "KEY=VALUE",
    repeatable: true,
    check: (value) => parseAnnotation(value) === null ? "an annotation like example.com/a=b" : null,
    group: "The proxies",
    help:
      "Annotation of the Service of --backend LoadBalancer, and of Services of Gateways, for the " +
      "cloud provider.",
  },
  loadBalancerClass: {
    type: "string",
    value: "CLASS",
    group: "The proxies",
    help: "spec.loadBalancerClass of the Service of --backend LoadBalancer, and of Services of " +
      "Gateways.",
  },
  proxyPriorityClass: {
    type: "string",
    value: "NAME",
    check: (value) => isDnsName(value) ? null : "the name of a PriorityClass",
    group: "The proxies",
    help: "PriorityClass of the proxies. Without the flag: the default of the cluster.",
  },
  proxyDrainDelay: {
    type: "duration",
    default: 15_000,
    max: 600_000,
    reason: "the time that load balancers take to notice that a proxy is not ready",
    group: "The proxies",
    help: "--drain-delay of the proxies. Their grace period is set accordingly.",
  },
  proxyDrainTimeout: {
    type: "duration",
    default: 300_000,
    max: 86_400_000,
    reason: "long uploads complete within it",
    group: "The proxies",
    help: "--drain-timeout of the proxies. Their grace period is set accordingly.",
  },
  proxyUpdates: {
    type: "choice",
    choices: UPDATE_WAYS,
    default: "stream",
    reason: "a kubelet takes a minute to update the files of a pod",
    group: "The proxies",
    help: "stream: proxies receive changes at once over the controller's stream, and start from " +
      "files. files: proxies use files only; their pods have no token and do not connect to the " +
      "controller.",
  },
  proxyArg: {
    type: "string",
    value: "FLAG",
    repeatable: true,
    check: (value) => /^--[a-z]/.test(value) ? null : "a flag of the proxy, such as --workers=2",
    group: "The proxies",
    help: "Additional flag of the proxies, for example --proxy-arg=--workers=2.",
  },
  proxyPodTemplate: {
    type: "string",
    value: "FILE",
    group: "The proxies",
    help:
      "YAML file with parts of a pod template that are merged into the proxies' as by kubectl " +
      "patch, and take precedence.",
  },
  cleanupDelay: {
    type: "duration",
    never: true,
    default: 600_000,
    reason: "replacing the last Ingress takes less",
    group: "The proxies",
    help: "Deletes the proxies when there has been no Ingress to serve for this long.",
  },
  cleanupService: {
    type: "boolean",
    reason: "a new Service gets a new address",
    group: "The proxies",
    help: "Also deletes the Service of --backend LoadBalancer then.",
  },
});

export const WRITE_OPTIONS = defineOptions({
  publishAddress: {
    type: "string",
    value: "ADDRESS",
    repeatable: true,
    check: (value) => isIP(value) !== 0 || isDnsName(value) ? null : "an IP address or a host name",
    group: "What is written",
    help:
      "Address in the status of Ingresses. Without the flag: the addresses of the Service or of " +
      "the nodes.",
  },
  gatherTime: {
    type: "duration",
    default: 50,
    max: 10_000,
    reason: "kubectl apply of a folder is one change",
    group: "What is written",
    help:
      "Waits this long after a change for further changes before it publishes. A new HTTPRoute " +
      "that comes after a pause of this length does not wait.",
  },
  gatherLimit: {
    type: "duration",
    default: 500,
    max: 60_000,
    reason: "a change takes effect soon even while others follow",
    group: "What is written",
    help: "Maximum time that a change waits for further changes.",
  },
  endpointInterval: {
    type: "duration",
    default: 10_000,
    max: 600_000,
    reason: "pods come and go often, and each write is stored and sent to every node",
    group: "What is written",
    help: "Minimum interval between writes that change nothing but endpoints.",
  },
});

export const LEADER_OPTIONS = defineOptions({
  leaseDuration: {
    type: "duration",
    default: 15_000,
    min: 1000,
    reason: "as in the controllers of Kubernetes",
    group: "Several replicas",
    help: "Another replica may become leader when the lease has not been renewed for this long.",
  },
  renewDeadline: {
    type: "duration",
    default: 10_000,
    min: 500,
    reason: "as in the controllers of Kubernetes",
    group: "Several replicas",
    help: "The leader stops writing when it has failed to renew the lease for this long.",
  },
  retryPeriod: {
    type: "duration",
    default: 2000,
    min: 100,
    reason: "as in the controllers of Kubernetes",
    group: "Several replicas",
    help: "Interval between attempts to acquire or renew the lease.",
  },
});

export const STREAM_OPTIONS = defineOptions({
  stream: {
    type: "address",
    default: { hostname: "::", port: STREAM_PORT },
    reason:
      "the port that proxies connect to; both IPv6 and IPv4, or IPv4 alone where there is no " +
      "IPv6",
    group: "The stream to proxies",
    help: "Serves configuration to proxies on this address, over TLS, as it changes.",
  },
  streamName: {
    type: "string",
    value: "NAME",
    repeatable: true,
    check: (value) => isIP(value) !== 0 || isDnsName(value) ? null : "an IP address or a host name",
    group: "The stream to proxies",
    help: "Additional name or address in the certificate of the stream, besides the Service " +
      "pingress-controller of the proxies' namespace.",
  },
  allowUnboundTokens: {
    type: "boolean",
    reason: "such a token stays valid until it expires, even if it leaks",
    group: "The stream to proxies",
    help:
      "Accepts proxies with tokens of the account pingress-proxy-server that are not bound to a " +
      "pod, for proxies outside of the cluster.",
  },
});

export const PROCESS_OPTIONS = defineOptions({
  admin: {
    type: "address",
    default: { hostname: "127.0.0.1", port: 9091 },
    reason: "not reachable from other machines, and a proxy on the same machine uses 9090",
    group: "The process",
    help: "Serves /healthz, /readyz and /metrics on this address, and /problems, /proxies and " +
      "/snapshot to clients on this machine only.",
  },
  logLevel: {
    type: "choice",
    choices: LOG_LEVELS,
    default: "info",
    group: "The process",
    help: "Lowest level of log entries that are written.",
  },
  logFormat: {
    type: "choice",
    choices: LOG_FORMATS,
    default: "auto",
    reason: "programs parse the logs of a cluster, people read a terminal",
    group: "The process",
    help:
      "Log format: one JSON object per line, or text for people. auto is text if standard output " +
      "is a terminal, else json.",
  },
});
