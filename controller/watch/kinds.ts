/**
 * The kinds that the controller watches: one row each. In: nothing. Out: where objects of a kind are
 * watched, which fields are kept, which rights that takes, and what the objects feed.
 *
 * `watches.ts` makes an informer of each row. Everything else that is said by kind comes from these
 * rows too: what readiness waits for, versions, Events, metrics, and the rights (`process/rights.ts`,
 * whose test compares them with `manifests/`).
 */
import { GATEWAY_NAME_LABEL } from "../outputs/addresses/names.ts";
import { CLAIMS_LABELS } from "../outputs/publish/host_claims.ts";
import { PUBLISHED_LABEL, PUBLISHED_LABELS } from "../outputs/publish/repair.ts";
import { MANAGED_BY_LABEL, OWNER_LABELS, PROXY_SELECTOR } from "../outputs/workload/names.ts";
import { WORKLOAD_RESOURCES } from "../outputs/workload/kinds.ts";
import type { WorkloadKind } from "../outputs/workload/options.ts";
import type { BoundedKind } from "../kube/object_bounds.ts";
import {
  keepContent,
  keepWhole,
  type Reduce,
  reduceEndpointSlice,
  reduceGatewayObject,
  reduceIngress,
  reduceIngressClass,
  reduceNamespace,
  reduceNode,
  reducePod,
  reduceService,
  reduceServiceCidr,
} from "../kube/reduce.ts";
import type {
  EndpointSlice,
  GatewayObject,
  Ingress,
  IngressClass,
  KubeConfigMap,
  KubeSecret,
  Namespace,
  Service,
} from "../kube/resources.ts";
import type { ConfigMapName } from "../translate/model/global_settings.ts";
import {
  BACKEND_TLS_POLICIES,
  CONFIG_MAPS,
  ENDPOINT_SLICES,
  GATEWAY_CLASSES,
  GATEWAYS,
  HTTP_ROUTES,
  INGRESS_CLASSES,
  INGRESSES,
  type KubeObject,
  LISTENER_SETS,
  NAMESPACES,
  NODES,
  PODS,
  REFERENCE_GRANTS,
  type Resource,
  SECRETS,
  SERVICE_CIDRS,
  SERVICES,
} from "../kube/types.ts";

/**
 * `served`: in the namespaces that are served, all or those of --watch-namespace. `system`: in the
 * controller's own namespace alone. `cluster`: the kind has no namespaces. `configmap`: the one object
 * of --configmap.
 */
export type Scope = "served" | "system" | "cluster" | "configmap";

/**
 * `translation`: the configuration is made of them. `published`: they hold what was published.
 * `workload`: the proxies, and what goes with them. `addresses`: addresses in the status of
 * Ingresses. `zones`: zones of proxies. `events`: users see Events about them. `gateways`: addresses of
 * Gateways.
 */
export type Feed =
  | "translation"
  | "published"
  | "workload"
  | "addresses"
  | "zones"
  | "events"
  | "gateways";

/**
 * When the first translation may begin without a list of the kind. `listed`: never; `forbidden`: where
 * the API server refuses it (403); `failed`: after any failure, such as 404 where the API server does
 * not have the kind; `always`: at once.
 */
export type Patience = "listed" | "forbidden" | "failed" | "always";

/** What an installation asks for. */
export interface Needs {
  /** Whether all namespaces are served: one that is limited to some reads nothing of the cluster. */
  readonly allNamespaces: boolean;
  /** Whether the status of Ingresses has addresses of nodes. */
  readonly nodeAddresses: boolean;
  /** The ConfigMap of ingress-nginx; null for none. */
  readonly configMap: ConfigMapName | null;
  /** Whether objects of Gateway API are read. */
  readonly gateway: boolean;
}

/** Rights that a kind takes, as RBAC counts them. */
export interface ReadKind {
  readonly resource: Resource;
  readonly scope: Scope;
  readonly verbs: readonly ("get" | "list" | "watch")[];
  readonly feeds: readonly Feed[];
  isWatched(needs: Needs): boolean;
}

