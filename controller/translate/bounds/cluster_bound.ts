/**
 * What all namespaces together may have served. In: Ingresses within the bounds of their namespaces, what Gateways
 * ask for, what was published, and the memory of proxies. Out: the Ingresses that fit proxies, what is
 * published and the stream, and the namespaces whose Gateways do not: over that, the largest namespaces may add
 * nothing, until the rest fits. Ingresses come first, beside what was published of Gateways.
 *
 * What was published stays. Sizes are estimates from numbers of parts, the same ones for what is asked
 * for as for what was published, so that every replica comes to the same. Endpoints count as they were
 * published, up to their share: they are no addition of an Ingress, and never wait for this. What
 * Ingresses leave is theirs, and their share at least.
 */
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import type { KubeSecret } from "../../kube/resources.ts";
import { isSameList, LastResult, ObjectCache } from "../../base/memo.ts";
import {
  type ClusterBounds,
  ENDPOINT_SHARE,
  fullOf,
  MIB,
  NO_PARTS,
  plus,
  type Resource,
  RESOURCES,
  Scale,
} from "./cluster_sizes.ts";
import type { Demands } from "./demand.ts";
import { PublishedEndpoints } from "../model/endpoint_sizes.ts";
import { FilterSetSizes, publishedGatewayParts } from "./gateway_tally.ts";
import { PublishedGateways } from "./published_gateways.ts";
import { consequence, type NamespaceAdmission, type NamespaceBounds } from "./namespace_bounds.ts";
import { type Parts, PartsCounter, publishedParts } from "./namespace_parts.ts";
import { type PairSizes, pairSizes, renewalStep } from "./pair_sizes.ts";
import type { Report } from "../../base/problems.ts";
import { compareText } from "../../base/text_order.ts";
import type { Source, SourceList } from "../model/source.ts";

/** Of each limit: or one route more would change the backends of all namespaces that are over it. */
const ENDPOINT_STEP = 1 / 16;

interface Inputs {
  readonly list: SourceList;
  readonly published: Snapshot | null;
  readonly bounds: ClusterBounds;
  readonly pairs: PairSizes;
  readonly gateways: StayingGateways;
}

/** What was published of Gateways, as far as it stays. */
export interface StayingGateways {
  /** Objects that decide it. */
  readonly objects: readonly (readonly unknown[])[];
  /** Without what has been deleted since. */
  staying(published: Snapshot): Snapshot;
}

interface Admitted {
  readonly list: SourceList;
  readonly full: ClusterFull;
}

export class ClusterAdmission {
  readonly #namespaces: NamespaceAdmission;
  readonly #counter: PartsCounter;
  readonly #pairs = new ObjectCache(pairSizes);
  readonly #endpoints = new PublishedEndpoints();
  readonly #published: PublishedGateways;
  readonly #filterSets = new FilterSetSizes();
  readonly #gateways = new ObjectCache((published: Snapshot) =>
    publishedGatewayParts(published, this.#filterSets)
  );
  readonly #lastRoom = new LastResult<RoomInputs, GatewayRoom>();
  readonly #lastTaken = new LastResult<TakenInputs, ReadonlyMap<string, Parts>>();
  readonly #memory = new LastResult<Inputs, Admitted>();

  constructor(
    namespaces: NamespaceAdmission,
    demands: Demands,
    published = new PublishedGateways(),
  ) {
    this.#namespaces = namespaces;
    this.#published = published;
    this.#counter = new PartsCounter(demands);
  }

