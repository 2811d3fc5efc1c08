/**
 * What each namespace has served, in numbers. In: Ingresses, or what was published of them. Out: the
 * routes, hosts, upstreams and certificates of each namespace; only those namespaces are counted anew
 * of which an Ingress has changed.
 */
import { upstreamsOf } from "../../../shared/snapshot/forward_action.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import type { Demands } from "./demand.ts";
import { differenceOf } from "../../base/memo.ts";
import type { Source } from "../model/source.ts";

/** What one namespace, or all of them, have served. */
export interface Parts {
  readonly routes: number;
  readonly hosts: number;
  /** Of hosts and paths; each route has its host once more. */
  readonly bytes: number;
  readonly upstreams: number;
  readonly certificates: number;
}

/** By namespace. */
export interface NamespaceParts {
  readonly parts: ReadonlyMap<string, Parts>;
  /** Ids of the upstreams that the rules name. */
  readonly upstreams: ReadonlyMap<string, ReadonlySet<string>>;
}

export class PartsCounter {
  readonly #demands: Demands;
  #ingresses: readonly Source[] = [];
  #counted: NamespaceParts = { parts: new Map(), upstreams: new Map() };

  constructor(demands: Demands) {
    this.#demands = demands;
  }

  /** The very same as before where the Ingresses are. */
  count(ingresses: readonly Source[]): NamespaceParts {
    const { removed, added } = differenceOf(this.#ingresses, ingresses);
    if (removed.length === 0 && added.length === 0) return this.#counted;
    const changed = new Set([...removed, ...added].map(({ identity }) => identity.ref.namespace));
    const tallies = new Tallies();
    for (const ingress of ingresses) {
      const { namespace } = ingress.identity.ref;
      if (!changed.has(namespace)) continue;
      const tally = tallies.of(namespace);
      const { routes, bytes, secrets, upstreams, hosts } = this.#demands.of(ingress);
      tally.routes += routes.size;
      tally.bytes += bytes;
      tally.add({ hosts, upstreams, secrets });
    }
    const parts = new Map(this.#counted.parts);
    const upstreams = new Map(this.#counted.upstreams);
    for (const namespace of changed) {
      parts.delete(namespace);
      upstreams.delete(namespace);
    }
    for (const [namespace, tally] of tallies) {
      parts.set(namespace, tally.parts);
      upstreams.set(namespace, tally.upstreams);
    }
    this.#ingresses = ingresses;
    return this.#counted = { parts, upstreams };
  }
}

/** By namespace. */
export function publishedParts(published: Snapshot | null): Map<string, Parts> {
  const tallies = new Tallies();
  for (const { host, match: { path }, action, origin } of published?.routes ?? []) {
    if (origin.kind !== "Ingress") continue;
    const tally = tallies.of(origin.namespace);
    tally.routes++;
    tally.bytes += host.length + path.value.length;
    tally.add({ hosts: [host], upstreams: upstreamsOf(action) });
  }
  for (const { origin: { kind, namespace, name }, hosts } of published?.certificates ?? []) {
    if (kind === "Secret" && hosts.length > 0) tallies.of(namespace).add({ secrets: [name] });
  }
  return tallies.parts;
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
