/**
 * Kubernetes objects in, one snapshot out. A pure function: the same objects in any order, the same
 * published snapshot and the same options give the same bytes; the clock changes problems only.
 *
 * A `Translator` owns all that is remembered from one call to the next (`memory.ts`), so that a
 * translation costs as much as what changed; what a call gives depends on its arguments alone.
 */
import type { Problem } from "../../shared/problem.ts";
import { sharedSocketOf } from "../../shared/snapshot/listener_id.ts";
import {
  type Certificate,
  type FilterSet,
  type Snapshot,
  SNAPSHOT_FORMAT,
  type SnapshotVersion,
} from "../../shared/snapshot/types.ts";
import type { Resources } from "../kube/resources.ts";
import type { ConfigMapOptions } from "./config_map/global_settings.ts";
import { reportGlobalAuth } from "./config_map/global_auth.ts";
import { BackendResolver } from "./backends/backend.ts";
import { CertificateSources } from "./certificates/certificate_source.ts";
import { HeldCertificates } from "./bounds/held_certificates.ts";
import type { RefusalOptions } from "./routes/closures.ts";
import {
  type DefaultCertificate,
  readDefaultCertificate,
} from "./certificates/default_certificate.ts";
import { type ClusterBounds, DEFAULT_CLUSTER_BOUNDS } from "./bounds/cluster_sizes.ts";
import { DEFAULT_NAMESPACE_ENDPOINTS } from "./backends/endpoint_bound.ts";
import type { HostClaims } from "./hosts/host_claims.ts";
import type { HostOwner, HostOwnershipMode } from "./hosts/host_owner.ts";
import { ObjectReaders, StageMemory } from "./memory.ts";
import { DEFAULT_NAMESPACE_BOUNDS, type NamespaceBounds } from "./bounds/namespace_bounds.ts";
import { ProblemList } from "../base/problems.ts";
import type { DefaultBackend } from "./routes/routes.ts";
import type { IngressStatus } from "./model/status.ts";
import type { GatewayTranslation } from "./gateway/gateway_translation.ts";
import type { GatewayOptions } from "./gateway/gateway_translator.ts";
import { stayingGateways } from "./gateway/published_parts.ts";
import { UpstreamTlsReader } from "./backends/upstream_tls.ts";

export type { RefusalOptions } from "./routes/closures.ts";
export { type ClusterBounds, DEFAULT_CLUSTER_BOUNDS } from "./bounds/cluster_sizes.ts";
export type { HostClaims } from "./hosts/host_claims.ts";
export { HOST_OWNERSHIPS, type HostOwner, type HostOwnershipMode } from "./hosts/host_owner.ts";
export type { GatewayTranslation } from "./gateway/gateway_translation.ts";
export { DEFAULT_GATEWAY_OPTIONS, type GatewayOptions } from "./gateway/gateway_translator.ts";
export type { DefaultBackend } from "./routes/routes.ts";
export type { IngressStatus, PathStatus, TlsStatus } from "./model/status.ts";

/** Milliseconds since the epoch. */
export type Clock = () => number;

export interface TranslateOptions extends RefusalOptions, ConfigMapOptions {
  /** Class names that are served whether or not an IngressClass object exists. */
  readonly ingressClasses: readonly string[];
  /** An IngressClass whose `spec.controller` is one of these is served too. */
  readonly controllerNames: readonly string[];
  /** Whether an Ingress that names no class is served although no default class of ours exists. */
  readonly watchIngressWithoutClass: boolean;
  /** Those of `ingressClasses` that have the profile nginx, whatever an IngressClass says. */
  readonly nginxClasses?: readonly string[];
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
  /** Missing or null: Gateway API is not translated. */
  readonly gateway?: GatewayOptions | null;
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
  /** Null where Gateway API is not translated, or its objects are not known yet. */
  readonly gateway: GatewayTranslation | null;
  /** Claims to be recorded; null where hosts are shared by all. */
  readonly claims: HostClaims | null;
  /** By host pattern. */
  readonly hostOwners: ReadonlyMap<string, HostOwner>;
}

export class Translator {
  /** For others who read the same objects: each is read once. */
  readonly readers: ObjectReaders;
  #memory: StageMemory;

  constructor(readers = new ObjectReaders()) {
    this.readers = readers;
    this.#memory = new StageMemory(readers);
  }

