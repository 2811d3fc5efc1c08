/**
 * What all namespaces together may have served. In: Ingresses within the bounds of their namespaces,
 * what was published, and the memory of proxies. Out: the Ingresses that fit proxies, what is
 * published and the stream: over that, the largest namespaces may add nothing, until the rest fits.
 *
 * What was published stays. Sizes are estimates from numbers of parts, the same ones for what is asked
 * for as for what was published, so that every replica comes to the same. Endpoints count as they were
 * published, up to their share: they are no addition of an Ingress, and never wait for this. What
 * Ingresses leave is theirs, and their share at least.
 */
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import {
  memoryOf,
  type ProxyMemory,
  PUBLISHED_SHARE,
  snapshotBudget,
  weightOf,
} from "../../../shared/snapshot/memory.ts";
import { fieldOf } from "../../base/json.ts";
import type { KubeSecret } from "../../kube/resources.ts";
import { isSameList, LastResult, ObjectCache } from "../../base/memo.ts";
import type { Demands } from "./demand.ts";
import { consequence, type NamespaceAdmission, type NamespaceBounds } from "./namespace_bounds.ts";
import { type Parts, PartsCounter, publishedParts } from "./namespace_parts.ts";
import type { Report } from "../../base/problems.ts";
import { compareText } from "../../base/text_order.ts";
import type { Source, SourceList } from "../model/source.ts";

export interface ClusterBounds {
  /** Of each proxy; null where they have no limit that is known. */
  readonly memory: ProxyMemory | null;
  /** Of all ConfigMaps with the snapshot, compressed. */
  readonly publishedBytes: number;
  /** Of all Secrets with keys. */
  readonly keyBytes: number;
  /** Of a line of the stream with a whole snapshot. */
  readonly lineBytes: number;
}

const MIB = 1024 * 1024;

/** Each is some 15 % below what it stands for, since these are estimates. */
export const DEFAULT_CLUSTER_BOUNDS: ClusterBounds = {
  memory: null,
  // Seven ConfigMaps of 900 KiB.
  publishedBytes: 5.2 * MIB,
  // Sixteen Secrets of 960 KiB, among which keys are spread by chance.
  keyBytes: 11 * MIB,
  lineBytes: 54 * MIB,
};

type Resource = keyof Size;

/** Bytes, by what they are taken of. */
interface Size {
  readonly memory: number;
  readonly published: number;
  readonly keys: number;
  readonly line: number;
}

const RESOURCES: readonly Resource[] = ["memory", "published", "keys", "line"];

/** Characters of a route beside its host and path: names of its origin and upstream, field, type. */
const ROUTE_CHARACTERS = 110;

/** Characters of a certificate. */
interface PairSize {
  readonly chain: number;
  readonly key: number;
}

/** Where no Secret is known: a leaf and an intermediate of RSA, and a key of 2,048 bits. */
const USUAL_PAIR: PairSize = { chain: 4_000, key: 1_700 };

/** Averages in characters are rounded up to this: one Secret more changes nothing then. */
const PAIR_STEP = 100;

/** Text for each character of base64. */
const DECODED = 3 / 4;

/** Of a key in a Secret of ours, its name. */
const KEY_NAME = 200;

/** Compressed: what is alike in all of them costs nearly nothing, and what is random three quarters. */
const PACKED = { route: 24, upstream: 40, endpoint: 10, certificate: 120, random: 0.77 };

/** Of each limit, what endpoints may take whatever Ingresses ask for; what they take above it yields. */
const ENDPOINT_SHARE = 3 / 8;

/** Of each limit: or one route more would change the backends of all namespaces that are over it. */
const ENDPOINT_STEP = 1 / 16;

/** Characters of an endpoint: an IPv6 address, or one of IPv4 with its zone and a hint. */
const ENDPOINT_CHARACTERS = 40;

/** JSON of the stream. */
const LINE = { route: 220, upstream: 120, endpoint: 60, certificate: 400 };

interface Inputs {
  readonly list: SourceList;
  readonly published: Snapshot | null;
  readonly bounds: ClusterBounds;
  readonly pair: PairSize;
}

export class ClusterAdmission {
  readonly #namespaces: NamespaceAdmission;
  readonly #counter: PartsCounter;
  readonly #pairs = new ObjectCache(averagePair);
  readonly #memory = new LastResult<Inputs, SourceList>();

