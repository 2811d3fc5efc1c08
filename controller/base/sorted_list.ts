/**
 * Sorting what is nearly the same each time. In: items in any order. Out: the items in order; where
 * they are those of the call before, its very list.
 *
 * It holds on to the items of one call, so items must be such as live until the next one anyway.
 */
import { differenceOf } from "./memo.ts";

export class SortedList<T> {
  readonly #compare: (a: T, b: T) => number;
  /** Of the last call, as they came and in order. */
  #items: readonly T[] = [];
  #sorted: readonly T[] = [];

  /** @param compare A total order, the same for the same two items at any time. */
  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  /**
   * @param items No two of them equal in order.
   * @return Shared by calls: nobody may change it, nor `items`.
   */
  of(items: readonly T[]): readonly T[] {
    const { removed, added } = differenceOf(this.#items, items);
    if (removed.length + added.length > 0) {
      const kept = removed.length + added.length > items.length / 8
        ? null
        : this.#without(removed.sort(this.#compare));
      this.#sorted = kept === null
        ? items.toSorted(this.#compare)
        : mergeSorted(kept, added.sort(this.#compare), this.#compare);
    }
    this.#items = items;
    return this.#sorted;
  }

  /** @param removed In order. Null where they are not all found, which a total order excludes. */
  #without(removed: readonly T[]): T[] | null {
    const kept: T[] = [];
    let copied = 0;
    for (const item of removed) {
      const end = placeAfter(item, this.#sorted, copied, this.#compare) - 1;
      if (this.#sorted[end] !== item) return null;
      for (; copied < end; copied++) kept.push(this.#sorted[copied]);
      copied++;
    }
    for (; copied < this.#sorted.length; copied++) kept.push(this.#sorted[copied]);
    return kept;
  }
}

/** Both lists are in order, and so is the result; quick where `added` is short. */
export function mergeSorted<T>(
  kept: readonly T[],
  added: readonly T[],
  compare: (a: T, b: T) => number,
): T[] {
  const merged: T[] = [];
  let copied = 0;
  for (const item of added) {
    const end = placeAfter(item, kept, copied, compare);
    for (; copied < end; copied++) merged.push(kept[copied]);
    merged.push(item);
  }
  for (; copied < kept.length; copied++) merged.push(kept[copied]);
  return merged;
}

/** The index of the first of `sorted` from `from` on that comes after `item`. */
function placeAfter<T>(
  item: T,
  sorted: readonly T[],
  from: number,
  compare: (a: T, b: T) => number,
): number {
  let low = from;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(sorted[middle], item) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}
