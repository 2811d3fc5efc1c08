/**
 * Gateway API from one translation to the next. In: the objects that a translation sees, and what its other
 * stages know. Out: what `translateGatewayApi` gives for them; the very same as before where nothing has
 * changed that it is made of.
 */
import { DEFAULT_LISTEN_RANGE, type PortRange } from "../../../shared/net/port_range.ts";
import type { SharedSocket } from "../../../shared/snapshot/listener_id.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { compareAge } from "../../base/identity.ts";
import { fieldOf } from "../../base/json.ts";
import { isSameList, LastResult } from "../../base/memo.ts";
import { isAlike } from "../../kube/likeness.ts";
import type { Resources } from "../../kube/resources.ts";
import type { BackendResolver } from "../backends/backend.ts";
import type { ServiceModel } from "../backends/service.ts";
import type { CertificateSources, SecretModel } from "../certificates/certificate_source.ts";
import type { ServedHosts } from "../hosts/host_claimants.ts";
import type { HostClaims } from "../hosts/host_claims.ts";
import type { HostClaimant } from "../hosts/host_owner.ts";
import type { Ownership } from "../hosts/ownership.ts";
import { ANY_HOST } from "../model/host.ts";
import { configMapLookup, type ConfiguredGateway } from "./gateway_parameters.ts";
import type { GatewayReaders } from "./gateway_readers.ts";
import {
  type BoundedTranslation,
  type GatewayObjects,
  type GatewayParts,
  type GatewayTranslation,
  readGateways,
  translateGatewayApi,
  type Weighing,
} from "./gateway_translation.ts";
import type { ClusterFull, GatewayRoom } from "../bounds/cluster_bound.ts";
import { isSameBounds, type NamespaceBounds } from "../bounds/namespace_bounds.ts";
import type { PublishedGateways } from "../bounds/published_gateways.ts";
import { crowdedNamespaces } from "./route_bounds.ts";
import type { RouteDemand } from "./route_demands.ts";
import type { ListenerModel } from "./objects/listener.ts";
import { publishedParts } from "./published_parts.ts";
import type { AddressKind, ServiceDefaults } from "./objects/parameters.ts";
import { type NamedHosts, publishedClaimants, RouteClaimants } from "./route_claimants.ts";
import { KeptHosts } from "./sharing/kept_hosts.ts";
import { namespaceLabels, servicePorts, UsedSecrets, UsedUpstreams } from "./lookups.ts";

export interface GatewayOptions {
  /** Of container ports for listeners. */
  readonly listenRange: PortRange;
  /** Where ConfigMaps of GatewayClasses are: the controller's own. */
  readonly namespace: string;
  /** What Services of Gateways are like where no parameter says otherwise. */
  readonly service: ServiceDefaults;
  /** Whether Gateways share the address of Ingresses where no parameter says otherwise. */
  readonly address: AddressKind;
}

/** Those of a controller without flags. */
export const DEFAULT_GATEWAY_OPTIONS: GatewayOptions = {
  listenRange: DEFAULT_LISTEN_RANGE,
  namespace: "pingress-system",
  service: { type: "LoadBalancer", loadBalancerClass: null, annotations: {} },
  address: "own",
};

/** What other stages of the same translation know. */
export interface GatewayStages {
  readonly backends: BackendResolver;
  readonly services: ReadonlyMap<string, ServiceModel>;
  readonly secrets: ReadonlyMap<string, SecretModel>;
  readonly sources: CertificateSources;
  readonly published: Snapshot | null;
  /** What each namespace may have, and what its Ingresses have of that. */
  readonly bounds: NamespaceBounds;
  readonly taken: ReadonlyMap<string, RouteDemand>;
  /** What there is for all namespaces together. */
  readonly room: GatewayRoom;
  readonly ownership: Ownership;
  /** Hosts of `SharedHosts` that Ingresses serve. */
  readonly ingresses: ServedHosts;
  readonly shared: SharedHosts;
}

/** What Gateway API names on the address of Ingresses. */
export interface SharedHosts extends NamedHosts {
  /** All hosts, those of listeners as well; empty where no Gateway shares the address. */
  readonly hosts: ReadonlySet<string>;
}

