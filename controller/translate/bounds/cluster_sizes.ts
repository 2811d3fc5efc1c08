/**
 * Sizes of what is published, in each thing that has a limit. In: numbers of parts, what was published, and the
 * limits. Out: estimates in bytes, the same ones for what is asked for as for what was published.
 */
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import {
  memoryOf,
  type ProxyMemory,
  PUBLISHED_SHARE,
  snapshotBudget,
  weightOf,
} from "../../../shared/snapshot/memory.ts";
import type { Parts } from "./namespace_parts.ts";
import {
  type EndpointsSize,
  PublishedEndpoints,
  RANDOM,
  USUAL_ENDPOINT,
} from "../model/endpoint_sizes.ts";
import { upstreamTlsParts } from "./upstream_tls_sizes.ts";

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

export const MIB = 1024 * 1024;

/** Each is some 15 % below what it stands for, since these are estimates. */
export const DEFAULT_CLUSTER_BOUNDS: ClusterBounds = {
  memory: null,
  // Seven ConfigMaps of 900 KiB.
  publishedBytes: 5.2 * MIB,
  // Sixteen Secrets of 960 KiB, without files of passwords and what renewals add.
  keyBytes: 11 * MIB,
  lineBytes: 54 * MIB,
};

export type Resource = keyof Size;

/** Bytes, by what they are taken of. */
export interface Size {
  readonly memory: number;
  readonly published: number;
  readonly keys: number;
  readonly line: number;
}

export const RESOURCES: readonly Resource[] = ["memory", "published", "keys", "line"];

/** Characters of a route beside its host and path: names of its origin and upstream, field, type. */
const ROUTE_CHARACTERS = 110;

/** Of a key in a Secret of ours, its name. */
const KEY_NAME = 200;

/**
 * What a key counts at least: so many that they fill the Secrets are still listed in the first ConfigMap, with 67 bytes
 * of its 960 KiB each.
 */
const INDEXED_KEY = 900;

/** Compressed: what is alike in all of them costs nearly nothing, base64 three quarters, and what is random four fifths. */
export const PACKED = { route: 24, upstream: 40, certificate: 120, chain: 0.77, random: RANDOM };

/** Of each limit, what endpoints may take whatever Ingresses ask for; what they take above it yields. */
export const ENDPOINT_SHARE = 3 / 8;

/** JSON of the stream. */
const LINE = { route: 220, upstream: 120, certificate: 400 };

/** Sizes by what was published, and what there is room for. */
export class Scale {
  readonly limits: Size;
  readonly #workers: number;
  /** What does not depend on Ingresses, up to the share of it. */
  readonly endpoints: Size;
  /** An ordinary one. */
  readonly endpoint: Size;
  /** Of authorities and certificates of TLS to backends. */
  readonly tls: Size;

  constructor(
    published: Snapshot | null,
    { memory, publishedBytes, keyBytes, lineBytes }: ClusterBounds,
    endpoints = new PublishedEndpoints(),
  ) {
    this.#workers = memory?.workers ?? 1;
    this.limits = {
      memory: memory === null ? Infinity : snapshotBudget(memory, PUBLISHED_SHARE),
      published: publishedBytes,
      keys: keyBytes,
      line: lineBytes,
    };
    const ofTls = upstreamTlsParts(published ?? EMPTY_SNAPSHOT);
    const weight = weightOf({
      ...EMPTY_SNAPSHOT,
      upstreams: published?.upstreams ?? [],
    });
    const characters = ofTls.values().reduce((sum, { text }) => sum - text, weight.characters);
    this.tls = this.totalOf(ofTls);
    this.endpoint = this.#sizeOfEndpoints(1, USUAL_ENDPOINT);
    const all = this.#sizeOfEndpoints(weight.endpoints, {
      ...(published === null ? NO_ENDPOINTS : endpoints.of(published.upstreams)),
      characters,
    });
    const share = (resource: Resource) =>
      Math.min(all[resource], this.limits[resource] * ENDPOINT_SHARE);
    this.endpoints = {
      memory: share("memory"),
      published: share("published"),
      keys: 0,
      line: share("line"),
    };
  }

  sizeOf(parts: Parts): Size {
    const { routes, hosts, bytes, text, random, alike, compiled } = parts;
    const { upstreams, certificates, chains, keys } = parts;
    // Host and path stand in the id too.
    const all = 2 * bytes + text + routes * ROUTE_CHARACTERS;
    const characters = all + compiled + chains + keys + upstreams * 40;
    return {
      memory: memoryOf(
        { routes, hosts, upstreams, endpoints: 0, certificates, characters },
        this.#workers,
      ),
      published: routes * PACKED.route + upstreams * PACKED.upstream +
        certificates * PACKED.certificate + chains * PACKED.chain +
        (bytes - alike + random) * PACKED.random,
      keys: Math.max(keys + certificates * KEY_NAME, certificates * INDEXED_KEY),
      line: all + routes * LINE.route + upstreams * LINE.upstream +
        certificates * (LINE.certificate + KEY_NAME) + chains + keys,
    };
  }

  totalOf(parts: ReadonlyMap<string, Parts>): Size {
    let total = NO_SIZE;
    for (const each of parts.values()) total = plus(total, this.sizeOf(each), 1);
    return total;
  }

  /** @param texts Of all of them together. */
  #sizeOfEndpoints(
    endpoints: number,
    { characters, packed, line }: EndpointsSize & { readonly characters: number },
  ): Size {
    const weight = { ...NO_PARTS, endpoints, characters };
    return { memory: memoryOf(weight, this.#workers), published: packed, keys: 0, line };
  }
}

const NO_ENDPOINTS: EndpointsSize = { packed: 0, line: 0 };

export const NO_SIZE: Size = { memory: 0, published: 0, keys: 0, line: 0 };

export const NO_PARTS = {
  routes: 0,
  hosts: 0,
  bytes: 0,
  text: 0,
  random: 0,
  alike: 0,
  compiled: 0,
  upstreams: 0,
  endpoints: 0,
  certificates: 0,
  chains: 0,
  keys: 0,
  characters: 0,
};

/** Without anything that counts. */
export const EMPTY_SNAPSHOT: Snapshot = {
  format: 2,
  version: { epoch: "", seen: {} },
  routes: [],
  defaultAction: null,
  upstreams: [],
  certificates: [],
  defaultCertificate: null,
};

export function fullOf(size: Size, limits: Size): Resource | null {
  return RESOURCES.find((each) => size[each] > limits[each]) ?? null;
}

export function plus(a: Size, b: Size, sign: 1 | -1): Size {
  return {
    memory: a.memory + sign * b.memory,
    published: a.published + sign * b.published,
    keys: a.keys + sign * b.keys,
    line: a.line + sign * b.line,
  };
}
