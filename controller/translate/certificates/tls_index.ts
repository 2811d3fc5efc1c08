/**
 * Which TLS entries depend on one another. In: Ingresses that come and go. Out: all of which the TLS
 * entries must be added again together, from some Ingresses, Secrets and hosts on: those that share a
 * Secret or a host with one another, directly or by others. A renewed certificate, or a new Ingress,
 * then costs no look at all others.
 */
import type { Source } from "../model/source.ts";

/** More Ingresses than this are as quickly added together with all others. */
const MOST = 64;

/** Ingresses whose entries depend on one another; no other entry depends on these. */
export interface TlsGroup {
  readonly sources: ReadonlySet<Source>;
  /** `keyOf` each Secret that they name. */
  readonly secrets: ReadonlySet<string>;
}

export class TlsIndex {
  readonly #bySecret = new Map<string, Set<Source>>();
  /** By each host that an entry lists. */
  readonly #byHost = new Map<string, Set<Source>>();

  /** @param namesOf The hosts of entries that list none: those of their certificate. */
  constructor(sources: readonly Source[], namesOf: (secret: string) => readonly string[]) {
    for (const source of sources) {
      this.add(source);
      for (const { hosts, secret } of source.tls) {
        if (hosts !== null || secret === null) continue;
        for (const host of namesOf(secret.key)) addTo(this.#byHost, host, source);
      }
    }
  }

  /** Without the hosts of entries that list none. */
  add(source: Source): void {
    for (const { hosts, secret } of source.tls) {
      if (secret !== null) addTo(this.#bySecret, secret.key, source);
      for (const { host } of hosts ?? []) addTo(this.#byHost, host, source);
    }
  }

  remove(source: Source): void {
    for (const { hosts, secret } of source.tls) {
      if (secret !== null) removeFrom(this.#bySecret, secret.key, source);
      for (const { host } of hosts ?? []) removeFrom(this.#byHost, host, source);
    }
  }

  /** Whether an entry names the Secret. */
  hasSecret(key: string): boolean {
    return this.#bySecret.has(key);
  }

  /**
   * The group of some Ingresses, Secrets and hosts; null where a wildcard, or an entry that lists no
   * hosts, may concern others, or where there are many.
   *
   * @param gone Ingresses that were removed.
   */
  group(
    sources: Iterable<Source>,
    gone: Iterable<Source>,
    secrets: Iterable<string>,
    hosts: Iterable<string>,
  ): TlsGroup | null {
    const found = new Set(sources);
    const reachedSecrets = new Set(secrets);
    const reachedHosts = new Set(hosts);
    /** False where it lists no hosts. */
    const reach = ({ tls }: Source): boolean => {
      for (const { hosts, secret } of tls) {
        if (hosts === null) return false;
        if (secret !== null) reachedSecrets.add(secret.key);
        for (const { host } of hosts) reachedHosts.add(host);
      }
      return true;
    };
    for (const source of [...found, ...gone]) if (!reach(source)) return null;
    for (let size = -1; size !== found.size;) {
      size = found.size;
      const named = [
        ...[...reachedSecrets].map((secret) => this.#bySecret.get(secret)),
        ...[...reachedHosts].map((host) => this.#byHost.get(host)),
      ];
      for (const sources of named) {
        if (sources !== undefined && sources.size > MOST) return null;
        for (const source of sources ?? []) {
          if (found.has(source)) continue;
          found.add(source);
          if (found.size > MOST || !reach(source)) return null;
        }
      }
    }
    for (const host of reachedHosts) if (this.#isBelowWildcard(host)) return null;
    return { sources: found, secrets: reachedSecrets };
  }

  /** Or one itself. */
  #isBelowWildcard(host: string): boolean {
    return host.startsWith("*.") || this.#byHost.has(`*${host.slice(host.indexOf("."))}`);
  }
}

function addTo(index: Map<string, Set<Source>>, key: string, source: Source): void {
  const sources = index.get(key);
  if (sources === undefined) index.set(key, new Set([source]));
  else sources.add(source);
}

function removeFrom(index: Map<string, Set<Source>>, key: string, source: Source): void {
  const sources = index.get(key);
  sources?.delete(source);
  if (sources?.size === 0) index.delete(key);
}