const NO_CERTIFICATES: ReadonlyMap<string, string> = new Map();
const NO_HOSTS: ReadonlySet<string> = new Set();
const NO_SOCKETS: ReadonlyMap<string, ReadonlySet<SharedSocket>> = new Map();
const NO_NAMESPACES: ReadonlyMap<ListenerModel, ReadonlySet<string>> = new Map();

const NO_PARTS: GatewayParts = {
  listeners: [],
  routes: [],
  filterSets: [],
  certificates: [],
  hostCertificates: NO_CERTIFICATES,
  sharedHosts: NO_SOCKETS,
};

const NOTHING_SHARED: SharedHosts = {
  ...{ claimants: [], namespaces: NO_NAMESPACES, isCrowded: false, lapsed: [] },
  hosts: NO_HOSTS,
};

interface NamedInputs {
  readonly lists: readonly (readonly unknown[])[];
  readonly unreadConfigMaps: readonly string[];
  readonly options: GatewayOptions;
  readonly bounds: NamespaceBounds;
  readonly isPending: boolean;
  /** Listeners with their container ports. */
  readonly published: string;
  /** All of Gateways. */
  readonly ofGateways: Snapshot | null;
}

interface Inputs {
  readonly lists: readonly (readonly unknown[])[];
  readonly services: GatewayStages["services"];
  readonly secrets: GatewayStages["secrets"];
  /** Listeners with their container ports. */
  readonly published: string;
  readonly unreadConfigMaps: readonly string[];
  readonly options: GatewayOptions;
  readonly bounds: NamespaceBounds;
  readonly taken: GatewayStages["taken"];
  readonly room: GatewayRoom;
  /** All of Gateways. */
  readonly ofGateways: Snapshot | null;
  /** Null where no Gateway shares an address: then Ingresses are nothing to it. */
  readonly sharing: Pick<GatewayStages, "ownership" | "ingresses"> | null;
}

export class GatewayTranslator {
  readonly #readers: GatewayReaders;
  readonly #published: PublishedGateways;
  readonly #last = new LastResult<Inputs, BoundedTranslation>();
  readonly #claimants = new RouteClaimants();
  readonly #lastNamed = new LastResult<NamedInputs, SharedHosts>();
  readonly #kept = new KeptHosts();
  readonly #lastKept = new LastResult<KeptInputs, SharedHosts>();
  #used: UsedUpstreams | null = null;
  #usedSecrets: UsedSecrets | null = null;

  constructor(readers: GatewayReaders, published: PublishedGateways) {
    this.#readers = readers;
    this.#published = published;
  }

  /**
   * What HTTPRoutes and Gateways name on the address that they share with Ingresses; the very same as before where
   * no object has changed.
   */
  sharedHosts(
    resources: Resources,
    options: GatewayOptions,
    bounds: NamespaceBounds,
    { published, claims }: {
      readonly published: Snapshot | null;
      readonly claims: HostClaims | null;
    },
  ): SharedHosts {
    const named = this.#namedHosts(resources, options, bounds, published);
    const kept = this.#kept.of(named.lapsed, claims);
    if (kept.length === 0) return named;
    return this.#lastKept.recall((last) => last.named === named && last.kept === kept) ??
      this.#lastKept.keep({ named, kept }, withKept(named, kept));
  }

