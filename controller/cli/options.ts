/**
 * The controller's command line. In: arguments. Out: typed options, a help text, or what is wrong.
 * The flags stand in `option_specs.ts`.
 *
 * Those of the Pingress Controller in Rust are all taken: --backend, --proxy-server-image,
 * --image-pull-secret, --namespace and --node-selector.
 */
import type { Address } from "../../shared/net/address.ts";
import { DEFAULT_LISTEN_RANGE, parsePortRange } from "../../shared/net/port_range.ts";
import type { LogFormat, LogLevel } from "../../shared/log.ts";
import { BOUND_OPTIONS } from "./bound_specs.ts";
import type { ObjectBounds } from "../kube/object_bounds.ts";
import type { NamespaceBounds } from "../translate/bounds/namespace_bounds.ts";
import { defineOptions, parseOptions, type Program } from "../../shared/options.ts";
import type { DefaultCertificate } from "../translate/certificates/default_certificate.ts";
import type { ConfigMapName } from "../translate/model/global_settings.ts";
import type { DefaultBackend, GatewayOptions, HostOwnershipMode } from "../translate/translator.ts";
import {
  type Backend,
  CLUSTER_OPTIONS,
  LEADER_OPTIONS,
  PROCESS_OPTIONS,
  type SECRET_MODES,
  type SERVICE_TYPES,
  STREAM_OPTIONS,
  type UPDATE_WAYS,
  WATCH_OPTIONS,
  WORKLOAD_OPTIONS,
  WRITE_OPTIONS,
} from "./option_specs.ts";
import {
  namesOf,
  parseAnnotation,
  parseConfigMapName,
  parseDefaultBackend,
  parseLabels,
  parseSecretName,
} from "./option_values.ts";

export const CONTROLLER_PROGRAM: Program = {
  name: "deno task controller",
  summary: "The Pingress controller: configures reverse proxies from the Ingresses of a cluster.",
};

/** In the order of help and documentation. */
export const CONTROLLER_OPTIONS = defineOptions({
  ...WORKLOAD_OPTIONS,
  ...WATCH_OPTIONS,
  ...BOUND_OPTIONS,
  ...WRITE_OPTIONS,
  ...CLUSTER_OPTIONS,
  ...LEADER_OPTIONS,
  ...STREAM_OPTIONS,
  ...PROCESS_OPTIONS,
});

export interface ControllerOptions {
  readonly kubeconfig: string | null;
  readonly context: string | null;
  readonly namespace: string;
  /** Null for all namespaces. */
  readonly watchNamespaces: readonly string[] | null;
  readonly ingressClasses: readonly string[];
  /** Those of them that have the profile nginx. */
  readonly nginxClasses: readonly string[];
  readonly controllerNames: readonly string[];
  readonly watchIngressWithoutClass: boolean;
  readonly defaultBackend: DefaultBackend | null;
  readonly defaultCertificate: DefaultCertificate | null;
  readonly allowExternalName: boolean;
  readonly maxRsaBits: number;
  /** What one namespace may have served. */
  readonly namespaceBounds: NamespaceBounds;
  /** Of all upstreams of one namespace. */
  readonly namespaceEndpoints: number;
  /** What is kept of the objects of one. */
  readonly objectBounds: ObjectBounds;
  /** Of ingress-nginx; null for none. */
  readonly configMap: ConfigMapName | null;
  /** Null where objects of Gateway API are not read. */
  readonly gateway: GatewayOptions | null;
  readonly acceptUnsupported: readonly string[];
  readonly allowAcceptUnsupportedAnnotation: boolean;
  readonly hostOwnership: HostOwnershipMode;
  readonly secrets: typeof SECRET_MODES[number];
  readonly backend: Backend;
  readonly proxyServerImage: string;
  readonly imagePullSecrets: readonly string[];
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly proxyReplicas: number;
  /** Null without an autoscaler. */
  readonly proxyMaxReplicas: number | null;
  /** In percent. */
  readonly proxyCpuTarget: number;
  readonly serviceType: typeof SERVICE_TYPES[number];
  readonly serviceAnnotations: Readonly<Record<string, string>>;
  readonly loadBalancerClass: string | null;
  readonly proxyPriorityClass: string | null;
  /** In ms. */
  readonly proxyDrainDelay: number;
  /** In ms. */
  readonly proxyDrainTimeout: number;
  readonly proxyUpdates: typeof UPDATE_WAYS[number];
  readonly proxyArgs: readonly string[];
  readonly proxyPodTemplate: string | null;
  /** In ms; Infinity for never. */
  readonly cleanupDelay: number;
  readonly cleanupService: boolean;
  readonly publishAddresses: readonly string[];
  /** In ms, as the following ones. */
  readonly gatherTime: number;
  readonly gatherLimit: number;
  readonly endpointInterval: number;
  readonly leaseDuration: number;
  readonly renewDeadline: number;
  readonly retryPeriod: number;
  readonly stream: Address;
  readonly streamNames: readonly string[];
  readonly allowUnboundTokens: boolean;
  readonly admin: Address;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
}

