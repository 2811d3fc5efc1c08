/**
 * What differs between two lists of parts with ids. In: the list of one snapshot after another. Out:
 * the parts that are new or others now, and the ids of those that are gone.
 *
 * Parts are compared by identity, then by their content: what came by a stream is the very same where
 * it did not change, and a file is read anew.
 */
import { isSamePart } from "../../shared/snapshot/equality.ts";
import type { PartChange } from "../../shared/snapshot/types.ts";

/** What of a change workers need. */
export type PartDelta<T> = Omit<PartChange<T>, "replaced">;

export class PartDiffer<T extends { readonly id: string }> {
  #list: readonly T[] = [];
  #byId = new Map<string, T>();

  /** What changed since the last call; everything at the first. */
  update(list: readonly T[]): PartChange<T> {
    if (list === this.#list) return NO_CHANGE;
    const before = this.#byId;
    const byId = new Map(list.map((part) => [part.id, part]));
    const changed = list.filter((part) => !isSamePart(before.get(part.id), part));
    const removed = [...before.keys()].filter((id) => !byId.has(id));
    const replaced = [...changed.map(({ id }) => id), ...removed].flatMap((id) =>
      before.get(id) ?? []
    );
    this.#list = list;
    this.#byId = byId;
    return { changed, replaced, removed };
  }

  /** Takes in a change that is known, at the cost of that change; `list` is all after it. */
  follow(list: readonly T[], { changed, removed }: PartDelta<T>): void {
    this.#list = list;
    for (const part of changed) this.#byId.set(part.id, part);
    for (const id of removed) this.#byId.delete(id);
  }
}

const NO_CHANGE = { changed: [], replaced: [], removed: [] };