  /** The same without those that are kept. */
  #namedHosts(
    resources: Resources,
    options: GatewayOptions,
    bounds: NamespaceBounds,
    published: Snapshot | null,
  ): SharedHosts {
    const { gatewayClasses, gateways, httpRoutes, gatewayConfigMaps, unreadConfigMaps } = resources;
    const isPending = resources.gatewayIsPending === true;
    const objects = { classes: gatewayClasses ?? [], gateways: gateways ?? [] };
    const namespaces = resources.namespaces ?? null;
    const configMaps = gatewayConfigMaps ?? [];
    const ofGateways = this.#published.of(published);
    const inputs: NamedInputs = {
      lists: [...Object.values(objects), httpRoutes ?? [], namespaces ?? [], configMaps],
      ...{ unreadConfigMaps: unreadConfigMaps ?? [], options, bounds, isPending },
      published: socketsOf(published),
      ofGateways,
    };
    const { last } = this.#lastNamed;
    const needsPublished = isPending || last?.result.isCrowded === true;
    const before = this.#lastNamed.recall((last) => isSameNamed(last, inputs, needsPublished));
    if (before !== null) return before;
    if (isPending) {
      const claimants = ofGateways === null ? [] : publishedClaimants(ofGateways);
      const named = { claimants, namespaces: NO_NAMESPACES, isCrowded: false, lapsed: [] };
      return this.#lastNamed.keep(inputs, sharedHostsOf(named, []));
    }
    const context = {
      ...{ published: ofGateways, ...options },
      configMaps: configMapLookup(configMaps, unreadConfigMaps ?? []),
    };
    const read = readGateways(objects, context, this.#readers);
    const shared = read.gateways.filter(({ address }) => address === "shared");
    const routes = this.#readers.routes(httpRoutes ?? []);
    const named = this.#claimants.of(shared, routes, {
      ...{ bounds, published: ofGateways, elsewhere: this.#elsewhere(objects, read.gateways) },
      namespaces: namespaceLabels(namespaces),
    });
    if (shared.length === 0) {
      return this.#lastNamed.keep(inputs, { ...NOTHING_SHARED, lapsed: named.lapsed });
    }
    const hostnames = shared.flatMap(({ listeners }) =>
      listeners.flatMap(({ hostname }) => hostname ?? [])
    );
    return this.#lastNamed.keep(inputs, sharedHostsOf(named, hostnames));
  }

  /**
   * Gateways of classes that exist, and that share no address: of ours those with one of their own. Parameters that
   * cannot be used say nothing of that.
   */
  #elsewhere(
    { classes, gateways }: Pick<GatewayObjects, "classes" | "gateways">,
    ours: readonly ConfiguredGateway[],
  ): ReadonlySet<string> {
    const known = new Set(classes.map((each) => fieldOf(fieldOf(each, "metadata"), "name")));
    const here = new Set(
      ours.filter(({ address, service }) => address === "shared" || service === null)
        .map(({ identity }) => identity.key),
    );
    const models = gateways.flatMap((each) => this.#readers.gateway(each) ?? []);
    return new Set(
      models.filter(({ identity, className }) => known.has(className) && !here.has(identity.key))
        .map(({ identity }) => identity.key),
    );
  }

  /** Without a translation where the objects are not known yet: then what was published stays. */
  translate(
    resources: Resources,
    options: GatewayOptions,
    stages: GatewayStages,
  ): { readonly translation: GatewayTranslation | null; readonly parts: GatewayParts } {
    this.#used?.release(stages.backends);
    if (resources.gatewayIsPending === true) {
      const upstreams = this.#used = new UsedUpstreams(stages.backends);
      const { published } = stages;
      const parts = published === null ? NO_PARTS : publishedParts(published, upstreams);
      return { translation: null, parts };
    }
    const translation = this.#translate(resources, options, stages);
    return { translation, parts: translation.parts };
  }

  #translate(
    resources: Resources,
    options: GatewayOptions,
    stages: GatewayStages,
  ): GatewayTranslation {
    const { backends, services, secrets, sources, bounds, taken, room } = stages;
    const published = this.#published.of(stages.published);
    const { ownership, ingresses, shared: { claimants, namespaces: ofRoutes, hosts } } = stages;
    const {
      gatewayClasses,
      gateways,
      httpRoutes,
      referenceGrants,
      backendTlsPolicies,
      listenerSets,
    } = resources;
    const namespaces = resources.namespaces ?? null;
    const { gatewayConfigMaps: configMaps = [], unreadConfigMaps = [] } = resources;
    const objects = {
      classes: gatewayClasses ?? [],
      gateways: gateways ?? [],
      routes: httpRoutes ?? [],
      grants: referenceGrants ?? [],
      backendTlsPolicies: backendTlsPolicies ?? [],
      listenerSets: listenerSets ?? [],
    };
    const inputs: Inputs = {
      lists: [...Object.values(objects), namespaces ?? [], configMaps],
      ...{ services, secrets, unreadConfigMaps, options },
      ...{ bounds, taken, room, ofGateways: published },
      published: socketsOf(published),
      sharing: hosts.size === 0 ? null : { ownership, ingresses },
    };
    const before = this.#last.recall((last) =>
      isSameInputs(last, inputs) && this.#isWithinBoundsAs(last, inputs)
    );
    // Secrets first: what is wrong with them is reported anew.
    const again = before === null || this.#usedSecrets?.areSame(sources) !== true
      ? null
      : this.#used?.askAgain(backends) ?? null;
    if (before !== null && again !== null) {
      this.#used = again;
      return before;
    }
    const upstreams = this.#used = new UsedUpstreams(backends);
    const usedSecrets = this.#usedSecrets = new UsedSecrets(secrets, sources);
    return this.#last.keep(
      inputs,
      translateGatewayApi(objects, {
        ...{ upstreams, published, bounds, taken, room, ...options },
        sharing: { ownership, ingresses, claimants, namespaces: ofRoutes },
        configMaps: configMapLookup(configMaps, unreadConfigMaps),
        services: servicePorts(services),
        secrets: usedSecrets,
        namespaces: namespaceLabels(namespaces),
      }, this.#readers),
    );
  }

  /**
   * Where nothing asks for too much, neither Ingresses nor what was published change anything; else Ingresses do
   * of the namespaces that ask for too much, and what was published of Gateways.
   */
  #isWithinBoundsAs(last: Inputs, inputs: Inputs): boolean {
    const { result } = this.#last.last!;
    const isSame = !result.isCrowded ||
      (last.ofGateways === inputs.ofGateways && isSameBounds(last.bounds, inputs.bounds));
    return isSame &&
      [result.unlimited, result].every((each) =>
        each === null || isSameWeighing(each, last, inputs)
      );
  }
}