  /**
   * Translates `resources` to a snapshot. Not known to throw, whatever shape the objects have: what
   * cannot be read becomes a problem, and everything else is served. Parts that did not change since
   * the last call are the very same objects; none may be changed.
   *
   * @param published What was published last, for certificates that keep their last good version.
   */
  translate(
    resources: Resources,
    published: Snapshot | null,
    options: TranslateOptions,
    clock: Clock,
  ): Translation {
    try {
      return this.#translate(resources, published, options, clock());
    } catch (error) {
      // Stages may have remembered half of it, which the next call would take for the whole.
      this.#memory = new StageMemory(this.readers);
      throw error;
    }
  }

  /** @param now Milliseconds since the epoch. */
  #translate(
    resources: Resources,
    published: Snapshot | null,
    options: TranslateOptions,
    now: number,
  ): Translation {
    const memory = this.#memory;
    const problems = new ProblemList();
    const namespaces = memory.namespaces.read(resources.namespaces);
    const globals = memory.globals.read(
      resources.configMaps ?? null,
      published?.globalConfig ?? null,
      options,
      options.hostOwnership === "namespace" ? namespaces.assigned : undefined,
    );
    problems.addAll(globals.problems);
    const own = memory.ownIngresses.of(
      resources.ingresses,
      resources.ingressClasses,
      options,
      globals.settings,
      problems,
    );
    problems.addAll(memory.tooLarge.read(resources));
    const clusterBounds = options.clusterBounds ?? DEFAULT_CLUSTER_BOUNDS;
    const admitted = memory.clusterBounds.admit(
      memory.namespaceBounds.admit(
        memory.ingresses.read(own),
        published,
        options.namespaceBounds ?? DEFAULT_NAMESPACE_BOUNDS,
      ),
      resources.secrets,
      published,
      clusterBounds,
      {
        objects: [resources.gateways ?? [], resources.httpRoutes ?? []],
        staying: (published) => stayingGateways(published, resources),
      },
    );
    const secrets = this.readers.secrets.of(resources.secrets, problems);
    const list = memory.requiredSecrets.refuse(
      memory.ingresses.livingFirst(admitted, namespaces),
      secrets,
    );
    const { ingresses } = list;
    problems.addAll(list.problems);
    const shared = options.gateway == null ? null : memory.gateway.sharedHosts(
      resources,
      options.gateway,
      options.namespaceBounds ?? DEFAULT_NAMESPACE_BOUNDS,
      { published, claims: options.claims ?? null },
    );
    const ownership = memory.ownership.resolve({
      mode: options.hostOwnership,
      claimants: memory.claimants.of(admitted.ingresses, shared?.claimants ?? []),
      namespaces,
      claims: options.claims ?? null,
      published,
      kept: memory.keptClaims.of(
        options.keptNamespaces ?? NONE_KEPT,
        options.gateway != null && resources.gatewayIsPending === true && sharesAddress(published)
          ? options.claims ?? null
          : null,
      ),
    }, now);
    problems.addAll(namespaces.problems);
    problems.addAll(ownership.problems);
    const upstreamTls = new UpstreamTlsReader(
      secrets,
      published,
      now,
      problems,
      options.maxRsaBits,
    );
    const backends = new BackendResolver(
      memory.backends,
      resources,
      upstreamTls,
      options,
      {
        upstreams: (services) => {
          const own = memory.clusterBounds.upstreamsByNamespace(admitted.ingresses);
          return options.gateway == null
            ? own
            : memory.namedUpstreams.of(own, resources, services, published);
        },
        endpoints: options.namespaceEndpoints ?? DEFAULT_NAMESPACE_ENDPOINTS,
        cluster: memory.clusterBounds.endpointRoom(
          admitted.ingresses,
          resources.secrets,
          published,
          clusterBounds,
        ),
      },
      problems,
    );
    const routing = memory.routes.build(
      ingresses,
      backends,
      { processBackend: options.defaultBackend, refusals: options, ownership },
      problems,
    );
    const configMap = options.configMap ?? null;
    reportGlobalAuth(globals.settings, configMap, ingresses, backends, problems);
    const { maxRsaBits } = options;
    const { full } = memory.clusterBounds;
    const held = new HeldCertificates(memory.publishedPairs, full, published, secrets);
    const sources = new CertificateSources(secrets, now, problems, published, maxRsaBits, held);
    const tls = memory.certificates.assign(ingresses, sources, published, ownership, problems);
    const byDefault = readDefaultCertificate(
      options.defaultCertificate,
      secrets,
      published,
      now,
      problems,
      (certificate) => memory.defaultHosts.stripped(certificate),
      maxRsaBits,
    );
    const unnamed = byDefault === null
      ? upstreamTls.certificates()
      : withCertificate(upstreamTls.certificates(), byDefault.certificate);
    const gateway = options.gateway == null || shared === null ? null : memory.gateway.translate(
      resources,
      options.gateway,
      {
        ...{ backends, services: backends.services, secrets, sources, published },
        ...{ ownership, shared },
        ingresses: memory.serving.of(routing, shared.hosts),
        bounds: options.namespaceBounds ?? DEFAULT_NAMESPACE_BOUNDS,
        taken: memory.clusterBounds.partsByNamespace(admitted.ingresses),
        room: memory.clusterBounds.gatewayRoom(
          admitted.ingresses,
          resources.secrets,
          published,
          clusterBounds,
        ),
      },
    );
    const used = memory.usedSettings.of(ingresses);
    const { routes, ...parts } = gateway === null
      ? { routes: routing.routes, ...used }
      : memory.merged.of(routing.routes, used, gateway.parts);
    const shown = gateway === null ? unnamed : [...unnamed, ...gateway.parts.certificates];
    const all = allCertificates(tls.certificates, shown);
    const served = gateway === null
      ? all
      : memory.merged.certificates(all, gateway.parts.hostCertificates);
    const certificates = memory.defaultHosts.add(
      served,
      byDefault,
      ingresses,
      tls.statuses,
      ownership,
    );
    const credentials = memory.credentials.read(
      ingresses,
      secrets,
      problems,
      published?.credentials ?? [],
    );
    const { unaddressed } = memory.ownIngresses;
    const statuses = memory.statuses.collect({ list, routing, tls }, unaddressed, problems);
    const wanted: Snapshot = {
      format: SNAPSHOT_FORMAT,
      version: options.version,
      ...memory.hostSettings.of(tls.hostSettings, routing.aliases),
      routes,
      defaultAction: routing.defaultAction,
      ...parts,
      upstreams: backends.upstreams(),
      ...(credentials.length === 0 ? {} : { credentials }),
      certificates: memory.certificateOrder.of(certificates),
      defaultCertificate: byDefault?.certificate.id ?? null,
      ...loopMarkOf(published, options),
      ...(backends.denied.list.length === 0 ? {} : { denied: backends.denied.list }),
      ...(globals.settings.trustedProxies.length === 0
        ? {}
        : { trustedProxies: globals.settings.trustedProxies }),
      ...memory.usedSettings.blockedClientsOf(
        globals.settings.blockedClients,
        used.filterSets ?? NO_SETS,
      ),
      ...(globals.kept === null ? {} : { globalConfig: globals.kept }),
    };
    const snapshot = memory.upstreamTlsBound.apply(wanted, published, clusterBounds, problems);
    return {
      snapshot,
      problems: problems.sorted(memory.problemOrder),
      statuses,
      gateway: gateway?.translation ?? null,
      claims: ownership.claims,
      hostOwners: ownership.owners,
    };
  }
}

