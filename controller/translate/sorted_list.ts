/**
 * Sorting what is nearly the same each time. In: items in any order. Out: the items in order; where
 * they are those of the call before, its very list.
 *
 * It holds on to the items of one call, so items must be such as live until the next one anyway.
 */

/** Above this share of new ones sorting all of them is quicker. */
const FEW = 1 / 8;

export class SortedList<T> {
  readonly #compare: (a: T, b: T) => number;
  #last: readonly T[] = [];

  /** @param compare A total order, the same for the same two items at any time. */
  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare;
  }

  /** @param items Without repetition. The result is shared by calls: nobody may change it. */
  of(items: Iterable<T>): readonly T[] {
    const unplaced = new Set(items);
    const count = unplaced.size;
    const kept = this.#last.filter((item) => unplaced.delete(item));
    if (unplaced.size === 0 && kept.length === this.#last.length) return this.#last;
    const added = [...unplaced];
    this.#last = added.length > count * FEW
      ? [...kept, ...added].sort(this.#compare)
      : this.#merge(kept, added.sort(this.#compare));
    return this.#last;
  }

  #merge(kept: readonly T[], added: readonly T[]): T[] {
    const merged: T[] = [];
    let copied = 0;
    for (const item of added) {
      const end = this.#placeOf(item, kept, copied);
      for (; copied < end; copied++) merged.push(kept[copied]);
      merged.push(item);
    }
    for (; copied < kept.length; copied++) merged.push(kept[copied]);
    return merged;
  }

  /** The index of the first of `sorted` from `from` on that comes after `item`. */
  #placeOf(item: T, sorted: readonly T[], from: number): number {
    let low = from;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(sorted[middle], item) > 0) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
