/**
 * The filter sets and policies that routes refer to. In: the Ingresses that routes are made of. Out:
 * each of their parts once, sorted by id; the very same lists as before where nothing has changed.
 */
import type { FilterSet, Policy } from "../../../shared/snapshot/types.ts";
import { isSameList } from "../../base/memo.ts";
import { compareText } from "../../base/text_order.ts";
import type { Source } from "../model/source.ts";

export class UsedSettings {
  #sources: readonly Source[] = [];
  #filterSets: readonly FilterSet[] = [];
  #policies: readonly Policy[] = [];

  /** As fields of a snapshot, without empty lists. */
  of(
    sources: readonly Source[],
  ): { readonly filterSets?: readonly FilterSet[]; readonly policies?: readonly Policy[] } {
    if (sources !== this.#sources) this.#collect(sources);
    return {
      ...(this.#filterSets.length === 0 ? {} : { filterSets: this.#filterSets }),
      ...(this.#policies.length === 0 ? {} : { policies: this.#policies }),
    };
  }

  #collect(sources: readonly Source[]): void {
    const filterSets = new Map<string, FilterSet>();
    const policies = new Map<string, Policy>();
    for (const { settings: { filterSet, policy } } of sources) {
      if (filterSet !== null) filterSets.set(filterSet.id, filterSet);
      if (policy !== null) policies.set(policy.id, policy);
    }
    this.#sources = sources;
    this.#filterSets = sorted(filterSets, this.#filterSets);
    this.#policies = sorted(policies, this.#policies);
  }
}

/** @param before The list to keep where it says the same. */
function sorted<T extends { readonly id: string }>(
  parts: ReadonlyMap<string, T>,
  before: readonly T[],
): readonly T[] {
  if (parts.size === 0) return [];
  const known = new Map(before.map((part) => [part.id, part]));
  const list = [...parts.values()]
    .map((part) => known.get(part.id) ?? part)
    .sort((a, b) => compareText(a.id, b.id));
  return isSameList(list, before) ? before : list;
}
