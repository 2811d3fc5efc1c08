/**
 * What the controller may ask of the API server. In: what an installation needs. Out: every right that
 * its watches and its writes take, and no other; the Roles in `manifests/` are compared with them.
 *
 * A PATCH by server-side apply takes `create` too where it may make the object, and the API server
 * checks that by name. A list, a watch and a POST have no name, so RBAC cannot limit them to one.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
 */
import { LEASE_NAME } from "../kube/leader.ts";
import {
  CONFIG_MAPS,
  crdName,
  CRDS,
  ENDPOINT_SLICES,
  EVENTS,
  GATEWAY_CLASSES,
  GATEWAYS,
  HTTP_ROUTES,
  INGRESSES,
  LEASES,
  LISTENER_SETS,
  NAMESPACES,
  type Resource,
  SECRETS,
  SERVICE_ACCOUNTS,
  SERVICES,
  TOKEN_REVIEWS,
} from "../kube/types.ts";
import { CLAIMS_NAME } from "../outputs/publish/host_claims.ts";
import { WORKLOAD_RESOURCES } from "../outputs/workload/kinds.ts";
import { PREDECESSOR, PROXY_NAME, STREAM } from "../outputs/workload/names.ts";
import { CLUSTER_NAMESPACE } from "../watch/cluster_id.ts";
import {
  CLASS_CONFIG_MAPS,
  DISCOVERED_KINDS,
  KINDS,
  NAMED_CONFIG_MAPS,
  NAMED_SECRETS,
  type Needs,
  type Scope,
} from "../watch/kinds.ts";
import {
  configMapName,
  FORMAT_1,
  keySecretName,
  MAX_KEY_SECRETS,
  MAX_PARTS,
} from "../../shared/snapshot/published_set.ts";
import { SNAPSHOT_FORMAT } from "../../shared/snapshot/types.ts";

export interface Right {
  readonly scope: Scope;
  readonly resource: Resource;
  /** `status`. */
  readonly subresource?: string;
  /** Missing for any. */
  readonly names?: readonly string[];
  readonly verbs: readonly ("get" | "list" | "watch" | "create" | "update" | "patch" | "delete")[];
}

/** Those of format 1 are deleted with the rest. */
const PUBLISHED_CONFIG_MAPS = [FORMAT_1, SNAPSHOT_FORMAT].flatMap((format) =>
  Array.from({ length: MAX_PARTS + 1 }, (_, i) => configMapName(i, format))
);
const PUBLISHED_SECRETS = Array.from({ length: MAX_KEY_SECRETS }, (_, i) => keySecretName(i));

/** Of all calls but those of watches, and of Secrets that Ingresses name. */
const CALLS: readonly Right[] = [
  // Which cluster it is: resourceVersions mean something within one only.
  { scope: "cluster", resource: NAMESPACES, names: [CLUSTER_NAMESPACE], verbs: ["get"] },
  // Who a proxy is that asks for the stream.
  { scope: "cluster", resource: TOKEN_REVIEWS, verbs: ["create"] },
  // Addresses of Ingresses; by their status the finalizer of the controller in Rust goes, too.
  { scope: "served", resource: INGRESSES, subresource: "status", verbs: ["patch"] },
  // Problems of users' objects, and of the proxies. Named at random, so no name limits them.
  { scope: "served", resource: EVENTS, verbs: ["create", "patch"] },
  { scope: "system", resource: EVENTS, verbs: ["create", "patch"] },
  {
    scope: "system",
    resource: CONFIG_MAPS,
    names: [...PUBLISHED_CONFIG_MAPS, CLAIMS_NAME],
    verbs: ["create", "patch", "delete"],
  },
  {
    scope: "system",
    resource: SECRETS,
    names: PUBLISHED_SECRETS,
    verbs: ["create", "patch", "delete"],
  },
  // The CA of the stream: its key, and the bundle that proxies mount. Never deleted.
  ...[SECRETS, CONFIG_MAPS].map((resource): Right => ({
    scope: "system",
    resource,
    names: [STREAM.authority],
    verbs: ["get", "create", "patch"],
  })),
  // Deleted when the proxies that mount it have gone; read before, to delete what was looked at.
  { scope: "system", resource: SECRETS, names: [PREDECESSOR.secret], verbs: ["get", "delete"] },
  ...Object.values(WORKLOAD_RESOURCES).map((resource): Right => ({
    scope: "system",
    resource,
    names: [PROXY_NAME],
    verbs: ["get", "create", "patch", "delete"],
  })),
  // Whether pods can run as the account that the stream knows proxies by.
  { scope: "system", resource: SERVICE_ACCOUNTS, names: [STREAM.serviceAccount], verbs: ["get"] },
  { scope: "system", resource: LEASES, verbs: ["create"] },
  { scope: "system", resource: LEASES, names: [LEASE_NAME], verbs: ["get", "update"] },
];

/** Problems of ingress-nginx's ConfigMap; what is served in all namespaces has this right already. */
const CONFIG_MAP_EVENTS: Right = {
  scope: "configmap",
  resource: EVENTS,
  verbs: ["create", "patch"],
};

/** Addresses of Gateways, named after these; `overlays/gateway/admission-policy.yaml` limits them. */
const ADDRESS_CALLS: readonly Right[] = [SERVICES, ENDPOINT_SLICES].map((resource) => ({
  scope: "served",
  resource,
  verbs: ["create", "patch", "delete"],
}));

/** Status of Gateway API. */
const STATUS_CALLS: readonly Right[] = [
  { scope: "cluster", resource: GATEWAY_CLASSES, subresource: "status", verbs: ["patch"] },
  ...[GATEWAYS, HTTP_ROUTES, LISTENER_SETS].map((resource): Right => ({
    ...{ scope: "served", resource, subresource: "status", verbs: ["patch"] },
  })),
  // Of which bundle the CRDs are: the condition SupportedVersion. Optional.
  {
    scope: "cluster",
    resource: CRDS,
    names: DISCOVERED_KINDS.map((name) => crdName(KINDS[name].resource)),
    verbs: ["get"],
  },
  // The finalizer of classes in use: of custom resources, the status does not change it.
  { scope: "cluster", resource: GATEWAY_CLASSES, verbs: ["patch"] },
];

export function rightsFor(needs: Needs): readonly Right[] {
  const { configMap, gateway } = needs;
  const named = [NAMED_SECRETS, NAMED_CONFIG_MAPS, CLASS_CONFIG_MAPS];
  const watched = [...Object.values(KINDS), ...named].filter((kind) => kind.isWatched(needs))
    .map((kind): Right =>
      kind.scope === "configmap" && configMap !== null ? { ...kind, names: [configMap.name] } : kind
    );
  return [
    ...watched,
    ...CALLS,
    ...(configMap === null ? [] : [CONFIG_MAP_EVENTS]),
    ...(gateway ? [...ADDRESS_CALLS, ...STATUS_CALLS] : []),
  ];
}