/** `Translator.translate` for a single call. */
export function translate(
  resources: Resources,
  published: Snapshot | null,
  options: TranslateOptions,
  clock: Clock,
): Translation {
  return new Translator().translate(resources, published, options, clock);
}

/** A published one stays: a restarted controller and all replicas then have the same. */
function loopMarkOf(
  published: Snapshot | null,
  options: TranslateOptions,
): Pick<Snapshot, "loopMark"> {
  const loopMark = published?.loopMark ?? options.loopMark;
  return loopMark === undefined ? {} : { loopMark };
}

/** Whether Gateways had hosts on the address of Ingresses. */
function sharesAddress(published: Snapshot | null): boolean {
  return published?.listeners?.some(({ id }) => sharedSocketOf(id) !== null) === true;
}

const NONE_KEPT: ReadonlySet<string> = new Set();
const NO_SETS: readonly FilterSet[] = [];

/** The default one may be shown to backends as well. */
function withCertificate(shown: readonly Certificate[], one: Certificate): readonly Certificate[] {
  return shown.some(({ id }) => id === one.id) ? shown : [...shown, one];
}

/** Each once: one that is used for hosts may be shown to backends as well. */
function allCertificates(
  served: readonly Certificate[],
  shown: readonly Certificate[],
): readonly Certificate[] {
  if (shown.length === 0) return served;
  const ids = new Set(served.map(({ id }) => id));
  return [...served, ...shown.filter(({ id }) => !ids.has(id) && ids.add(id))];
}
