/**
 * Which Ingresses name each host. In: Ingresses that come and go. Out: all that share a host with one
 * another, directly or by others, from some hosts on: what becomes of their paths is decided together,
 * and does not depend on any other Ingress. And whether routes have a host, by any name.
 */
import { wildcardOver } from "../model/host.ts";
import type { Source } from "../model/source.ts";

/** Hosts, and every Ingress that names one of them; none of these names any other host. */
export interface HostGroup {
  readonly hosts: ReadonlySet<string>;
  readonly sources: ReadonlySet<Source>;
}

export class HostIndex {
  /** Most hosts are named by one alone: a set for each would cost more than the names do. */
  readonly #named = new Map<string, Source | Set<Source>>();

  constructor(sources: readonly Source[] = []) {
    for (const source of sources) this.add(source);
  }

  add(source: Source): void {
    for (const host of hostsOf(source)) {
      const named = this.#named.get(host);
      if (named === undefined) this.#named.set(host, source);
      else if (named instanceof Set) named.add(source);
      else if (named !== source) this.#named.set(host, new Set([named, source]));
    }
  }

  remove(source: Source): void {
    for (const host of hostsOf(source)) {
      const named = this.#named.get(host);
      if (named instanceof Set) {
        named.delete(source);
        if (named.size === 0) this.#named.delete(host);
      } else if (named === source) this.#named.delete(host);
    }
  }

  /** Whether routes have the host, by its own name or by the wildcard over it. */
  names(host: string): boolean {
    return this.isNamed(host) || this.isNamed(wildcardOver(host));
  }

  /** Whether some Ingress gives routes to a host pattern. */
  isNamed(host: string): boolean {
    const named = this.#named.get(host);
    if (named === undefined) return false;
    return named instanceof Set
      ? [...named].some((source) => hasName(source, host))
      : hasName(named, host);
  }

  /**
   * The group of `hosts`; null where it has more than `limit` Ingresses.
   *
   * @param sources Ingresses of the group that may name no host.
   */
  group(hosts: Iterable<string>, sources: Iterable<Source>, limit: number): HostGroup | null {
    const found = new Set(sources);
    const reached = new Set(hosts);
    for (const source of found) for (const host of hostsOf(source)) reached.add(host);
    // A set that grows while it is iterated over gives what was added, too.
    for (const host of reached) {
      const named = this.#named.get(host);
      if (named === undefined) continue;
      for (const source of named instanceof Set ? named : [named]) {
        if (found.has(source)) continue;
        if (found.size >= limit) return null;
        found.add(source);
        for (const other of hostsOf(source)) reached.add(other);
      }
    }
    return found.size > limit ? null : { hosts: reached, sources: found };
  }
}

/** Whether an Ingress that is in the index for a host gives it routes, and does not only close it. */
function hasName({ closesHosts, rules, otherNames }: Source, host: string): boolean {
  return closesHosts.length === 0 ||
    [...rules, ...otherNames].some((named) => named.host === host);
}

/** The hosts of the rules, their other names, and what else it closes; with repetitions. */
export function hostsOf({ rules, otherNames, closesHosts }: Source): string[] {
  const hosts = [...rules.flatMap(({ host }) => host ?? []), ...closesHosts];
  return otherNames.length === 0 ? hosts : [...hosts, ...otherNames.map(({ host }) => host)];
}
