/**
 * What each namespace has served, in numbers. In: Ingresses, or what was published of them. Out:
 * the routes, hosts, upstreams and certificates of each namespace; only those namespaces are counted anew
 * of which an Ingress has changed. `gateway_tally.ts` counts Gateways.
 */
import type { ObjectRef } from "../../../shared/problem.ts";
import { upstreamsOf } from "../../../shared/snapshot/forward_action.ts";
import type { Certificate, Listener, Snapshot } from "../../../shared/snapshot/types.ts";
import type { Demand, Demands } from "./demand.ts";
import { keyOf } from "../../base/identity.ts";
import { differenceOf, LastResult } from "../../base/memo.ts";
import { MAX_CLOSED_REASON } from "../model/closed_reason.ts";
import type { Source } from "../model/source.ts";
import { alikeOf } from "./setting_sizes.ts";
import {
  assignedSize,
  certificateSize,
  pairSizeOf,
  type PairSizes,
  PairTally,
} from "./pair_sizes.ts";
import { RouteTally } from "./route_sizes.ts";

/** What one namespace, or all of them, have served. */
export interface Parts {
  readonly routes: number;
  readonly hosts: number;
  /** Of hosts and paths, each route with its host, and of settings of routes, each once. */
  readonly bytes: number;
  /**
   * Bytes of JSON that stand once, beside the usual ones of a route: long names of objects; of HTTPRoutes also
   * matches, backends and listeners.
   */
  readonly text: number;
  /** Of these, those that compression cannot leave out. */
  readonly random: number;
  /** Of `bytes`, those of settings that compression leaves out. */
  readonly alike: number;
  /**
   * Characters that compiled conditions and regular expressions take in memory beside their text, and routes on each
   * further listener.
   */
  readonly compiled: number;
  readonly upstreams: number;
  readonly certificates: number;
  /** Characters of their chains, with the hosts that they are given. */
  readonly chains: number;
  /** Characters of their keys. */
  readonly keys: number;
}

/** By namespace. */
export interface NamespaceParts {
  /** Without sizes of certificates. */
  readonly parts: ReadonlyMap<string, Parts>;
  /**
   * By name of each Secret that TLS entries name, characters of the hosts that its certificate is given; null for the
   * names in it.
   */
  readonly secrets: ReadonlyMap<string, ReadonlyMap<string, number | null>>;
  /** Ids of the upstreams that the rules name. */
  readonly upstreams: ReadonlyMap<string, ReadonlySet<string>>;
}

export class PartsCounter {
  readonly #demands: Demands;
  #ingresses: readonly Source[] = [];
  readonly #byNamespace = new Map<string, Set<Source>>();
  #counted: NamespaceParts = { parts: new Map(), secrets: new Map(), upstreams: new Map() };
  readonly #sized = new LastResult<SizedInputs, ReadonlyMap<string, Parts>>();

  constructor(demands: Demands) {
    this.#demands = demands;
  }

  /** With sizes of certificates; the very same as before where the Ingresses and the sizes are. */
  sized(ingresses: readonly Source[], sizes: PairSizes): ReadonlyMap<string, Parts> {
    const { parts, secrets } = this.count(ingresses);
    return this.#sized.recall((last) => last.parts === parts && last.sizes === sizes) ??
      this.#sized.keep({ parts, sizes }, withSizes(parts, secrets, sizes));
  }

