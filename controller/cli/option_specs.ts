/**
 * The controller's flags. In: nothing. Out: what each takes, its default with the reason, and its
 * help. `options.ts` reads them.
 */
import { isIP } from "node:net";
import { LOG_FORMATS, LOG_LEVELS } from "../../shared/log.ts";
import { defineOptions } from "../../shared/options.ts";
import { STREAM_PORT } from "../../shared/stream/protocol.ts";
import { VERSION } from "../../shared/version.ts";
import {
  acceptCheck,
  labelCheck,
  parseAnnotation,
  parseDefaultBackend,
  parseLabels,
  parseSecretName,
} from "./option_values.ts";
import { DEFAULT_MAX_RSA_BITS } from "../translate/certificates/certificate_source.ts";
import { HOST_OWNERSHIPS } from "../translate/hosts/host_owner.ts";
import { isDnsName } from "../base/names.ts";

export const BACKENDS = ["HostPort", "LoadBalancer"] as const;
export const SERVICE_TYPES = ["LoadBalancer", "NodePort", "ClusterIP"] as const;
export const SECRET_MODES = ["named", "tls"] as const;
export const UPDATE_WAYS = ["stream", "files"] as const;

export const CLUSTER_OPTIONS = defineOptions({
  kubeconfig: {
    type: "string",
    value: "FILE",
    help:
      "Reaches the API server as this kubeconfig says. Without it, as the pod's service account.",
  },
  context: {
    type: "string",
    value: "NAME",
    help: "The kubeconfig's context to use, in place of its current one.",
  },
  namespace: {
    type: "string",
    value: "NAME",
    default: "pingress-system",
    check: labelCheck("the name of a namespace"),
    help: "Where the proxies run, and what they need is written.",
  },
});

export const WATCH_OPTIONS = defineOptions({
  watchNamespace: {
    type: "string",
    value: "NAME",
    repeatable: true,
    check: labelCheck("the name of a namespace"),
    group: "What is served",
    help: "Serves the Ingresses of this namespace alone, and reads nothing of others.",
  },
  ingressClass: {
    type: "string",
    value: "NAME",
    repeatable: true,
    default: "pingress",
    check: (value) => isDnsName(value) ? null : "the name of an IngressClass",
    group: "What is served",
    help: "Serves Ingresses of this class, whether or not there is an IngressClass of that name. " +
      "Given once or more, it replaces the default.",
  },
  controllerName: {
    type: "string",
    value: "NAME",
    repeatable: true,
    default: ["pingress.io/ingress-controller", "networking.kinorca.com/pingress-controller"],
    reason: "the second is that of the controller in Rust, and an IngressClass cannot change it",
    group: "What is served",
    help: "Serves Ingresses of each IngressClass whose spec.controller is this.",
  },
  hostOwnership: {
    type: "choice",
    choices: HOST_OWNERSHIPS,
    reason:
      "namespace; shared, as in ingress-nginx, where every --ingress-class is nginx and every " +
      "--controller-name is k8s.io/ingress-nginx",
    group: "What is served",
    help: "namespace lets a host belong to one namespace, and refuses rules and TLS entries of " +
      "others; shared gives each path to the oldest Ingress of any namespace.",
  },
  watchIngressWithoutClass: {
    type: "boolean",
    reason: "they may be meant for another controller",
    group: "What is served",
    help: "Serves Ingresses that name no class, although no class of ours is the default one.",
  },
  defaultBackend: {
    type: "string",
    value: "NAMESPACE/SERVICE:PORT",
    check: (value) => parseDefaultBackend(value) === null ? "of the form default/web:80" : null,
    group: "What is served",
    help: "Gets the requests that no Ingress takes, in place of a 404.",
  },
  defaultSslCertificate: {
    type: "string",
    value: "NAMESPACE/NAME",
    check: (value) => parseSecretName(value) === null ? "of the form default/wildcard-tls" : null,
    group: "What is served",
    help:
      "The Secret of type kubernetes.io/tls whose certificate clients get that ask for no name, " +
      "or for one that no certificate is for. Without it, they get the TLS alert unrecognized_name. " +
      "It redirects nobody to HTTPS. With --watch-namespace, its namespace must be one of those.",
  },
  allowExternalName: {
    type: "boolean",
    reason: "such a Service makes proxies dial any name that a user writes",
    group: "What is served",
    help: "Lets a Service of type ExternalName be a backend.",
  },
  maxRsaBits: {
    type: "integer",
    default: DEFAULT_MAX_RSA_BITS,
    min: 2048,
    max: 16_384,
    reason: "a handshake with 8192 bits takes 66 ms of a proxy's event loop, for everybody",
    group: "What is served",
    help: "Uses no certificate whose RSA key has more bits; one that was published before such a " +
      "limit is used on, with a warning.",
  },
  acceptUnsupported: {
    type: "string",
    value: "NAME,…",
    repeatable: true,
    check: acceptCheck,
    group: "What is served",
    help: "Serves Ingresses with these annotations of ingress-nginx, such as limit-rps, without " +
      "what they ask for. Without it their paths answer 503.",
  },
  allowAcceptUnsupportedAnnotation: {
    type: "boolean",
    reason: "owners of Ingresses may otherwise drop protection that the operator relies on",
    group: "What is served",
    help: "Lets an Ingress name such annotations itself, by pingress.io/accept-unsupported.",
  },
  secrets: {
    type: "choice",
    choices: SECRET_MODES,
    default: "named",
    reason: "no other Secret's data ever reaches the controller",
    group: "What is served",
    help:
      "named reads the Secrets that accepted Ingresses name, of any type; tls lists all of type " +
      "kubernetes.io/tls at once, for clusters with thousands of certificates.",
  },
});