function isSameWeighing(
  { demands, crowded, wanted, full }: Weighing,
  last: Inputs,
  inputs: Inputs,
): boolean {
  return isSameNames(crowdedNamespaces(demands, inputs), crowded) &&
    isAlike(takenBy(crowded, last.taken), takenBy(crowded, inputs.taken)) &&
    (last.room === inputs.room || isSameFull(inputs.room.fullFor(wanted), full));
}

function takenBy(
  namespaces: ReadonlySet<string>,
  taken: GatewayStages["taken"],
): readonly (RouteDemand | null)[] {
  return Array.from(namespaces, (namespace) => taken.get(namespace) ?? null);
}

function isSameNames(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && a.isSubsetOf(b);
}

function isSameFull(a: ClusterFull, b: ClusterFull): boolean {
  return isSameNames(a.namespaces, b.namespaces) && a.excess === b.excess && a.remedy === b.remedy;
}

function socketsOf(published: Snapshot | null): string {
  const listeners = published?.listeners ?? [];
  return JSON.stringify(
    listeners.map(({ id, port, socket, hostname }) => [id, port, socket, hostname]),
  );
}

/** @param hostnames Of listeners. */
function sharedHostsOf(named: NamedHosts, hostnames: readonly string[]): SharedHosts {
  const ofRoutes = named.claimants.flatMap(({ hosts }) => hosts.map(({ host }) => host));
  return { ...named, hosts: new Set([ANY_HOST, ...hostnames, ...ofRoutes]) };
}

interface KeptInputs {
  readonly named: SharedHosts;
  readonly kept: readonly HostClaimant[];
}

function withKept(named: SharedHosts, kept: readonly HostClaimant[]): SharedHosts {
  const hosts = kept.flatMap((each) => each.hosts.map(({ host }) => host));
  return {
    ...named,
    claimants: [...named.claimants, ...kept].sort((a, b) => compareAge(a.identity, b.identity)),
    hosts: new Set([ANY_HOST, ...named.hosts, ...hosts]),
  };
}

function isSameNamed(a: NamedInputs, b: NamedInputs, needsPublished: boolean): boolean {
  return a.published === b.published && (!needsPublished || a.ofGateways === b.ofGateways) &&
    a.isPending === b.isPending && isAlike(a.options, b.options) &&
    a.bounds.routes === b.bounds.routes && a.bounds.hostBytes === b.bounds.hostBytes &&
    isSameList(a.unreadConfigMaps, b.unreadConfigMaps) &&
    a.lists.every((list, i) => isSameList(list, b.lists[i]));
}

function isSameInputs(a: Inputs, b: Inputs): boolean {
  return a.services === b.services && a.secrets === b.secrets && a.published === b.published &&
    a.sharing?.ownership === b.sharing?.ownership &&
    a.sharing?.ingresses === b.sharing?.ingresses &&
    isAlike(a.options, b.options) && isSameList(a.unreadConfigMaps, b.unreadConfigMaps) &&
    a.lists.every((list, i) => isSameList(list, b.lists[i]));
}
