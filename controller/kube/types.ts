/**
 * The words of the Kubernetes API. In: nothing. Out: the kinds that the controller reads and writes,
 * what every object carries, and how a call to the API server can end.
 *
 * https://kubernetes.io/docs/reference/using-api/api-concepts/
 */

/** A kind of object, and where the API server has it. */
export interface Resource {
  /** `networking.k8s.io`; "" for the core group. */
  readonly group: string;
  readonly version: string;
  /** `ingresses`. */
  readonly plural: string;
  /** `Ingress`. */
  readonly kind: string;
  readonly namespaced: boolean;
}

const resource = (group: string, version: string, plural: string, kind: string): Resource => ({
  group,
  version,
  plural,
  kind,
  namespaced: !CLUSTER_WIDE.has(plural),
});

const CLUSTER_WIDE = new Set([
  "clusterrolebindings",
  "clusterroles",
  "customresourcedefinitions",
  "gatewayclasses",
  "ingressclasses",
  "namespaces",
  "nodes",
  "selfsubjectaccessreviews",
  "servicecidrs",
  "subjectaccessreviews",
  "tokenreviews",
]);

export const INGRESSES = resource("networking.k8s.io", "v1", "ingresses", "Ingress");
export const INGRESS_CLASSES = resource(
  "networking.k8s.io",
  "v1",
  "ingressclasses",
  "IngressClass",
);
export const SERVICES = resource("", "v1", "services", "Service");
export const ENDPOINT_SLICES = resource(
  "discovery.k8s.io",
  "v1",
  "endpointslices",
  "EndpointSlice",
);
export const SECRETS = resource("", "v1", "secrets", "Secret");
export const CONFIG_MAPS = resource("", "v1", "configmaps", "ConfigMap");
export const NODES = resource("", "v1", "nodes", "Node");
export const SERVICE_CIDRS = resource("networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR");
export const PODS = resource("", "v1", "pods", "Pod");
export const SERVICE_ACCOUNTS = resource("", "v1", "serviceaccounts", "ServiceAccount");
export const NAMESPACES = resource("", "v1", "namespaces", "Namespace");
export const EVENTS = resource("", "v1", "events", "Event");
export const LEASES = resource("coordination.k8s.io", "v1", "leases", "Lease");
export const TOKEN_REVIEWS = resource(
  "authentication.k8s.io",
  "v1",
  "tokenreviews",
  "TokenReview",
);
export const SELF_SUBJECT_ACCESS_REVIEWS = resource(
  "authorization.k8s.io",
  "v1",
  "selfsubjectaccessreviews",
  "SelfSubjectAccessReview",
);
export const SUBJECT_ACCESS_REVIEWS = resource(
  "authorization.k8s.io",
  "v1",
  "subjectaccessreviews",
  "SubjectAccessReview",
);
const RBAC = "rbac.authorization.k8s.io";
export const ROLES = resource(RBAC, "v1", "roles", "Role");
export const ROLE_BINDINGS = resource(RBAC, "v1", "rolebindings", "RoleBinding");
export const CLUSTER_ROLES = resource(RBAC, "v1", "clusterroles", "ClusterRole");
export const CLUSTER_ROLE_BINDINGS = resource(
  RBAC,
  "v1",
  "clusterrolebindings",
  "ClusterRoleBinding",
);
export const NETWORK_POLICIES = resource(
  "networking.k8s.io",
  "v1",
  "networkpolicies",
  "NetworkPolicy",
);
export const DAEMON_SETS = resource("apps", "v1", "daemonsets", "DaemonSet");
export const DEPLOYMENTS = resource("apps", "v1", "deployments", "Deployment");
export const DISRUPTION_BUDGETS = resource(
  "policy",
  "v1",
  "poddisruptionbudgets",
  "PodDisruptionBudget",
);
export const AUTOSCALERS = resource(
  "autoscaling",
  "v2",
  "horizontalpodautoscalers",
  "HorizontalPodAutoscaler",
);

