/**
 * Kubernetes objects in, one snapshot out. A pure function: the same objects in any order, the same
 * published snapshot and the same options give the same bytes; the clock changes problems only.
 */
import type { Problem } from "../../shared/problem.ts";
import {
  type Certificate,
  type Snapshot,
  SNAPSHOT_FORMAT,
  type SnapshotVersion,
} from "../../shared/snapshot/types.ts";
import type { Resources } from "../kube/resources.ts";
import { BackendResolver } from "./backends/backend.ts";
import { CertificateSources, indexSecrets } from "./certificates/certificate_source.ts";
import { ownIngresses } from "./ingress/class.ts";
import type { RefusalOptions } from "./routes/closures.ts";
import {
  type DefaultCertificate,
  readDefaultCertificate,
} from "./certificates/default_certificate.ts";
import {
  type ClusterBounds,
  DEFAULT_CLUSTER_BOUNDS,
  endpointRoom,
  upstreamsByNamespace,
  withinCluster,
} from "./bounds/cluster_bound.ts";
import { DEFAULT_NAMESPACE_ENDPOINTS } from "./backends/endpoint_bound.ts";
import type { HostClaims } from "./hosts/host_claims.ts";
import type { HostOwner, HostOwnershipMode } from "./hosts/host_owner.ts";
import { livingFirst, readIngresses } from "./ingress/ingress_list.ts";
import {
  DEFAULT_NAMESPACE_BOUNDS,
  type NamespaceBounds,
  withinBounds,
} from "./bounds/namespace_bounds.ts";
import { readNamespaces } from "./ingress/namespace_facts.ts";
import { readOwnership } from "./hosts/ownership.ts";
import { ProblemList } from "../base/problems.ts";
import type { DefaultBackend } from "./routes/routes.ts";
import { layRoutes } from "./routes/routing.ts";
import { SortedList } from "../base/sorted_list.ts";
import type { IngressStatus } from "./model/status.ts";
import { layStatuses } from "./statuses.ts";
import { layCertificates } from "./certificates/tls.ts";
import { reportTooLarge } from "./ingress/too_large.ts";
import { UpstreamTlsReader } from "./backends/upstream_tls.ts";
import { compareText } from "../base/text_order.ts";

export type { RefusalOptions } from "./routes/closures.ts";
export { type ClusterBounds, DEFAULT_CLUSTER_BOUNDS } from "./bounds/cluster_bound.ts";
export type { HostClaims } from "./hosts/host_claims.ts";
export { HOST_OWNERSHIPS, type HostOwner, type HostOwnershipMode } from "./hosts/host_owner.ts";
export type { DefaultBackend } from "./routes/routes.ts";
export type { IngressStatus, PathStatus, TlsStatus } from "./model/status.ts";

/** Milliseconds since the epoch. */
export type Clock = () => number;

export interface TranslateOptions extends RefusalOptions {
  /** Class names that are served whether or not an IngressClass object exists. */
  readonly ingressClasses: readonly string[];
  /** An IngressClass whose `spec.controller` is one of these is served too. */
  readonly controllerNames: readonly string[];
  /** Whether an Ingress that names no class is served although no default class of ours exists. */
  readonly watchIngressWithoutClass: boolean;
  /** Where requests go that nothing else takes; null answers 404. */
  readonly defaultBackend: DefaultBackend | null;
  /** What clients are shown that ask for no name, or for one that no certificate is for. */
  readonly defaultCertificate: DefaultCertificate | null;
  /** RSA keys of more bits give no certificate; 4,096 by default. */
  readonly maxRsaBits?: number;
  /** Whether a Service of type ExternalName may be a backend. */
  readonly allowExternalName: boolean;
  /** Whether endpoints may be loopback, link-local, unspecified or multicast addresses. */
  readonly allowLocalEndpoints: boolean;
  readonly version: SnapshotVersion;
  /** The mark that proxies get where none is published yet; missing for none. */
  readonly loopMark?: string;
  /** Whether hosts belong to namespaces. */
  readonly hostOwnership: HostOwnershipMode;
  /** Recorded claims to hosts; missing or null where none are recorded. */
  readonly claims?: HostClaims | null;
  /** Namespaces with Ingresses that are left out of `resources`: their recorded claims hold. */
  readonly keptNamespaces?: ReadonlySet<string>;
  /** What one namespace may have served; missing for the defaults. */
  readonly namespaceBounds?: NamespaceBounds;
  /** Endpoints of all upstreams of one namespace; 20,000 by default. */
  readonly namespaceEndpoints?: number;
  /** What all namespaces may have served together; without memory of proxies by default. */
  readonly clusterBounds?: ClusterBounds;
}