  constructor(namespaces: NamespaceAdmission, demands: Demands) {
    this.#namespaces = namespaces;
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
  ): SourceList {
    const before = this.#memory.last;
    const pair = this.#pairs.of(secrets);
    const recalled = this.#memory.recall((inputs) =>
      inputs.list === list && inputs.published === published && inputs.bounds === bounds &&
      inputs.pair.chain === pair.chain && inputs.pair.key === pair.key
    );
    if (recalled !== null) return recalled;
    const wanted = this.#counter.count(list.ingresses).parts;
    const scale = new Scale(published, pair, bounds);
    const { crowded, resource } = crowdedNamespaces(wanted, published, scale);
    const next = crowded.size === 0
      ? list
      : this.#namespaces.apply(list, published, NOTHING_MORE, crowded, (model, report) =>
        reportFull(model, resource, bounds, report));
    // Each publication would otherwise be another list, and all routes be built anew.
    const isSame = before !== null && before.inputs.list === list &&
      isSameList(before.result.ingresses, next.ingresses) &&
      before.result.problems.length === next.problems.length;
    return this.#memory.keep({ list, published, bounds, pair }, isSame ? before.result : next);
  }

  /**
   * How many endpoints all namespaces may have beside what these Ingresses take, so that all of it
   * fits. `ingresses` are those within the bound.
   */
  endpointRoom(
    ingresses: readonly Source[],
    secrets: readonly KubeSecret[],
    published: Snapshot | null,
    bounds: ClusterBounds,
  ): number {
    const scale = new Scale(published, this.#pairs.of(secrets), bounds);
    let taken = NO_SIZE;
    for (const parts of this.#counter.count(ingresses).parts.values()) {
      taken = plus(taken, scale.sizeOf(parts), 1);
    }
    const each = scale.endpoint;
    const room = RESOURCES.filter((resource) => each[resource] > 0).map((resource) => {
      const limit = scale.limits[resource];
      const steps = Math.floor((1 - taken[resource] / limit) / ENDPOINT_STEP);
      return limit * Math.max(ENDPOINT_SHARE, steps * ENDPOINT_STEP) / each[resource];
    });
    return Math.floor(Math.min(...room));
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

const NOTHING_MORE: NamespaceBounds = { routes: 0, hostBytes: 0, certificates: 0 };

/** Sizes by what was published, and what there is room for. */
class Scale {
  readonly limits: Size;
  readonly #pair: PairSize;
  readonly #workers: number;
  /** What does not depend on Ingresses, up to the share of it. */
  readonly endpoints: Size;
  /** One of them. */
  readonly endpoint: Size;

  constructor(
    published: Snapshot | null,
    pair: PairSize,
    { memory, publishedBytes, keyBytes, lineBytes }: ClusterBounds,
  ) {
    this.#pair = pair;
    this.#workers = memory?.workers ?? 1;
    this.limits = {
      memory: memory === null ? Infinity : snapshotBudget(memory, PUBLISHED_SHARE),
      published: publishedBytes,
      keys: keyBytes,
      line: lineBytes,
    };
    const { endpoints, characters } = weightOf({ ...EMPTY, upstreams: published?.upstreams ?? [] });
    this.endpoint = this.#sizeOfEndpoints(1, ENDPOINT_CHARACTERS);
    const all = this.#sizeOfEndpoints(endpoints, characters);
    const share = (resource: Resource) =>
      Math.min(all[resource], this.limits[resource] * ENDPOINT_SHARE);
    this.endpoints = {
      memory: share("memory"),
      published: share("published"),
      keys: 0,
      line: share("line"),
    };
  }

  sizeOf({ routes, hosts, bytes, upstreams, certificates }: Parts): Size {
    const chains = certificates * this.#pair.chain;
    const keys = certificates * this.#pair.key;
    // Host and path stand in the id too.
    const text = 2 * bytes + routes * ROUTE_CHARACTERS;
    const characters = text + chains + keys + upstreams * 40;
    return {
      memory: memoryOf(
        { routes, hosts, upstreams, endpoints: 0, certificates, characters },
        this.#workers,
      ),
      published: routes * PACKED.route + upstreams * PACKED.upstream +
        certificates * PACKED.certificate + (bytes + chains) * PACKED.random,
      keys: keys + certificates * KEY_NAME,
      line: text + routes * LINE.route + upstreams * LINE.upstream +
        certificates * (LINE.certificate + KEY_NAME) + chains + keys,
    };
  }

  #sizeOfEndpoints(endpoints: number, characters: number): Size {
    const weight = { ...NO_PARTS, endpoints, characters };
    return {
      memory: memoryOf(weight, this.#workers),
      published: endpoints * PACKED.endpoint,
      keys: 0,
      line: endpoints * LINE.endpoint,
    };
  }
}

/** Characters of a certificate of these, on average. */
function averagePair(list: readonly KubeSecret[]): PairSize {
  const pairs = list.flatMap((secret) => {
    const data = fieldOf(secret, "data");
    const [chain, key] = [fieldOf(data, "tls.crt"), fieldOf(data, "tls.key")];
    return typeof chain === "string" && typeof key === "string"
      ? { chain: chain.length, key: key.length }
      : [];
  });
  if (pairs.length === 0) return USUAL_PAIR;
  const average = (field: keyof PairSize) =>
    Math.ceil(
      pairs.reduce((sum, pair) => sum + pair[field], 0) / pairs.length * DECODED / PAIR_STEP,
    ) * PAIR_STEP;
  return { chain: average("chain"), key: average("key") };
}

const NO_SIZE: Size = { memory: 0, published: 0, keys: 0, line: 0 };

const NO_PARTS = {
  routes: 0,
  hosts: 0,
  bytes: 0,
  upstreams: 0,
  endpoints: 0,
  certificates: 0,
  characters: 0,
};

const EMPTY: Snapshot = {
  format: 2,
  version: { epoch: "", seen: {} },
  routes: [],
  defaultAction: null,
  upstreams: [],
  certificates: [],
  defaultCertificate: null,
};

interface Crowded {
  /** Namespaces that may add nothing. */
  readonly crowded: ReadonlySet<string>;
  /** What there is not enough of. */
  readonly resource: Resource;
}

function crowdedNamespaces(
  wanted: ReadonlyMap<string, Parts>,
  published: Snapshot | null,
  scale: Scale,
): Crowded {
  let total = scale.endpoints;
  const sizes = Array.from(wanted, ([namespace, parts]) => {
    const size = scale.sizeOf(parts);
    total = plus(total, size, 1);
    return { namespace, size };
  });
  const resource = fullOf(total, scale.limits);
  const crowded = new Set<string>();
  if (resource === null) return { crowded, resource: "memory" };
  const before = publishedParts(published);
  sizes.sort((a, b) =>
    b.size[resource] - a.size[resource] || compareText(a.namespace, b.namespace)
  );
  for (const { namespace, size } of sizes) {
    if (fullOf(total, scale.limits) === null) break;
    const kept = scale.sizeOf(before.get(namespace) ?? NO_PARTS);
    if (RESOURCES.every((each) => size[each] <= kept[each])) continue;
    crowded.add(namespace);
    total = plus(plus(total, size, -1), kept, 1);
  }
  return { crowded, resource };
}

function fullOf(size: Size, limits: Size): Resource | null {
  return RESOURCES.find((each) => size[each] > limits[each]) ?? null;
}

function plus(a: Size, b: Size, sign: 1 | -1): Size {
  return {
    memory: a.memory + sign * b.memory,
    published: a.published + sign * b.published,
    keys: a.keys + sign * b.keys,
    line: a.line + sign * b.line,
  };
}

const CONSEQUENCE = "and the largest namespaces add nothing to that, so";

function reportFull(
  published: Source,
  resource: Resource,
  { memory }: ClusterBounds,
  report: Report,
): void {
  const [what, remedy] = resource === "memory"
    ? [
      `proxies with ${Math.floor((memory?.limit ?? 0) / MIB)} MiB of memory and ` +
      `${memory?.workers} workers hold`,
      "Raise the memory limit of the proxies (--proxy-pod-template), or remove routes",
    ]
    : [
      `${HOLDERS[resource]} hold`,
      "Remove routes or TLS entries, or run another controller with an IngressClass of its own",
    ];
  report.error("spec", {
    reason: "ClusterLimitExceeded",
    message: `with it the configuration would take more than ${what}, ${CONSEQUENCE} ` +
      consequence(published),
    remedy,
  });
}

const HOLDERS: Readonly<Record<Exclude<Resource, "memory">, string>> = {
  published: "the ConfigMaps that proxies start from",
  keys: "the Secrets with private keys",
  line: "the stream to proxies",
};