export type ParsedControllerOptions =
  | { readonly kind: "ok"; readonly options: ControllerOptions }
  | { readonly kind: "help" | "error"; readonly text: string };

/** Never throws for what a user wrote. */
export function parseControllerOptions(args: readonly string[]): ParsedControllerOptions {
  const parsed = parseOptions(CONTROLLER_PROGRAM, CONTROLLER_OPTIONS, args);
  if (parsed.kind !== "ok") return parsed;
  const given = parsed.options;
  const complaint = timingComplaint(given) ?? replicaComplaint(given) ??
    certificateComplaint(given);
  if (complaint !== null) return { kind: "error", text: complaint };
  const ingressClasses = [...new Set([...given.ingressClass, ...given.nginxClass])];
  const service = {
    type: given.serviceType,
    annotations: Object.fromEntries(
      given.serviceAnnotation.map(parseAnnotation).filter((pair) => pair !== null),
    ),
    loadBalancerClass: given.loadBalancerClass ?? null,
  };
  return {
    kind: "ok",
    options: {
      kubeconfig: given.kubeconfig ?? null,
      context: given.context ?? null,
      namespace: given.namespace,
      watchNamespaces: given.watchNamespace.length === 0
        ? null
        : [...new Set(given.watchNamespace)],
      ingressClasses,
      nginxClasses: given.nginxClass,
      controllerNames: given.controllerName,
      watchIngressWithoutClass: given.watchIngressWithoutClass,
      defaultBackend: given.defaultBackend === undefined
        ? null
        : parseDefaultBackend(given.defaultBackend),
      defaultCertificate: given.defaultSslCertificate === undefined
        ? null
        : parseSecretName(given.defaultSslCertificate),
      allowExternalName: given.allowExternalName,
      maxRsaBits: given.maxRsaBits,
      namespaceBounds: {
        routes: given.maxNamespaceRoutes,
        hostBytes: given.maxNamespaceHostBytes,
        certificates: given.maxNamespaceCertificates,
      },
      namespaceEndpoints: given.maxNamespaceEndpoints,
      objectBounds: {
        ingressPaths: given.maxIngressPaths,
        objectBytes: given.maxObjectBytes,
        namespaceBytes: given.maxNamespaceBytes,
      },
      gateway: given.gateway
        ? {
          listenRange: parsePortRange(given.listenRange) ?? DEFAULT_LISTEN_RANGE,
          namespace: given.namespace,
          service,
          address: defaultAddress(given.backend, service),
        }
        : null,
      configMap: given.configmap === undefined ? null : parseConfigMapName(given.configmap),
      acceptUnsupported: given.acceptUnsupported.flatMap(namesOf),
      allowAcceptUnsupportedAnnotation: given.allowAcceptUnsupportedAnnotation,
      hostOwnership: given.hostOwnership ??
        defaultOwnership(ingressClasses, given.controllerName),
      secrets: given.secrets,
      backend: given.backend,
      proxyServerImage: given.proxyServerImage,
      imagePullSecrets: given.imagePullSecret,
      nodeSelector: Object.assign({}, ...given.nodeSelector.map(parseLabels)),
      proxyReplicas: given.proxyReplicas,
      proxyMaxReplicas: given.proxyMaxReplicas ?? null,
      proxyCpuTarget: given.proxyCpuTarget,
      serviceType: service.type,
      serviceAnnotations: service.annotations,
      loadBalancerClass: service.loadBalancerClass,
      proxyPriorityClass: given.proxyPriorityClass ?? null,
      proxyDrainDelay: given.proxyDrainDelay,
      proxyDrainTimeout: given.proxyDrainTimeout,
      proxyUpdates: given.proxyUpdates,
      proxyArgs: given.proxyArg,
      proxyPodTemplate: given.proxyPodTemplate ?? null,
      cleanupDelay: given.cleanupDelay,
      cleanupService: given.cleanupService,
      publishAddresses: given.publishAddress,
      gatherTime: given.gatherTime,
      gatherLimit: given.gatherLimit,
      endpointInterval: given.endpointInterval,
      leaseDuration: given.leaseDuration,
      renewDeadline: given.renewDeadline,
      retryPeriod: given.retryPeriod,
      stream: given.stream,
      streamNames: given.streamName,
      allowUnboundTokens: given.allowUnboundTokens,
      admin: given.admin,
      logLevel: given.logLevel,
      logFormat: given.logFormat,
    },
  };
}