export interface Translation {
  readonly snapshot: Snapshot;
  /** Sorted by object. */
  readonly problems: readonly Problem[];
  /** One for each Ingress of a class that is served, sorted by namespace and name. */
  readonly statuses: readonly IngressStatus[];
  /** Claims to be recorded; null where hosts are shared by all. */
  readonly claims: HostClaims | null;
  /** By host pattern. */
  readonly hostOwners: ReadonlyMap<string, HostOwner>;
}

/**
 * Translates `resources` to a snapshot. Never throws, whatever shape the objects have: what cannot
 * be read becomes a problem, and everything else is served.
 *
 * @param published What was published last, for certificates that keep their last good version.
 */
export function translate(
  resources: Resources,
  published: Snapshot | null,
  options: TranslateOptions,
  clock: Clock,
): Translation {
  const problems = new ProblemList();
  const own = ownIngresses(resources.ingresses, resources.ingressClasses, options, problems);
  reportTooLarge(resources, problems);
  const namespaces = readNamespaces(resources.namespaces);
  const read = withinCluster(
    withinBounds(
      readIngresses(own),
      published,
      options.namespaceBounds ?? DEFAULT_NAMESPACE_BOUNDS,
    ),
    resources.secrets,
    published,
    options.clusterBounds ?? DEFAULT_CLUSTER_BOUNDS,
  );
  const list = livingFirst(read, namespaces);
  const { ingresses } = list;
  problems.addAll(list.problems);
  const secrets = indexSecrets(resources.secrets, problems);
  const now = clock();
  const ownership = readOwnership({
    mode: options.hostOwnership,
    ingresses: read.ingresses,
    namespaces,
    claims: options.claims ?? null,
    published,
    kept: options.keptNamespaces ?? NONE_KEPT,
  }, now);
  problems.addAll(namespaces.problems);
  problems.addAll(ownership.problems);
  const upstreamTls = new UpstreamTlsReader(secrets, published, now, problems);
  const backends = new BackendResolver(
    resources,
    upstreamTls,
    options,
    {
      upstreams: upstreamsByNamespace(read.ingresses),
      endpoints: options.namespaceEndpoints ?? DEFAULT_NAMESPACE_ENDPOINTS,
      cluster: endpointRoom(
        read.ingresses,
        resources.secrets,
        published,
        options.clusterBounds ?? DEFAULT_CLUSTER_BOUNDS,
      ),
    },
    problems,
  );
  const routing = layRoutes(
    ingresses,
    backends,
    { processBackend: options.defaultBackend, refusals: options, ownership },
    problems,
  );
  const sources = new CertificateSources(
    secrets,
    now,
    problems,
    published,
    options.maxRsaBits,
  );
  const tls = layCertificates(ingresses, sources, published, ownership, problems);
  const byDefault = readDefaultCertificate(
    options.defaultCertificate,
    secrets,
    published,
    now,
    problems,
    options.maxRsaBits,
  );
  const unnamed = byDefault === null
    ? upstreamTls.certificates()
    : withCertificate(upstreamTls.certificates(), byDefault);
  const statuses = layStatuses({ list, routing, tls }, problems);
  return {
    snapshot: {
      format: SNAPSHOT_FORMAT,
      version: options.version,
      routes: routing.routes,
      defaultAction: routing.defaultAction,
      upstreams: backends.upstreams(),
      certificates: mergeCertificates(tls.certificates, unnamed),
      defaultCertificate: byDefault?.id ?? null,
      ...loopMarkOf(published, options),
      ...(backends.denied.list.length === 0 ? {} : { denied: backends.denied.list }),
    },
    problems: problems.sorted(),
    statuses,
    claims: ownership.claims,
    hostOwners: ownership.owners,
  };
}

/** A published one stays: a restarted controller and all replicas then have the same. */
function loopMarkOf(
  published: Snapshot | null,
  options: TranslateOptions,
): Pick<Snapshot, "loopMark"> {
  const loopMark = published?.loopMark ?? options.loopMark;
  return loopMark === undefined ? {} : { loopMark };
}

const NONE_KEPT: ReadonlySet<string> = new Set();

const CERTIFICATES = new SortedList<Certificate>((a, b) => compareText(a.id, b.id));

/** The default one may be shown to backends as well. */
function withCertificate(shown: readonly Certificate[], one: Certificate): readonly Certificate[] {
  return shown.some(({ id }) => id === one.id) ? shown : [...shown, one];
}

/** One that is used for hosts may be shown to backends as well. */
function mergeCertificates(
  served: readonly Certificate[],
  shown: readonly Certificate[],
): readonly Certificate[] {
  if (shown.length === 0) return CERTIFICATES.of(served);
  const ids = new Set(served.map(({ id }) => id));
  return CERTIFICATES.of([...served, ...shown.filter(({ id }) => !ids.has(id))]);
}