export interface Kind<T extends KubeObject> extends ReadKind {
  readonly awaited: Patience;
  /** Makes what is kept of an object: fields that nobody reads are no change; see `reduce.ts`. */
  reduce(object: T): T;
  readonly labelSelector?: string;
  /** Only `metadata` crosses the wire. */
  readonly metadataOnly?: boolean;
  /** Set where tenants write them, so that memory is bounded by namespace; see `object_bounds.ts`. */
  readonly bounded?: BoundedKind;
  /** Whether the version of a snapshot has a resourceVersion of the kind; see `reconcile/version.ts`. */
  readonly isVersioned?: boolean;
  /** Whether older API servers lack the kind, which then is nothing to warn of. */
  readonly isOptional?: boolean;
  /**
   * Versions of an API that comes and goes with its CRDs, the best first. Such a kind is watched while the
   * API server serves one of them (`gateway_discovery.ts`).
   */
  readonly versions?: readonly string[];
  /** A kind of such an API without whose objects there are none of this one: it is watched from then on. */
  readonly watchedWith?: "gateways";
  /** Whether what is translated stands in the status: elsewhere a status alone is no change. */
  readonly isStatusTranslated?: boolean;
  /**
   * Whether an object that comes alone is translated at once, and not gathered with what follows: its requests
   * have had 404 until then. Changes and deletions are gathered, as they mostly come with other objects.
   */
  readonly isUrgentWhenNew?: boolean;
}

/** What an informer needs, whatever it is used for. */
const FOLLOW = ["list", "watch"] as const;

const always = () => true;
const inWholeCluster = ({ allNamespaces }: Needs) => allNamespaces;

/** A reducer that is written for objects of type `T`, as that. */
const keeping = <T extends KubeObject>(reduce: Reduce): (object: T) => T => reduce;

type Watched<T> = T & KubeObject;

/** Labels of what the controller has made. */
const OWNED = `${MANAGED_BY_LABEL}=${OWNER_LABELS[MANAGED_BY_LABEL]}`;
export const PUBLISHED_SELECTOR = `${PUBLISHED_LABEL}=${PUBLISHED_LABELS[PUBLISHED_LABEL]}`;
/** One watch for what is published and for the claims: a failure is logged once. */
const OWN_CONFIG_MAPS = `${PUBLISHED_LABEL} in (${
  [PUBLISHED_LABELS, CLAIMS_LABELS].map((labels) => labels[PUBLISHED_LABEL]).join(",")
})`;
/** Services and EndpointSlices that we have made for Gateways. */
const OF_GATEWAYS = `${OWNED},${GATEWAY_NAME_LABEL}`;
const PROXY_PODS = Object.entries(PROXY_SELECTOR).map((pair) => pair.join("=")).join(",");

/** An object of the proxies' workload. */
function workload<const F extends readonly Feed[]>(kind: WorkloadKind, feeds: F) {
  const resource = WORKLOAD_RESOURCES[kind];
  return {
    resource,
    scope: "system",
    verbs: FOLLOW,
    feeds,
    awaited: "listed",
    isWatched: always,
    labelSelector: OWNED,
    reduce: keeping<KubeObject>(keepWhole(resource)),
  } as const;
}

/** Objects of ours for Gateways, whole: what others have changed in them is put back. */
function gatewayOutput(resource: Resource, bounded: BoundedKind) {
  return {
    resource,
    scope: "served",
    verbs: FOLLOW,
    feeds: ["gateways"],
    awaited: "always",
    isWatched: ({ gateway }: Needs) => gateway,
    watchedWith: "gateways",
    labelSelector: OF_GATEWAYS,
    // Tenants may write our labels on theirs.
    bounded,
    reduce: keeping<KubeObject>(keepWhole(resource)),
  } as const;
}

/**
 * A kind of Gateway API. Nothing waits for it: without Gateways, Ingresses are served as ever. It counts for
 * versions all the same; `reconcile/version.ts` says how, where it comes and goes.
 */
