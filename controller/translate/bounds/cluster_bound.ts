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
import type { IngressModel } from "../ingress/ingress.ts";
import type { IngressList } from "../ingress/ingress_list.ts";
import { differenceOf, isSameList, LastResult, oncePerObject } from "../../base/memo.ts";
import { applyBounds, demandOf, type NamespaceBounds } from "./namespace_bounds.ts";
import type { Report } from "../../base/problems.ts";
import { compareText } from "../../base/text_order.ts";

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

/** What one namespace, or all of them, have served. */
interface Parts {
  readonly routes: number;
  readonly hosts: number;
  /** Of hosts and paths; each route has its host once more. */
  readonly bytes: number;
  readonly upstreams: number;
  readonly certificates: number;
}

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
  readonly list: IngressList;
  readonly published: Snapshot | null;
  readonly bounds: ClusterBounds;
  readonly pair: PairSize;
}

const known = new LastResult<Inputs, IngressList>();

/**
 * The very same list where all of it fits.
 *
 * @param secrets Of which certificates are made; their sizes count.
 */
export function withinCluster(
  list: IngressList,
  secrets: readonly KubeSecret[],
  published: Snapshot | null,
  bounds: ClusterBounds,
): IngressList {
  const before = known.last;
  const pair = pairOf(secrets);
  const recalled = known.recall((inputs) =>
    inputs.list === list && inputs.published === published && inputs.bounds === bounds &&
    inputs.pair.chain === pair.chain && inputs.pair.key === pair.key
  );
  if (recalled !== null) return recalled;
  const wanted = wantedOf(list.ingresses).parts;
  const scale = new Scale(published, pair, bounds);
  const { crowded, resource } = crowdedNamespaces(wanted, published, scale);
  const next = crowded.size === 0
    ? list
    : applyBounds(list, published, NOTHING_MORE, crowded, (model, report) =>
      reportFull(model, resource, bounds, report));
  // Each publication would otherwise be another list, and all routes be laid anew.
  const isSame = before !== null && before.inputs.list === list &&
    isSameList(before.result.ingresses, next.ingresses) &&
    before.result.problems.length === next.problems.length;
  return known.keep({ list, published, bounds, pair }, isSame ? before.result : next);
}

/**
 * How many endpoints all namespaces may have beside what these Ingresses take, so that all of it fits.
 * `ingresses` are those within the bound.
 */
export function endpointRoom(
  ingresses: readonly IngressModel[],
  secrets: readonly KubeSecret[],
  published: Snapshot | null,
  bounds: ClusterBounds,
): number {
  const scale = new Scale(published, pairOf(secrets), bounds);
  let taken = NO_SIZE;
  for (const parts of wantedOf(ingresses).parts.values()) {
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
const pairOf = oncePerObject((list): PairSize => {
  const pairs = (list as readonly KubeSecret[]).flatMap(({ data }) => {
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
});

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
  format: 1,
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

/** Counts what has a name once. */
class Tally {
  routes = 0;
  bytes = 0;
  readonly #hosts = new Set<string>();
  readonly #upstreams = new Set<string>();
  readonly #secrets = new Set<string>();

  add(
    what: {
      readonly hosts?: Iterable<string>;
      readonly upstreams?: Iterable<string>;
      readonly secrets?: Iterable<string>;
    },
  ): void {
    for (const host of what.hosts ?? []) this.#hosts.add(host);
    for (const upstream of what.upstreams ?? []) this.#upstreams.add(upstream);
    for (const secret of what.secrets ?? []) this.#secrets.add(secret);
  }

  /** Ids. */
  get upstreams(): ReadonlySet<string> {
    return this.#upstreams;
  }

  get parts(): Parts {
    const { routes, bytes } = this;
    return {
      routes,
      bytes,
      hosts: this.#hosts.size,
      upstreams: this.#upstreams.size,
      certificates: this.#secrets.size,
    };
  }
}

class Tallies {
  readonly #byNamespace = new Map<string, Tally>();

  of(namespace: string): Tally {
    let tally = this.#byNamespace.get(namespace);
    if (tally === undefined) this.#byNamespace.set(namespace, tally = new Tally());
    return tally;
  }

  [Symbol.iterator](): Iterator<[namespace: string, tally: Tally]> {
    return this.#byNamespace[Symbol.iterator]();
  }

  get parts(): Map<string, Parts> {
    return new Map(Array.from(this.#byNamespace, ([namespace, { parts }]) => [namespace, parts]));
  }
}

let lastWanted: {
  readonly ingresses: readonly IngressModel[];
  readonly parts: ReadonlyMap<string, Parts>;
  readonly upstreams: ReadonlyMap<string, ReadonlySet<string>>;
} = { ingresses: [], parts: new Map(), upstreams: new Map() };

/** Counts the Ingresses of those namespaces again of which one has changed. */
function wantedOf(ingresses: readonly IngressModel[]): typeof lastWanted {
  const { removed, added } = differenceOf(lastWanted.ingresses, ingresses);
  if (removed.length === 0 && added.length === 0) return lastWanted;
  const changed = new Set([...removed, ...added].map(({ identity }) => identity.ref.namespace));
  const tallies = new Tallies();
  for (const ingress of ingresses) {
    const { namespace } = ingress.identity.ref;
    if (!changed.has(namespace)) continue;
    const tally = tallies.of(namespace);
    const { routes, bytes, secrets, upstreams, hosts } = demandOf(ingress);
    tally.routes += routes.size;
    tally.bytes += bytes;
    tally.add({ hosts, upstreams, secrets });
  }
  const parts = new Map(lastWanted.parts);
  const upstreams = new Map(lastWanted.upstreams);
  for (const namespace of changed) {
    parts.delete(namespace);
    upstreams.delete(namespace);
  }
  for (const [namespace, tally] of tallies) {
    parts.set(namespace, tally.parts);
    upstreams.set(namespace, tally.upstreams);
  }
  return lastWanted = { ingresses, parts, upstreams };
}

/** Ids of the upstreams that the rules of a namespace name. */
export function upstreamsByNamespace(
  ingresses: readonly IngressModel[],
): ReadonlyMap<string, ReadonlySet<string>> {
  return wantedOf(ingresses).upstreams;
}

function publishedParts(published: Snapshot | null): Map<string, Parts> {
  const tallies = new Tallies();
  for (const { host, path, action, origin } of published?.routes ?? []) {
    if (origin.kind !== "Ingress") continue;
    const tally = tallies.of(origin.namespace);
    tally.routes++;
    tally.bytes += host.length + path.value.length;
    tally.add({ hosts: [host], upstreams: action.kind === "forward" ? [action.upstream] : [] });
  }
  for (const { origin: { kind, namespace, name }, hosts } of published?.certificates ?? []) {
    if (kind === "Secret" && hosts.length > 0) tallies.of(namespace).add({ secrets: [name] });
  }
  return tallies.parts;
}

const CONSEQUENCE = "and the largest namespaces add nothing to that, so";

function reportFull(
  published: IngressModel,
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
    reason: "ClusterFull",
    message: `with it the configuration would take more than ${what}, ${CONSEQUENCE} ` +
      (published.rules.length > 0 ? "what was published of it stays" : "it is not served"),
    remedy,
  });
}

const HOLDERS: Readonly<Record<Exclude<Resource, "memory">, string>> = {
  published: "the ConfigMaps that proxies start from",
  keys: "the Secrets with private keys",
  line: "the stream to proxies",
};