  /** The very same as before where the Ingresses are. */
  count(ingresses: readonly Source[]): NamespaceParts {
    const { removed, added } = differenceOf(this.#ingresses, ingresses);
    if (removed.length === 0 && added.length === 0) return this.#counted;
    const changed = this.#regroup(removed, added);
    const tallies = new Tallies();
    for (const namespace of changed) {
      const own = this.#byNamespace.get(namespace) ?? NO_SOURCES;
      const closed = closedHosts(own);
      for (const ingress of own) {
        const tally = tallies.of(namespace);
        const demand = this.#demands.of(ingress);
        const { routes, bytes, secrets, upstreams, hosts, texts, secured } = demand;
        tally.routes += routes.size;
        tally.bytes += bytes;
        tally.text += routes.size * nameBytes(ingress.identity.ref);
        tally.texts.addAll(texts);
        // Another Ingress of the namespace may close them.
        if (!closed.isDisjointFrom(hosts)) tally.texts.actions += texts.routes * MAX_CLOSED_REASON;
        tally.secure(secured);
        tally.add({ hosts, upstreams, secrets, settings: sizesOf(demand) });
      }
    }
    const parts = new Map(this.#counted.parts);
    const secrets = new Map(this.#counted.secrets);
    const upstreams = new Map(this.#counted.upstreams);
    for (const namespace of changed) {
      parts.delete(namespace);
      secrets.delete(namespace);
      upstreams.delete(namespace);
    }
    for (const [namespace, tally] of tallies) {
      parts.set(namespace, tally.parts);
      secrets.set(namespace, tally.secured);
      upstreams.set(namespace, tally.upstreams);
    }
    this.#ingresses = ingresses;
    return this.#counted = { parts, secrets, upstreams };
  }

  /** The namespaces that are concerned. */
  #regroup(removed: readonly Source[], added: readonly Source[]): ReadonlySet<string> {
    const changed = new Set<string>();
    for (const ingress of removed) {
      const { namespace } = ingress.identity.ref;
      changed.add(namespace);
      const own = this.#byNamespace.get(namespace);
      own?.delete(ingress);
      if (own?.size === 0) this.#byNamespace.delete(namespace);
    }
    for (const ingress of added) {
      const { namespace } = ingress.identity.ref;
      changed.add(namespace);
      const own = this.#byNamespace.get(namespace);
      if (own === undefined) this.#byNamespace.set(namespace, new Set([ingress]));
      else own.add(ingress);
    }
    return changed;
  }
}

const NO_SOURCES: ReadonlySet<Source> = new Set();

/** Hosts that annotations close as a whole, unless they are accepted. */
function closedHosts(sources: Iterable<Source>): ReadonlySet<string> {
  const hosts = new Set<string>();
  for (const { refusals, rules, closesHosts } of sources) {
    if (!refusals.some(({ isHostWide }) => isHostWide)) continue;
    for (const { host } of rules) if (host !== null) hosts.add(host);
    for (const host of closesHosts) hosts.add(host);
  }
  return hosts;
}

interface SizedInputs {
  readonly parts: ReadonlyMap<string, Parts>;
  readonly sizes: PairSizes;
}

/** Of a chain, what its names take as hosts, at most: each stands twice there, and as base64 in the chain. */
const NAMES = 1.5;

function withSizes(
  parts: ReadonlyMap<string, Parts>,
  secrets: NamespaceParts["secrets"],
  sizes: PairSizes,
): ReadonlyMap<string, Parts> {
  return new Map(Array.from(parts, ([namespace, each]) => {
    const pairs = new PairTally();
    for (const [name, hosts] of secrets.get(namespace) ?? []) {
      const secret = keyOf({ namespace, name });
      const { chain, key } = pairSizeOf(sizes, secret);
      pairs.add(secret, { chain: chain + (hosts ?? chain * NAMES), key });
    }
    return [namespace, { ...each, chains: pairs.chains, keys: pairs.keys }];
  }));
}

/** Of Ingresses, by namespace. */
export function publishedParts(published: Snapshot | null): Map<string, Parts> {
  const tallies = new Tallies();
  const sizesOf = settingsSizes(published);
  for (const route of published?.routes ?? []) {
    const { host, match: { path }, action, origin, filterSet, policy } = route;
    if (origin.kind !== "Ingress") continue;
    const tally = tallies.of(origin.namespace);
    tally.routes++;
    tally.bytes += host.length + (path.written ?? path.value).length;
    tally.text += nameBytes(origin);
    const settings = sizesOf([filterSet, policy]);
    tally.texts.add(
      host,
      path.written ?? path.value,
      action.kind === "forward" ? upstreamsOf(action).join().length : action.reason.length,
    );
    tally.add({ hosts: [host], upstreams: upstreamsOf(action), settings });
  }
  const shown = new Set((published?.listeners ?? []).flatMap((each) => each.certificates ?? []));
  for (const certificate of published?.certificates ?? []) {
    const { origin: { kind, namespace, name } } = certificate;
    if (kind !== "Secret" || !hasHostsOfIngresses(certificate, shown)) continue;
    const tally = tallies.of(namespace);
    tally.add({ secrets: [name] });
    tally.pairs.add(name, certificateSize(certificate));
  }
  return tallies.parts;
}

/** @param shown Ids of certificates that listeners of Gateways show. */
function hasHostsOfIngresses(
  { id, hosts, plain = [] }: Certificate,
  shown: ReadonlySet<string>,
): boolean {
  // Hosts of Gateways are all plain, as none of them makes a host HTTPS only.
  return hosts.length > (shown.has(id) ? plain.length : 0);
}

/** By namespace of Gateways, the certificates that their listeners show. */
export function publishedOnListeners(
  published: Snapshot | null,
): ReadonlyMap<string, readonly Certificate[]> {
  const { listeners = [], certificates = [] } = published ?? {};
  const byId = new Map(certificates.map((certificate) => [certificate.id, certificate]));
  const shown = (listener: Listener) => listener.certificates ?? [];
  return new Map(
    Array.from(
      Map.groupBy(listeners, ({ origin }) => origin.namespace),
      ([namespace, own]) => [
        namespace,
        [...new Set(own.flatMap(shown))].flatMap((id) => byId.get(id) ?? []),
      ],
    ),
  );
}

function* sizesOf({ settings, alike }: Demand): Generator<SettingSize> {
  for (const [id, bytes] of settings) yield { id, bytes, alike: alike.get(id) ?? 0 };
}

/** Sizes of filter sets and policies, of those that are asked for. */
function settingsSizes(
  published: Snapshot | null,
): (ids: readonly (string | undefined)[]) => readonly SettingSize[] {
  const { filterSets = [], policies = [] } = published ?? {};
  const parts = new Map([...filterSets, ...policies].map((part) => [part.id, part]));
  const sizes = new Map<string, SettingSize>();
  return (ids) =>
    ids.flatMap((id) => {
      const part = id === undefined ? undefined : parts.get(id);
      if (part === undefined) return [];
      let size = sizes.get(part.id);
      if (size === undefined) {
        const bytes = JSON.stringify(part).length;
        sizes.set(part.id, size = { id: part.id, bytes, alike: alikeOf(part, bytes) });
      }
      return size;
    });
}

/** Of namespace and name of an Ingress that every route takes for granted: `ROUTE_CHARACTERS` has them. */
const USUAL_NAME = 50;

/** What the name of an Ingress adds to each of its routes, which name it as their origin. */
export function nameBytes({ namespace, name }: Pick<ObjectRef, "namespace" | "name">): number {
  return Math.max(0, namespace.length + name.length - USUAL_NAME);
}

/** Of a filter set or policy. */
interface SettingSize {
  readonly id: string;
  readonly bytes: number;
  /** Of these, what compression leaves out. */
  readonly alike: number;
}

/** Counts what has a name once. */
class Tally {
  routes = 0;
  bytes = 0;
  text = 0;
  alike = 0;
  readonly pairs = new PairTally();
  readonly texts = new RouteTally();
  /** Hosts that certificates are given, by Secret; null for the names in it. */
  readonly #secured = new Map<string, Set<string> | null>();
  readonly #hosts = new Set<string>();
  readonly #upstreams = new Set<string>();
  readonly #secrets = new Set<string>();
  readonly #settings = new Set<string>();

  add(
    what: {
      readonly hosts?: Iterable<string>;
      readonly upstreams?: Iterable<string>;
      readonly secrets?: Iterable<string>;
      readonly settings?: Iterable<SettingSize>;
    },
  ): void {
    for (const host of what.hosts ?? []) this.#hosts.add(host);
    for (const upstream of what.upstreams ?? []) this.#upstreams.add(upstream);
    for (const secret of what.secrets ?? []) this.#secrets.add(secret);
    for (const { id, bytes, alike } of what.settings ?? []) {
      if (this.#settings.has(id)) continue;
      this.#settings.add(id);
      this.bytes += bytes;
      this.alike += alike;
    }
  }

  /** @param hosts That the certificates of these Secrets are given. */
  secure(hosts: Demand["secured"]): void {
    for (const [secret, own] of hosts) {
      const known = this.#secured.get(secret);
      if (known === null || own === null) this.#secured.set(secret, null);
      else if (known === undefined) this.#secured.set(secret, new Set(own));
      else for (const host of own) known.add(host);
    }
  }

  /** Characters that the hosts of each Secret's certificate take; null for the names in it. */
  get secured(): ReadonlyMap<string, number | null> {
    return new Map(Array.from(this.#secured, ([secret, hosts]) => {
      if (hosts === null) return [secret, null];
      let size = 0;
      for (const host of hosts) size += assignedSize(host);
      return [secret, size];
    }));
  }

  /** Ids. */
  get upstreams(): ReadonlySet<string> {
    return this.#upstreams;
  }

  get secrets(): ReadonlySet<string> {
    return this.#secrets;
  }

  get parts(): Parts {
    const { routes, bytes, text, alike, pairs: { chains, keys } } = this;
    const ofRoutes = this.texts.sizes(this.#upstreams);
    return {
      ...{ routes, bytes, text: text + ofRoutes.text, random: text + ofRoutes.random },
      ...{ alike, compiled: 0 },
      hosts: this.#hosts.size,
      upstreams: this.#upstreams.size,
      certificates: this.#secrets.size,
      ...{ chains, keys },
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