function gatewayKind<const S extends Scope>(
  resource: Resource,
  scope: S,
  versions: readonly string[],
) {
  return {
    resource,
    scope,
    verbs: FOLLOW,
    feeds: ["translation", "events"],
    awaited: "always",
    isWatched: ({ gateway }: Needs) => gateway,
    reduce: keeping<Watched<GatewayObject>>(reduceGatewayObject),
    isVersioned: true,
    versions,
  } as const;
}

const TABLE = {
  // Their status is written against the version that was looked at.
  ingresses: {
    resource: INGRESSES,
    scope: "served",
    verbs: FOLLOW,
    feeds: ["translation", "events"],
    awaited: "listed",
    isWatched: always,
    reduce: keeping<Watched<Ingress>>(reduceIngress),
    bounded: "Ingress",
    isVersioned: true,
  },
  ingressClasses: {
    resource: INGRESS_CLASSES,
    scope: "cluster",
    verbs: FOLLOW,
    feeds: ["translation", "events"],
    awaited: "listed",
    isWatched: always,
    reduce: keeping<Watched<IngressClass>>(reduceIngressClass),
    isVersioned: true,
  },
  services: {
    resource: SERVICES,
    scope: "served",
    verbs: FOLLOW,
    feeds: ["translation", "events"],
    awaited: "listed",
    isWatched: always,
    reduce: keeping<Watched<Service>>(reduceService),
    bounded: "Service",
    isVersioned: true,
  },
  endpointSlices: {
    resource: ENDPOINT_SLICES,
    scope: "served",
    verbs: FOLLOW,
    feeds: ["translation", "events"],
    awaited: "listed",
    isWatched: always,
    reduce: keeping<Watched<EndpointSlice>>(reduceEndpointSlice),
    bounded: "EndpointSlice",
    isVersioned: true,
  },
  // What is published, and the recorded claims to hosts.
  configMaps: {
    resource: CONFIG_MAPS,
    scope: "system",
    verbs: FOLLOW,
    feeds: ["published", "events"],
    awaited: "listed",
    isWatched: always,
    labelSelector: OWN_CONFIG_MAPS,
    reduce: keeping<KubeObject>(keepContent(CONFIG_MAPS)),
  },
  // It may protect, so only a refusal lets the first translation begin without: then paths are closed.
  nginxConfigMap: {
    resource: CONFIG_MAPS,
    scope: "configmap",
    verbs: FOLLOW,
    feeds: ["translation", "events"],
    awaited: "forbidden",
    isWatched: ({ configMap }) => configMap !== null,
    reduce: keeping<Watched<KubeConfigMap>>(keepContent(CONFIG_MAPS)),
  },
  keySecrets: {
    resource: SECRETS,
    scope: "system",
    verbs: FOLLOW,
    feeds: ["published"],
    awaited: "listed",
    isWatched: always,
    labelSelector: PUBLISHED_SELECTOR,
    reduce: keeping<Watched<KubeSecret>>(keepContent(SECRETS)),
  },
  // Who owns a host depends on them, and by labels which routes attach to a Gateway: so only a refusal lets
  // the first translation begin without.
  namespaces: {
    resource: NAMESPACES,
    scope: "cluster",
    verbs: FOLLOW,
    feeds: ["translation", "events"],
    awaited: "forbidden",
    isWatched: inWholeCluster,
    metadataOnly: true,
    reduce: keeping<Watched<Namespace>>(reduceNamespace),
    isVersioned: true,
  },
  // On which nodes proxies run, and why one does not.
  pods: {
    resource: PODS,
    scope: "system",
    verbs: FOLLOW,
    feeds: ["workload"],
    awaited: "always",
    isWatched: always,
    labelSelector: PROXY_PODS,
    reduce: keeping<KubeObject>(reducePod),
  },
  // Translated, since no endpoint may have an address of a node.
  nodes: {
    resource: NODES,
    scope: "cluster",
    verbs: FOLLOW,
    feeds: ["translation", "addresses", "zones"],
    awaited: "failed",
    isWatched: ({ allNamespaces, nodeAddresses }) => allNamespaces || nodeAddresses,
    reduce: keeping<KubeObject>(reduceNode),
    // A cloud's controller writes addresses some time after the node has come.
    isStatusTranslated: true,
  },
  // Of Kubernetes 1.33 and newer. No endpoint may be in a network of Services.
  serviceCidrs: {
    resource: SERVICE_CIDRS,
    scope: "cluster",
    verbs: FOLLOW,
    feeds: ["translation"],
    awaited: "failed",
    isWatched: inWholeCluster,
    reduce: keeping<KubeObject>(reduceServiceCidr),
    isOptional: true,
  },
  gatewayClasses: gatewayKind(GATEWAY_CLASSES, "cluster", ["v1"]),
  gateways: { ...gatewayKind(GATEWAYS, "served", ["v1"]), bounded: "Gateway" },
  httpRoutes: {
    ...gatewayKind(HTTP_ROUTES, "served", ["v1"]),
    bounded: "HTTPRoute",
    isUrgentWhenNew: true,
  },
  referenceGrants: {
    ...gatewayKind(REFERENCE_GRANTS, "served", ["v1", "v1beta1"]),
    bounded: "ReferenceGrant",
  },
  backendTlsPolicies: {
    ...gatewayKind(BACKEND_TLS_POLICIES, "served", ["v1", "v1alpha3", "v1alpha2"]),
    bounded: "BackendTLSPolicy",
  },
  // Refused, and that is said in their status.
  listenerSets: { ...gatewayKind(LISTENER_SETS, "served", ["v1"]), bounded: "ListenerSet" },
  gatewayServices: gatewayOutput(SERVICES, "Service"),
  gatewaySlices: gatewayOutput(ENDPOINT_SLICES, "EndpointSlice"),
  proxyDaemonSet: workload("DaemonSet", ["workload", "events"]),
  proxyDeployment: workload("Deployment", ["workload", "events"]),
  proxyHorizontalPodAutoscaler: workload("HorizontalPodAutoscaler", ["workload", "events"]),
  proxyPodDisruptionBudget: workload("PodDisruptionBudget", ["workload", "events"]),
  // Events about a Service are found among those of users.
  proxyService: workload("Service", ["workload"]),
} as const satisfies Readonly<Record<string, Kind<KubeObject>>>;