export const WORKLOAD_OPTIONS = defineOptions({
  backend: {
    type: "choice",
    choices: BACKENDS,
    required: true,
    group: "The proxies",
    help: "HostPort runs a proxy on each node, on its ports 80 and 443; LoadBalancer runs some, " +
      "behind a Service.",
  },
  proxyServerImage: {
    type: "string",
    value: "IMAGE",
    default: `ghcr.io/pingress/pingress-proxy-server:${VERSION}`,
    reason: "the proxy of the controller's own version",
    group: "The proxies",
    help: "The proxies' image.",
  },
  imagePullSecret: {
    type: "string",
    value: "NAME",
    repeatable: true,
    check: (value) => isDnsName(value) ? null : "the name of a Secret",
    group: "The proxies",
    help: "A Secret to pull the image with, in the proxies' namespace.",
  },
  nodeSelector: {
    type: "string",
    value: "KEY=VALUE,…",
    repeatable: true,
    check: (value) => parseLabels(value) === null ? "labels like example.com/edge=true" : null,
    group: "The proxies",
    help: "Runs proxies on nodes with these labels only.",
  },
  proxyReplicas: {
    type: "integer",
    default: 2,
    min: 1,
    max: 1000,
    reason: "one may go without a request noticing",
    group: "The proxies",
    help: "Proxies behind a LoadBalancer.",
  },
  proxyMaxReplicas: {
    type: "integer",
    min: 1,
    max: 1000,
    group: "The proxies",
    help: "Lets a HorizontalPodAutoscaler choose between --proxy-replicas and this number.",
  },
  proxyCpuTarget: {
    type: "integer",
    default: 70,
    min: 1,
    max: 100,
    reason: "what is left carries the load until another proxy is ready",
    group: "The proxies",
    help: "CPU, in percent of what proxies request, that the autoscaler aims at.",
  },
  serviceType: {
    type: "choice",
    choices: SERVICE_TYPES,
    default: "LoadBalancer",
    group: "The proxies",
    help: "Type of the Service before the proxies of --backend LoadBalancer.",
  },
  serviceAnnotation: {
    type: "string",
    value: "KEY=VALUE",
    repeatable: true,
    check: (value) => parseAnnotation(value) === null ? "an annotation like example.com/a=b" : null,
    group: "The proxies",
    help: "Stands on that Service, for the cloud that makes its load balancer.",
  },
  loadBalancerClass: {
    type: "string",
    value: "CLASS",
    group: "The proxies",
    help: "spec.loadBalancerClass of that Service.",
  },
  proxyPriorityClass: {
    type: "string",
    value: "NAME",
    check: (value) => isDnsName(value) ? null : "the name of a PriorityClass",
    group: "The proxies",
    help: "The proxies' PriorityClass. Without it they have the cluster's default priority.",
  },
  proxyDrainDelay: {
    type: "duration",
    default: 15_000,
    max: 600_000,
    reason: "load balancers take some seconds to see that a proxy is not ready any more",
    group: "The proxies",
    help: "What proxies get as --drain-delay; their time to end follows it.",
  },
  proxyDrainTimeout: {
    type: "duration",
    default: 300_000,
    max: 86_400_000,
    reason: "a long upload is over by then",
    group: "The proxies",
    help: "What proxies get as --drain-timeout; their time to end follows it.",
  },
  proxyUpdates: {
    type: "choice",
    choices: UPDATE_WAYS,
    default: "stream",
    reason: "a kubelet takes a minute to bring changed files to its pods",
    group: "The proxies",
    help: "stream tells proxies of changes as they happen, and files stay what they start from; " +
      "with files alone their pods get no token, and do not know the controller.",
  },
  proxyArg: {
    type: "string",
    value: "FLAG",
    repeatable: true,
    check: (value) => /^--[a-z]/.test(value) ? null : "a flag of the proxy, such as --workers=2",
    group: "The proxies",
    help: "A further flag for proxies: --proxy-arg=--workers=2.",
  },
  proxyPodTemplate: {
    type: "string",
    value: "FILE",
    group: "The proxies",
    help: "YAML with parts of a pod template, merged into that of the proxies as kubectl patch " +
      "does; what stands there wins.",
  },
  cleanupDelay: {
    type: "duration",
    never: true,
    default: 600_000,
    reason: "who replaces the last Ingress takes less",
    group: "The proxies",
    help: "Takes proxies away when there has been no Ingress to serve for this long.",
  },
  cleanupService: {
    type: "boolean",
    reason: "a new Service gets a new address",
    group: "The proxies",
    help: "Takes the Service of --backend LoadBalancer away with them.",
  },
});

