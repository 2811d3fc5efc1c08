/**
 * A set whose members store their own index, for members that are added and deleted often. In: members.
 * Out: iteration in the order of addition.
 *
 * A `Set` does the same, but costs garbage collections: V8 gives one that changes a new table every few
 * changes, and the old table refers to the new one. Once a full collection has promoted a table to the old
 * generation, it keeps all later tables alive, with their members, which no scavenge frees: each
 * connection that had ended was copied twice and kept until the next full collection.
 */

/** Reads and writes the index that a member stores; -1 outside of the set. */
export interface PlaceKeeper<T> {
  get(member: T): number;
  set(member: T, place: number): void;
}

/** Fewer gaps are not worth closing. */
const MIN_GAPS = 32;

export class IntrusiveSet<T> implements Iterable<T> {
  readonly #members: (T | null)[] = [];
  readonly #places: PlaceKeeper<T>;
  #size = 0;
  /** `visit` is iterating: no member may be moved. */
  #isVisiting = false;

  constructor(places: PlaceKeeper<T>) {
    this.#places = places;
  }

  get size(): number {
    return this.#size;
  }

  has(member: T): boolean {
    return this.#places.get(member) !== -1;
  }

  /** Nothing happens where it is there already. */
  add(member: T): void {
    if (this.has(member)) return;
    this.#places.set(member, this.#members.length);
    this.#members.push(member);
    this.#size++;
  }

  /** Nothing happens where it is not there. */
  delete(member: T): void {
    const place = this.#places.get(member);
    if (place === -1) return;
    this.#places.set(member, -1);
    this.#size--;
    this.#members[place] = null;
    if (!this.#isVisiting) this.#closeMany();
  }

  /**
   * Calls `visitor` once for each that is there from now until its turn; it may add and delete any.
   *
   * @param isWanted of a place; those at others are left out, without a look at them.
   */
  visit(visitor: (member: T) => void, isWanted: (place: number) => boolean = always): void {
    const members = this.#members;
    const { length } = members;
    this.#isVisiting = true;
    try {
      for (let place = 0; place < length; place++) {
        if (!isWanted(place)) continue;
        const member = members[place];
        if (member !== null) visitor(member);
      }
    } finally {
      this.#isVisiting = false;
      this.#closeMany();
    }
  }

  /** All of them; none may be added or deleted meanwhile. */
  *[Symbol.iterator](): Iterator<T> {
    for (const member of this.#members) if (member !== null) yield member;
  }

  /** Closes the gaps of those that were deleted, where there are more of them than members. */
  #closeMany(): void {
    const members = this.#members;
    if (members.length < 2 * this.#size + MIN_GAPS) return;
    let place = 0;
    for (const member of members) {
      if (member === null) continue;
      members[place] = member;
      this.#places.set(member, place++);
    }
    members.length = place;
  }
}

function always(): boolean {
  return true;
}
