/**
 * The filter sets and policies that routes refer to. In: the Ingresses that routes are made of. Out:
 * each of their parts once, sorted by id; the very same lists as before where nothing has changed.
 */
import type { BlockedClients, FilterSet, Policy } from "../../../shared/snapshot/types.ts";
import { differenceOf, ObjectCache } from "../../base/memo.ts";
import { compareText } from "../../base/text_order.ts";
import { settingsOf } from "../model/source_settings.ts";
import type { Source } from "../model/source.ts";

export class UsedSettings {
  #sources: readonly Source[] = [];
  readonly #filterSets = new UsedParts<FilterSet>();
  readonly #policies = new UsedParts<Policy>();
  /** A list of 10,000 is looked through once, and not at each change of something else. */
  readonly #areBlocking = new ObjectCache(needsBlockedClients);

  /** As fields of a snapshot, without empty lists. */
  of(
    sources: readonly Source[],
  ): { readonly filterSets?: readonly FilterSet[]; readonly policies?: readonly Policy[] } {
    const { removed, added } = differenceOf(this.#sources, sources);
    this.#sources = sources;
    for (const { filterSet, policy } of added.flatMap(settingsOf)) {
      this.#filterSets.add(filterSet);
      this.#policies.add(policy);
    }
    for (const { filterSet, policy } of removed.flatMap(settingsOf)) {
      this.#filterSets.remove(filterSet);
      this.#policies.remove(policy);
    }
    const filterSets = this.#filterSets.list();
    const policies = this.#policies.list();
    return {
      ...(filterSets.length === 0 ? {} : { filterSets }),
      ...(policies.length === 0 ? {} : { policies }),
    };
  }

  /** As the function of this name. */
  blockedClientsOf(configured: BlockedClients | null, filterSets: readonly FilterSet[]) {
    return blockedClientsOf(configured, filterSets, (list) => this.#areBlocking.of(list));
  }
}

/**
 * The clients that are blocked, as a field of a snapshot. Filters need the list, so an Ingress that is
 * served as it was published has an empty one where none is configured any more.
 */
export function blockedClientsOf(
  configured: BlockedClients | null,
  filterSets: readonly FilterSet[],
  isBlocking = needsBlockedClients,
): { readonly blockedClients?: BlockedClients } {
  if (configured !== null) return { blockedClients: configured };
  return isBlocking(filterSets) ? { blockedClients: {} } : {};
}

function needsBlockedClients(filterSets: readonly FilterSet[]): boolean {
  return filterSets.some(({ filters }) => filters.some(({ kind }) => kind === "blocked-clients"));
}

/** Parts by id, each for as long as an Ingress has it. */
class UsedParts<T extends { readonly id: string }> {
  readonly #byId = new Map<string, { readonly part: T; users: number }>();
  #list: readonly T[] | null = [];

  add(part: T | null): void {
    if (part === null) return;
    const known = this.#byId.get(part.id);
    if (known !== undefined) {
      known.users++;
      return;
    }
    this.#byId.set(part.id, { part, users: 1 });
    this.#list = null;
  }

  remove(part: T | null): void {
    const known = part === null ? undefined : this.#byId.get(part.id);
    if (part === null || known === undefined || --known.users > 0) return;
    this.#byId.delete(part.id);
    this.#list = null;
  }

  list(): readonly T[] {
    return this.#list ??= Array.from(this.#byId.values(), ({ part }) => part)
      .sort((a, b) => compareText(a.id, b.id));
  }
}