export const WRITE_OPTIONS = defineOptions({
  publishAddress: {
    type: "string",
    value: "ADDRESS",
    repeatable: true,
    check: (value) => isIP(value) !== 0 || isDnsName(value) ? null : "an IP address or a host name",
    group: "What is written",
    help: "Stands in the status of Ingresses in place of what the Service or the nodes say.",
  },
  gatherTime: {
    type: "duration",
    default: 50,
    max: 10_000,
    reason: "kubectl apply of a folder is one change",
    group: "What is written",
    help: "Waits for this long after a change for more of them.",
  },
  gatherLimit: {
    type: "duration",
    default: 500,
    max: 60_000,
    reason: "a change that is waited for comes soon although others go on",
    group: "What is written",
    help: "Waits for this long at most.",
  },
  endpointInterval: {
    type: "duration",
    default: 10_000,
    max: 600_000,
    reason: "pods come and go often, and each write is stored and sent to every node",
    group: "What is written",
    help: "Writes changes of nothing but endpoints this far apart.",
  },
});

export const LEADER_OPTIONS = defineOptions({
  leaseDuration: {
    type: "duration",
    default: 15_000,
    min: 1000,
    reason: "as Kubernetes' own controllers",
    group: "Several replicas",
    help: "After this long without a renewal another replica may lead.",
  },
  renewDeadline: {
    type: "duration",
    default: 10_000,
    min: 500,
    reason: "as Kubernetes' own controllers",
    group: "Several replicas",
    help: "A leader that could not renew its lease for this long writes no more.",
  },
  retryPeriod: {
    type: "duration",
    default: 2000,
    min: 100,
    reason: "as Kubernetes' own controllers",
    group: "Several replicas",
    help: "Time from one attempt to get or renew the lease to the next.",
  },
});

export const STREAM_OPTIONS = defineOptions({
  stream: {
    type: "address",
    default: { hostname: "::", port: STREAM_PORT },
    reason: "the port that proxies are told; IPv4 too, and alone where there is no IPv6",
    group: "The stream to proxies",
    help: "Serves proxies their configuration here, over TLS, as it changes.",
  },
  streamName: {
    type: "string",
    value: "NAME",
    repeatable: true,
    check: (value) => isIP(value) !== 0 || isDnsName(value) ? null : "an IP address or a host name",
    group: "The stream to proxies",
    help: "A further name or address for its certificate, which is for the Service " +
      "pingress-controller of the proxies' namespace.",
  },
  allowUnboundTokens: {
    type: "boolean",
    reason: "such a token is good until its time is over, whatever becomes of the pod",
    group: "The stream to proxies",
    help: "Lets in proxies whose token of the account pingress-proxy-server is bound to no pod: " +
      "proxies that run outside of the cluster.",
  },
});

export const PROCESS_OPTIONS = defineOptions({
  admin: {
    type: "address",
    default: { hostname: "127.0.0.1", port: 9091 },
    reason: "only this machine can reach it, and a proxy beside it has 9090",
    group: "The process",
    help:
      "Serves /healthz, /readyz, /metrics and, for this machine alone, /problems, /proxies and " +
      "/snapshot.",
  },
  logLevel: {
    type: "choice",
    choices: LOG_LEVELS,
    default: "info",
    group: "The process",
    help: "Writes events of this level and above.",
  },
  logFormat: {
    type: "choice",
    choices: LOG_FORMATS,
    default: "json",
    reason: "logs of a cluster are read by programs first",
    group: "The process",
    help: "The form of events on standard output.",
  },
});