/** https://gateway-api.sigs.k8s.io/reference/spec/ */
export const GATEWAY_API = "gateway.networking.k8s.io";

/** `spec.controllerName` of our GatewayClasses, and `controllerName` of our entries in a status. */
export const GATEWAY_CONTROLLER = "pingress.io/gateway-controller";
export const GATEWAY_CLASSES = resource(GATEWAY_API, "v1", "gatewayclasses", "GatewayClass");
export const GATEWAYS = resource(GATEWAY_API, "v1", "gateways", "Gateway");
export const HTTP_ROUTES = resource(GATEWAY_API, "v1", "httproutes", "HTTPRoute");
export const LISTENER_SETS = resource(GATEWAY_API, "v1", "listenersets", "ListenerSet");
export const REFERENCE_GRANTS = resource(GATEWAY_API, "v1", "referencegrants", "ReferenceGrant");
export const BACKEND_TLS_POLICIES = resource(
  GATEWAY_API,
  "v1",
  "backendtlspolicies",
  "BackendTLSPolicy",
);

export const CRDS = resource(
  "apiextensions.k8s.io",
  "v1",
  "customresourcedefinitions",
  "CustomResourceDefinition",
);

/** An annotation of CRDs: the release of Gateway API that they are of, `v1.6.3`. */
export const BUNDLE_VERSION = `${GATEWAY_API}/bundle-version`;

/** A CRD of Gateway API, as far as it says which release it is of. */
export interface Crd {
  /** `gateways.gateway.networking.k8s.io`. */
  readonly name: string;
  /** Null without the annotation. */
  readonly bundleVersion: string | null;
  /** Its objects are being deleted, and none can be made. */
  readonly isTerminating: boolean;
}

/** The answer of `/version`. */
export interface ServerVersion {
  /** `v1.34.1`, with what a distributor appends: `v1.34.1-eks-a5565ad`. */
  readonly gitVersion?: string;
}

/** The name of a kind's CRD. */
export function crdName({ plural, group }: Resource): string {
  return `${plural}.${group}`;
}

/** `networking.k8s.io/v1`, `v1`. */
export function apiVersionOf({ group, version }: Resource): string {
  return group === "" ? version : `${group}/${version}`;
}

export interface KubeMeta {
  readonly name: string;
  /** Missing for cluster-wide kinds. */
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly unknown[];
}

/** Any object, with what all of them have. The rest is for who knows the kind. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: KubeMeta;
}

/** `namespace/name`; the namespace is "" for cluster-wide kinds. */
export function objectKey({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

/** One page of a list. */
export interface KubeList<T> {
  readonly metadata: {
    readonly resourceVersion: string;
    /** For the next page; missing or "" on the last one. */
    readonly continue?: string;
  };
  readonly items: readonly T[];
  /** Bytes of the answer that it came in. */
  readonly bytes: number;
}

/** The reason of a call that we gave up ourselves: nothing is wrong. */
export const ABORTED = "Aborted";

/** How a call failed. */
export interface ApiError {
  /** HTTP status; 0 where no whole answer came. */
  readonly code: number;
  /**
   * The Status object's, such as `NotFound`, `Conflict`, `Expired` (410), `TooManyRequests`; ours
   * are `Unreachable` (no connection, or it broke), `Deadline` (ours, in time), `Garbled` (no API
   * server speaks so) and `Aborted`.
   */
  readonly reason: string;
  /** One line for people, without secrets. */
  readonly message: string;
  /** Milliseconds that the server asks to wait; null where it does not. */
  readonly retryAfter: number | null;
}

export type ApiResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: ApiError };

export type WatchEventType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";

export interface WatchEvent<T> {
  readonly type: WatchEventType;
  /** For a bookmark: kind and `metadata.resourceVersion` only. */
  readonly object: T;
}
