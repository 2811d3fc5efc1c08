/**
 * The Kubernetes objects that `translate` reads, and no more of each than it reads.
 *
 * In: JSON from the API server or from a folder of manifests. Out: types for it. They say what the
 * API promises; a folder promises nothing, so `translate` checks every field before it uses it, and
 * a reader may cast any parsed document of the right kind to these types.
 */

/** Everything that one translation sees. The order within each list means nothing. */
export interface Resources {
  readonly ingresses: readonly Ingress[];
  readonly ingressClasses: readonly IngressClass[];
  readonly services: readonly Service[];
  readonly endpointSlices: readonly EndpointSlice[];
  readonly secrets: readonly KubeSecret[];
  /** Those that options name, or more; missing or null where they cannot be read. */
  readonly configMaps?: readonly KubeConfigMap[] | null;
  /** Their metadata; missing or null where they cannot be read. */
  readonly namespaces?: readonly Namespace[] | null;
  /** Missing or null where they cannot be read. */
  readonly nodes?: readonly unknown[] | null;
  /** The same. */
  readonly serviceCidrs?: readonly unknown[] | null;
  /** Of Gateway API; missing or null where its kinds are not served, or not listed yet. */
  readonly gatewayClasses?: readonly GatewayObject[] | null;
  readonly gateways?: readonly GatewayObject[] | null;
  readonly httpRoutes?: readonly GatewayObject[] | null;
  readonly referenceGrants?: readonly GatewayObject[] | null;
  readonly backendTlsPolicies?: readonly GatewayObject[] | null;
  readonly listenerSets?: readonly GatewayObject[] | null;
  /** Those that GatewayClasses and Gateways name as their parameters, or more. */
  readonly gatewayConfigMaps?: readonly KubeConfigMap[];
  /** Those of them that cannot be read, as `namespace/name`. */
  readonly unreadConfigMaps?: readonly string[];
  /** Which objects of Gateway API there are is not known yet. */
  readonly gatewayIsPending?: boolean;
}

export interface ObjectMeta {
  readonly name?: string;
  /** Missing means `default`, as for `kubectl apply`; never set for an IngressClass. */
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>> | null;
  readonly annotations?: Readonly<Record<string, string>> | null;
  /** RFC 3339, as the API server sets it; an object without one counts as the newest. */
  readonly creationTimestamp?: string | null;
  /** Set once the object is being deleted. */
  readonly deletionTimestamp?: string | null;
}

interface KubeObject {
  /** Missing in the items of a list. */
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
}

/** https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/namespace-v1/ */
export type Namespace = KubeObject;

/** https://kubernetes.io/docs/reference/kubernetes-api/service-resources/ingress-v1/ */
export interface Ingress extends KubeObject {
  readonly spec?: IngressSpec;
}

export interface IngressSpec {
  readonly ingressClassName?: string | null;
  readonly defaultBackend?: IngressBackend | null;
  readonly rules?: readonly IngressRule[] | null;
  readonly tls?: readonly IngressTls[] | null;
}

export interface IngressRule {
  readonly host?: string | null;
  readonly http?: { readonly paths?: readonly HttpIngressPath[] | null } | null;
}

export interface HttpIngressPath {
  readonly path?: string | null;
  /** `Exact`, `Prefix` or `ImplementationSpecific`. */
  readonly pathType?: string;
  readonly backend?: IngressBackend;
}

export interface IngressBackend {
  readonly service?: {
    readonly name?: string;
    readonly port?: { readonly number?: number | null; readonly name?: string | null } | null;
  } | null;
  readonly resource?: unknown;
}

export interface IngressTls {
  readonly hosts?: readonly string[] | null;
  readonly secretName?: string | null;
}

/** https://kubernetes.io/docs/reference/kubernetes-api/service-resources/ingress-class-v1/ */
export interface IngressClass extends KubeObject {
  readonly spec?: { readonly controller?: string };
}

/** https://kubernetes.io/docs/reference/kubernetes-api/service-resources/service-v1/ */
export interface Service extends KubeObject {
  readonly spec?: {
    readonly type?: string;
    readonly externalName?: string;
    readonly ports?: readonly ServicePort[] | null;
  };
}

export interface ServicePort {
  readonly name?: string | null;
  readonly port?: number;
  readonly protocol?: string;
  readonly appProtocol?: string | null;
  readonly targetPort?: number | string | null;
}

/** https://kubernetes.io/docs/reference/kubernetes-api/service-resources/endpoint-slice-v1/ */
export interface EndpointSlice extends KubeObject {
  readonly addressType?: string;
  readonly endpoints?: readonly SliceEndpoint[] | null;
  readonly ports?: readonly SlicePort[] | null;
}

export interface SliceEndpoint {
  readonly addresses?: readonly string[];
  readonly conditions?: {
    readonly ready?: boolean | null;
    readonly serving?: boolean | null;
    readonly terminating?: boolean | null;
  } | null;
  readonly zone?: string | null;
  readonly targetRef?: { readonly kind?: string } | null;
}

export interface SlicePort {
  readonly name?: string | null;
  readonly port?: number | null;
  readonly protocol?: string | null;
}

/** https://gateway-api.sigs.k8s.io/reference/spec/ */
export interface GatewayObject extends KubeObject {
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/config-map-v1/ */
export interface KubeConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>> | null;
}

/**
 * A Secret of the API; not to be mixed up with `Secret` in `shared/snapshot/types.ts`.
 * https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/secret-v1/
 */
export interface KubeSecret extends KubeObject {
  readonly type?: string;
  /** Values in base64. */
  readonly data?: Readonly<Record<string, string>> | null;
  /** Values as they are; wins over `data`. Only manifests have it, the API server folds it in. */
  readonly stringData?: Readonly<Record<string, string>> | null;
}
