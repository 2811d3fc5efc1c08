/**
 * Memory between calls. In: objects that never change once they are given, as the store of an
 * informer holds them. Out: for the same object what was made of it before, so that a translation
 * costs as much as what changed since the last one. Whoever remembers owns an instance: no module
 * does, so that two translators in one process share nothing.
 *
 * What is remembered is always what would be made again: nothing that depends on the clock, on other
 * objects or on options may be, unless it is compared with what it was made of.
 */

/** Reads each object once, and forgets what it read together with the object. */
export class ObjectCache<K extends object, T> {
  readonly #read: (object: K) => T;
  readonly #known = new WeakMap<K, { readonly value: T }>();

  /** @param read Decides by the object alone. */
  constructor(read: (object: K) => T) {
    this.#read = read;
  }

  of(object: K): T {
    let entry = this.#known.get(object);
    if (entry === undefined) {
      entry = { value: this.#read(object) };
      this.#known.set(object, entry);
    }
    return entry.value;
  }
}

/** Whether two lists have the very same elements in the same order. */
export function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    if (a[i] !== b[i]) return false;
  }
  return true;
}

/**
 * What must go from one list, and come, to make the items of the other. Few where few changed in
 * their places, or in one place were taken out or put in; else what changed its place is in both.
 */
export function differenceOf<T>(
  before: readonly T[],
  now: readonly T[],
): { readonly removed: T[]; readonly added: T[] } {
  if (before === now) return { removed: [], added: [] };
  let start = 0;
  const shorter = Math.min(before.length, now.length);
  while (start < shorter && before[start] === now[start]) start++;
  let end = 0;
  while (end < shorter - start && before[before.length - 1 - end] === now[now.length - 1 - end]) {
    end++;
  }
  const removed = before.slice(start, before.length - end);
  const added = now.slice(start, now.length - end);
  if (removed.length !== added.length) return { removed, added };
  const other = (item: T, i: number) => item !== added[i];
  return {
    removed: removed.filter(other),
    added: added.filter((item, i) => item !== removed[i]),
  };
}

/**
 * Values of items, from those of the list before where the item was in it. Both lists are in the same
 * order, so that what is in both is in the same order in both.
 *
 * @param found Of the items that were not.
 */
export function carryOver<T, V>(
  before: readonly T[],
  values: readonly V[],
  now: readonly T[],
  found: ReadonlyMap<T, V>,
): V[] {
  const carried: V[] = [];
  let at = 0;
  for (const item of now) {
    // Nearly all are in their place: comparing them is far cheaper than looking each one up.
    if (item === before[at]) {
      carried.push(values[at++]);
    } else if (found.has(item)) {
      carried.push(found.get(item)!);
    } else {
      at = before.indexOf(item, at);
      carried.push(values[at++]);
    }
  }
  // What stands in its place may have another value nevertheless.
  for (const [i, item] of placesOf(found, now)) carried[i] = found.get(item)!;
  return carried;
}

/** Up to this many are searched for one by one; more are looked up in one pass over the list. */
const FEW = 16;

/** Those of `list` that are among `wanted`, each with its index, in the order of the list. */
export function placesOf<T>(
  wanted: ReadonlySet<T> | ReadonlyMap<T, unknown>,
  list: readonly T[],
): [index: number, item: T][] {
  const places: [number, T][] = [];
  if (wanted.size > FEW) {
    for (let i = 0; i < list.length; i++) if (wanted.has(list[i])) places.push([i, list[i]]);
    return places;
  }
  for (const item of wanted.keys()) {
    const i = list.indexOf(item);
    if (i !== -1) places.push([i, item]);
  }
  return places.sort(([a], [b]) => a - b);
}

/** The result of one call, and what it was made of. */
export class LastResult<I, R> {
  #last: { readonly inputs: I; readonly result: R } | null = null;

  /** Null before the first. */
  get last(): { readonly inputs: I; readonly result: R } | null {
    return this.#last;
  }

  /** The result, if it was made of the same; else null. */
  recall(isSame: (inputs: I) => boolean): R | null {
    return this.#last !== null && isSame(this.#last.inputs) ? this.#last.result : null;
  }

  keep(inputs: I, result: R): R {
    this.#last = { inputs, result };
    return result;
  }
}