type Table = typeof TABLE;

export type KindName = keyof Table;

/** What an informer of each row stores. */
export type WatchedObjects = {
  readonly [K in KindName]: ReturnType<Table[K]["reduce"]>;
};

export const KINDS: { readonly [K in KindName]: Kind<WatchedObjects[K]> } = TABLE;

/** The rows that feed `F`. */
export type KindsFeeding<F extends Feed> = {
  readonly [K in KindName]: F extends Table[K]["feeds"][number] ? K : never;
}[KindName];

/**
 * Secrets that Ingresses name, each read by name when a watch says that it has changed: their
 * informer, which has no row above, is that of `secrets.ts`.
 */
export const NAMED_SECRETS: ReadKind = {
  resource: SECRETS,
  scope: "served",
  verbs: ["get", ...FOLLOW],
  feeds: ["translation", "events"],
  isWatched: always,
};

/** ConfigMaps that GatewayClasses and Gateways name, read like these; see `parameter_config_maps.ts`. */
export const NAMED_CONFIG_MAPS: ReadKind = {
  resource: CONFIG_MAPS,
  scope: "served",
  verbs: ["get", ...FOLLOW],
  feeds: ["translation"],
  isWatched: ({ gateway }) => gateway,
};

/** Those of classes. */
export const CLASS_CONFIG_MAPS: ReadKind = { ...NAMED_CONFIG_MAPS, scope: "system" };

export const KIND_NAMES: readonly KindName[] = Object.keys(KINDS).filter(isKindName);

/** Kinds that are watched while the API server serves them. */
export const DISCOVERED_KINDS: readonly KindName[] = KIND_NAMES.filter((name) =>
  KINDS[name].versions !== undefined
);

function isKindName(name: string): name is KindName {
  return Object.hasOwn(KINDS, name);
}
