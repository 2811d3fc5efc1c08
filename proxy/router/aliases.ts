/**
 * Aliases of hosts. In: which pattern stands for which, by changes. Out: the host of an alias, and the
 * aliases of a host, whether or not either has routes.
 */
import type { HostSettings } from "../../shared/snapshot/types.ts";

export class Aliases {
  readonly #hosts = new Map<string, string>();
  readonly #aliases = new Map<string, Set<string>>();

  /** Those that have another host now, or none. */
  update(changed: readonly HostSettings[], removed: readonly string[]): string[] {
    const moved: string[] = [];
    const move = (alias: string, host: string | undefined) => {
      const before = this.#hosts.get(alias);
      if (before === host) return;
      if (before !== undefined) this.#leave(before, alias);
      if (host === undefined) this.#hosts.delete(alias);
      else {
        this.#hosts.set(alias, host);
        const own = this.#aliases.get(host);
        if (own === undefined) this.#aliases.set(host, new Set([alias]));
        else own.add(alias);
      }
      moved.push(alias);
    };
    for (const id of removed) move(id, undefined);
    for (const { id, aliasOf } of changed) move(id, aliasOf === id ? undefined : aliasOf);
    return moved;
  }

  hostOf(alias: string): string | null {
    return this.#hosts.get(alias) ?? null;
  }

  of(host: string): Iterable<string> {
    return this.#aliases.get(host) ?? [];
  }

  #leave(host: string, alias: string): void {
    const own = this.#aliases.get(host);
    own?.delete(alias);
    if (own?.size === 0) this.#aliases.delete(host);
  }
}
