/**
 * What differs between two lists of parts with ids. In: the list of one snapshot after another. Out:
 * the parts that are new or others now, and the ids of those that are gone.
 *
 * Parts are compared by identity, then by their content: what came by a stream is the very same where
 * it did not change, and a file is read anew.
 */
import { isSamePart } from "../../shared/snapshot/equality.ts";

export interface PartDelta<T> {
  /** New and changed ones. */
  readonly changed: readonly T[];
  /** Ids. */
  readonly removed: readonly string[];
}

export class PartDiffer<T extends { readonly id: string }> {
  #list: readonly T[] = [];
  #byId: ReadonlyMap<string, T> = new Map();

  /**
   * What changed since the last call; everything at the first. Adds to `replaced` the ids of those
   * that were there before and are others now.
   */
  update(list: readonly T[], replaced: Set<string>): PartDelta<T> {
    if (list === this.#list) return { changed: [], removed: [] };
    const before = this.#byId;
    const byId = new Map(list.map((part) => [part.id, part]));
    const changed = list.filter((part) => !isSamePart(before.get(part.id), part));
    for (const { id } of changed) if (before.has(id)) replaced.add(id);
    const removed = [...before.keys()].filter((id) => !byId.has(id));
    this.#list = list;
    this.#byId = byId;
    return { changed, removed };
  }
}
