/**
 * What becomes of an object by its apiVersion and kind. In: both, as they are written. Out: whether it is read,
 * and if not, why: another version, a misspelt name, or a kind of others.
 */
import { GATEWAY_API } from "../../controller/kube/types.ts";
import { nearestName } from "../../shared/nearest_name.ts";

/** The kinds that are read, with the only version that is spoken. */
export const API_VERSIONS: Readonly<Record<string, string>> = {
  Ingress: "networking.k8s.io/v1",
  IngressClass: "networking.k8s.io/v1",
  Service: "v1",
  EndpointSlice: "discovery.k8s.io/v1",
  Secret: "v1",
  ConfigMap: "v1",
  Namespace: "v1",
};

/** Kinds of Gateway API that are read, with the versions in which they have the same fields, the newest first. */
export const GATEWAY_VERSIONS: Readonly<Record<string, readonly string[]>> = {
  GatewayClass: [`${GATEWAY_API}/v1`, `${GATEWAY_API}/v1beta1`],
  Gateway: [`${GATEWAY_API}/v1`, `${GATEWAY_API}/v1beta1`],
  HTTPRoute: [`${GATEWAY_API}/v1`, `${GATEWAY_API}/v1beta1`],
  ReferenceGrant: [`${GATEWAY_API}/v1`, `${GATEWAY_API}/v1beta1`],
  BackendTLSPolicy: [`${GATEWAY_API}/v1`, `${GATEWAY_API}/v1alpha3`],
  ListenerSet: [`${GATEWAY_API}/v1`],
};

/** Kinds of Gateway API that route traffic, and are not served. */
const UNSERVED_KINDS: ReadonlySet<string> = new Set([
  "GRPCRoute",
  "TLSRoute",
  "TCPRoute",
  "UDPRoute",
]);

/** All that are read. */
export const READ_KINDS: readonly string[] = [
  ...Object.keys(API_VERSIONS),
  ...Object.keys(GATEWAY_VERSIONS),
];

/** Kinds of Kubernetes itself whose names are like those that are read. */
const OTHER_KINDS: ReadonlySet<string> = new Set(["Endpoints", "Event", "Node", "Pod", "Role"]);

/**
 * `misspelt`: most likely another kind or apiVersion was meant, which is told by `field`. `other`:
 * none of our business.
 */
export type KindReading =
  | { readonly kind: "read" | "unserved" | "other" }
  | { readonly kind: "another-version"; readonly version: string }
  | {
    readonly kind: "misspelt";
    readonly field: "kind" | "apiVersion";
    readonly meant: string;
  };

export function kindReading(apiVersion: string, kind: string): KindReading {
  const versions = versionsOf(kind);
  if (versions.includes(apiVersion)) return { kind: "read" };
  const group = groupOf(apiVersion);
  if (versions.length > 0) {
    if (isBuiltIn(group)) return { kind: "another-version", version: versions[0] };
    const meant = nearestName(apiVersion, versions);
    return meant === null ? { kind: "other" } : { kind: "misspelt", field: "apiVersion", meant };
  }
  if (group === GATEWAY_API && UNSERVED_KINDS.has(kind)) return { kind: "unserved" };
  const meant = nearestKind(kind, apiVersion);
  return meant === null ? { kind: "other" } : { kind: "misspelt", field: "kind", meant };
}

/** The versions of a kind that are read, the newest first; none for one that is not read. */
export function versionsOf(kind: string): readonly string[] {
  if (Object.hasOwn(GATEWAY_VERSIONS, kind)) return GATEWAY_VERSIONS[kind];
  return Object.hasOwn(API_VERSIONS, kind) ? [API_VERSIONS[kind]] : [];
}

/** The kind of the same group, or of the apiVersion as it was meant, that was most likely meant. */
function nearestKind(kind: string, apiVersion: string): string | null {
  if (OTHER_KINDS.has(kind)) return null;
  const group = groupOf(apiVersion);
  const candidates = READ_KINDS.filter((each) =>
    versionsOf(each).some((version) => groupOf(version) === group)
  );
  // Plurals are longer than a letter: `Ingresses`.
  const singular = candidates.find((each) => kind.toLowerCase() === `${each.toLowerCase()}es`);
  return singular ?? nearestName(kind, candidates);
}

/** `networking.k8s.io` of `networking.k8s.io/v1`; "" for the core group's `v1`. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.lastIndexOf("/");
  return slash === -1 ? "" : apiVersion.slice(0, slash);
}

/** Groups of Kubernetes itself, in which nobody else has kinds: `apps`, `extensions`, `policy`. */
function isBuiltIn(group: string): boolean {
  return !group.includes(".") || /(?:^|\.)k8s\.io$/.test(group);
}