  /**
   * The very same list where all of it fits.
   *
   * @param secrets Of which certificates are made; their sizes count.
   */
  admit(
    list: SourceList,
    secrets: readonly KubeSecret[],
    published: Snapshot | null,
    bounds: ClusterBounds,
    gateways: StayingGateways,
  ): SourceList {
    const before = this.#memory.last;
    const pairs = this.#pairs.of(secrets);
    const recalled = this.#memory.recall((inputs) =>
      inputs.list === list && inputs.published === published && inputs.bounds === bounds &&
      inputs.pairs === pairs &&
      (this.full.namespaces.size === 0 || isSameObjects(inputs.gateways, gateways))
    );
    if (recalled !== null) return recalled.list;
    const inputs = { list, published, bounds, pairs, gateways };
    const { crowded, resource } = this.#crowdedIngresses(inputs);
    const next = crowded.size === 0
      ? list
      : this.#namespaces.apply(list, published, NOTHING_MORE, crowded, (model, report) =>
        reportFull(model, resource, bounds, report));
    // Each publication would otherwise be another list, and all routes be built anew.
    const last = before !== null && before.inputs.list === list ? before.result.list : null;
    const isSame = last !== null && isSameList(last.ingresses, next.ingresses) &&
      last.problems.length === next.problems.length;
    return this.#memory.keep(inputs, {
      list: isSame ? last : next,
      full: clusterFull({ crowded, resource }, bounds),
    }).list;
  }

  /** The namespaces whose Ingresses may add nothing, of the last that were admitted. */
  get full(): ClusterFull {
    return this.#memory.last?.result.full ?? NOT_FULL;
  }

  #crowdedIngresses({ list, published, bounds, pairs, gateways }: Inputs): Crowded {
    const crowdedBeside = (others: ReadonlyMap<string, Parts>) =>
      crowdedNamespaces({
        wanted: this.#counter.sized(list.ingresses, pairs),
        scale: new Scale(published, bounds, this.#endpoints),
        before: () => publishedParts(published),
        others,
      });
    const beside = this.#publishedOfGateways(published);
    const result = crowdedBeside(beside);
    // No publication follows that would tell what is gone.
    return result.crowded.size === 0 || published === null || beside.size === 0
      ? result
      : crowdedBeside(publishedGatewayParts(gateways.staying(published), this.#filterSets));
  }

  /**
   * How many endpoints all namespaces may have beside what these Ingresses and published Gateways take,
   * so that all of it fits. `ingresses` are those within the bound.
   */
  endpointRoom(
    ingresses: readonly Source[],
    secrets: readonly KubeSecret[],
    published: Snapshot | null,
    bounds: ClusterBounds,
  ): number {
    const scale = new Scale(published, bounds, this.#endpoints);
    const taken = [
      this.#taken(ingresses, secrets, published),
      this.#publishedOfGateways(published),
    ].reduce((sum, parts) => plus(sum, scale.totalOf(parts), 1), scale.tls);
    const each = scale.endpoint;
    const room = RESOURCES.filter((resource) => each[resource] > 0).map((resource) => {
      const limit = scale.limits[resource];
      const steps = Math.floor((1 - taken[resource] / limit) / ENDPOINT_STEP);
      return limit * Math.max(ENDPOINT_SHARE, steps * ENDPOINT_STEP) / each[resource];
    });
    return Math.floor(Math.min(...room));
  }

  /** What there is for Gateways beside these Ingresses; the very same as before where nothing has changed. */
  gatewayRoom(
    ingresses: readonly Source[],
    secrets: readonly KubeSecret[],
    published: Snapshot | null,
    bounds: ClusterBounds,
  ): GatewayRoom {
    const taken = this.#taken(ingresses, secrets, published);
    return this.#lastRoom.recall((last) =>
      last.taken === taken && last.published === published && last.bounds === bounds
    ) ?? this.#lastRoom.keep({ taken, published, bounds }, {
      fullFor: (wanted) => {
        const crowded = crowdedNamespaces({
          wanted,
          scale: new Scale(published, bounds, this.#endpoints),
          before: () => this.#publishedOfGateways(published),
          others: taken,
        });
        return clusterFull(crowded, bounds);
      },
    });
  }

  /**
   * What admitted Ingresses take. In a namespace that may add nothing, certificates that have grown stay as they were
   * published (`held_certificates.ts`): they take no room from others.
   */
  #taken(
    ingresses: readonly Source[],
    secrets: readonly KubeSecret[],
    published: Snapshot | null,
  ): ReadonlyMap<string, Parts> {
    const sized = this.#counter.sized(ingresses, this.#pairs.of(secrets));
    const { full } = this;
    if (full.namespaces.size === 0) return sized;
    return this.#lastTaken.recall((last) =>
      last.sized === sized && last.full === full && last.published === published
    ) ?? this.#lastTaken.keep({ sized, full, published }, withoutGrowth(sized, full, published));
  }

  #publishedOfGateways(published: Snapshot | null): ReadonlyMap<string, Parts> {
    const ofGateways = this.#published.of(published);
    return ofGateways === null ? NONE : this.#gateways.of(ofGateways);
  }

  /** What the Ingresses of each namespace have; the very same as before where they do. */
  partsByNamespace(ingresses: readonly Source[]): ReadonlyMap<string, Parts> {
    return this.#counter.count(ingresses).parts;
  }

  /** Ids of the upstreams that the rules of a namespace name. */
  upstreamsByNamespace(
    ingresses: readonly Source[],
  ): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#counter.count(ingresses).upstreams;
  }
}

/** For namespaces that may add nothing. */
export const NOTHING_MORE: NamespaceBounds = { routes: 0, hostBytes: 0, certificates: 0 };

const NONE: ReadonlyMap<string, Parts> = new Map();

/** What the bound leaves for Gateways. */
export interface GatewayRoom {
  /** @param wanted What the Gateways and HTTPRoutes of each namespace ask for. */
  fullFor(wanted: ReadonlyMap<string, Parts>): ClusterFull;
}

/** Namespaces that may add nothing, as all together ask for too much. */
export interface ClusterFull {
  readonly namespaces: ReadonlySet<string>;
  /** A clause. */
  readonly excess: string;
  /** Without a full stop. */
  readonly remedy: string;
}