/**
 * Nodes have addresses, and mostly no load balancer. With HostPort nothing but a Gateway has a Service of what
 * these flags say, so that whoever sets one wants Services.
 */
export function defaultAddress(
  backend: Backend,
  { type, annotations, loadBalancerClass }: GatewayOptions["service"],
): GatewayOptions["address"] {
  const isDescribed = type !== CONTROLLER_OPTIONS.serviceType.default ||
    loadBalancerClass !== null || Object.keys(annotations).length > 0;
  return backend === "HostPort" && !isDescribed ? "shared" : "own";
}

/** One switch for all that is served: who claims a host cannot choose it by a class. */
function defaultOwnership(
  classes: readonly string[],
  controllers: readonly string[],
): HostOwnershipMode {
  const isNginx = classes.every((name) => name === "nginx") &&
    controllers.every((name) => name === "k8s.io/ingress-nginx");
  return isNginx ? "shared" : "namespace";
}

/** What the environment says; every pod has the first two. */
export interface ControllerEnvironment {
  /** KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. */
  readonly apiServer: { readonly host: string; readonly port: string } | null;
  /** POD_NAME, by which a leader is known to people. */
  readonly podName: string | null;
}

export function readEnvironment(env: { get(name: string): string | undefined }) {
  const host = env.get("KUBERNETES_SERVICE_HOST");
  const port = env.get("KUBERNETES_SERVICE_PORT");
  return {
    apiServer: host && port ? { host, port } : null,
    podName: env.get("POD_NAME") || null,
  } satisfies ControllerEnvironment;
}

/** As client-go asks: a leader must have given up before another may begin. */
function timingComplaint(given: {
  readonly leaseDuration: number;
  readonly renewDeadline: number;
  readonly retryPeriod: number;
}): string | null {
  if (given.leaseDuration <= given.renewDeadline) {
    return "--lease-duration must be longer than --renew-deadline";
  }
  return given.renewDeadline <= given.retryPeriod * 1.2
    ? "--renew-deadline must be longer than 1.2 times --retry-period"
    : null;
}

/** The controller may read Secrets of the namespaces that it watches only. */
function certificateComplaint(given: {
  readonly defaultSslCertificate: string | undefined;
  readonly watchNamespace: readonly string[];
}): string | null {
  const { defaultSslCertificate: secret, watchNamespace } = given;
  const namespace = secret?.split("/")[0];
  return namespace === undefined || watchNamespace.length === 0 ||
      watchNamespace.includes(namespace)
    ? null
    : `--default-ssl-certificate must be in a namespace that is watched: ` +
      `add --watch-namespace ${namespace}`;
}

function replicaComplaint(given: {
  readonly proxyReplicas: number;
  readonly proxyMaxReplicas: number | undefined;
}): string | null {
  return given.proxyMaxReplicas !== undefined && given.proxyMaxReplicas < given.proxyReplicas
    ? "--proxy-max-replicas must be no smaller than --proxy-replicas"
    : null;
}