const NO_NAMESPACES: ReadonlySet<string> = new Set();

export const NOT_FULL: ClusterFull = { namespaces: NO_NAMESPACES, excess: "", remedy: "" };

function clusterFull({ crowded, resource }: Crowded, bounds: ClusterBounds): ClusterFull {
  if (crowded.size === 0) return NOT_FULL;
  const [what, remedy] = describeFull(resource, bounds);
  const excess = `the configuration would take more than ${what}, and the largest namespaces add ` +
    "nothing to that";
  return { namespaces: crowded, excess, remedy };
}

function isSameObjects(a: StayingGateways, b: StayingGateways): boolean {
  return a.objects.every((list, i) => isSameList(list, b.objects[i]));
}

interface RoomInputs {
  readonly taken: ReadonlyMap<string, Parts>;
  readonly published: Snapshot | null;
  readonly bounds: ClusterBounds;
}

interface TakenInputs {
  readonly sized: ReadonlyMap<string, Parts>;
  readonly full: ClusterFull;
  readonly published: Snapshot | null;
}

function withoutGrowth(
  sized: ReadonlyMap<string, Parts>,
  { namespaces }: ClusterFull,
  published: Snapshot | null,
): ReadonlyMap<string, Parts> {
  const before = publishedParts(published);
  const secured = before.values().filter(({ certificates }) => certificates > 0).toArray().length;
  return new Map(Array.from(sized, ([namespace, parts]) => {
    if (!namespaces.has(namespace)) return [namespace, parts];
    const { chains, keys } = before.get(namespace) ?? NO_PARTS;
    const step = renewalStep(chains + keys, secured);
    return [namespace, {
      ...parts,
      chains: Math.min(parts.chains, chains + step),
      keys: Math.min(parts.keys, keys + step),
    }];
  }));
}

interface Crowded {
  /** Namespaces that may add nothing. */
  readonly crowded: ReadonlySet<string>;
  /** What there is not enough of. */
  readonly resource: Resource;
}

interface CrowdInputs {
  /** By namespace. */
  readonly wanted: ReadonlyMap<string, Parts>;
  /** What was published of that, which stays. */
  readonly before: () => ReadonlyMap<string, Parts>;
  /** What namespaces have beside it, which stays as well. */
  readonly others: ReadonlyMap<string, Parts>;
  readonly scale: Scale;
}

function crowdedNamespaces({ wanted, before, others, scale }: CrowdInputs): Crowded {
  let total = plus(plus(scale.endpoints, scale.tls, 1), scale.totalOf(others), 1);
  const sizes = Array.from(wanted, ([namespace, parts]) => {
    const size = scale.sizeOf(parts);
    total = plus(total, size, 1);
    return { namespace, size };
  });
  const resource = fullOf(total, scale.limits);
  const crowded = new Set<string>();
  if (resource === null) return { crowded, resource: "memory" };
  const published = before();
  const rankOf = ({ namespace, size }: typeof sizes[number]): number => {
    const other = others.get(namespace);
    return size[resource] + (other === undefined ? 0 : scale.sizeOf(other)[resource]);
  };
  const ranked = sizes.map((each) => ({ ...each, rank: rankOf(each) })).sort((a, b) =>
    b.rank - a.rank || compareText(a.namespace, b.namespace)
  );
  for (const { namespace, size } of ranked) {
    if (fullOf(total, scale.limits) === null) break;
    const kept = scale.sizeOf(published.get(namespace) ?? NO_PARTS);
    if (RESOURCES.every((each) => size[each] <= kept[each])) continue;
    crowded.add(namespace);
    total = plus(plus(total, size, -1), kept, 1);
  }
  return { crowded, resource };
}

const CONSEQUENCE = "and the largest namespaces add nothing to that, so";

function reportFull(
  published: Source,
  resource: Resource,
  bounds: ClusterBounds,
  report: Report,
): void {
  const [what, remedy] = describeFull(resource, bounds);
  report.error("spec", {
    reason: "ClusterLimitExceeded",
    message: `with it the configuration would take more than ${what}, ${CONSEQUENCE} ` +
      consequence(published),
    remedy,
  });
}

export function describeFull(
  resource: Resource,
  { memory }: ClusterBounds,
): readonly [what: string, remedy: string] {
  return resource === "memory"
    ? [
      `proxies with ${Math.floor((memory?.limit ?? 0) / MIB)} MiB of memory and ` +
      `${memory?.workers} workers hold`,
      "Remove routes, or raise the memory limit of the proxies (--proxy-pod-template)",
    ]
    : [
      `${HOLDERS[resource]} hold`,
      "Remove routes or certificates, or run another controller with an IngressClass of its own",
    ];
}

const HOLDERS: Readonly<Record<Exclude<Resource, "memory">, string>> = {
  published: "the ConfigMaps that proxies start from",
  keys: "the Secrets with private keys",
  line: "the stream to proxies",
};
