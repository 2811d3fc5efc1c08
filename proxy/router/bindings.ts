/**
 * What the routes of hosts are bound to, as numbers: short lists, a host's each, in one long one. In:
 * the number of a host's tree of paths, and what each of its routes is bound to. Out: where they
 * stand, next to each other.
 *
 * With routes by the ten thousand an object is in none of the processor's caches, and on a page of
 * its own. So what a host and its routes have stands side by side, and leads only to what many of
 * them share. Measured in bench/performance-log.md.
 *
 * A list takes the next power of two of places, and leaves them to the next one of that size: lists
 * that change for ever, each time a little longer or shorter, do not make the long one grow.
 */

/** What a route is bound to. */
export interface NumberedBinding {
  /** Of what its requests get. */
  readonly target: number;
  /** Of the counters that count them. */
  readonly counters: number;
}

/** A list begins with the number of its tree and how many bindings there are. */
const HEAD = 2;

/** Places of a binding: target, counters. */
const WIDTH = 2;

export class Bindings {
  #values = new Int32Array(64);
  #end = 0;
  /** Where ranges of two to the power of the index begin that nobody uses. */
  readonly #free: number[][] = [];

  /** Where a list begins: of bindings by the numbers that the tree has for their paths. */
  put(tree: number, list: readonly NumberedBinding[]): number {
    const power = powerOf(list.length);
    const start = this.#free[power]?.pop() ?? this.#append(1 << power);
    const values = this.#values;
    values[start] = tree;
    values[start + 1] = list.length;
    let at = start + HEAD;
    for (const { target, counters } of list) {
      values[at++] = target;
      values[at++] = counters;
    }
    return start;
  }

  /** Leaves the places of the list that begins there to others. */
  remove(start: number): void {
    const power = powerOf(this.length(start));
    while (this.#free.length <= power) this.#free.push([]);
    this.#free[power].push(start);
  }

  /** Of the list that begins there, as is the next one. */
  tree(start: number): number {
    return this.#values[start];
  }

  length(start: number): number {
    return this.#values[start + 1];
  }

  /** Of the binding with that number in the list that begins there. */
  place(start: number, number: number): number {
    return start + HEAD + number * WIDTH;
  }

  /** Of a place, as is the next one. */
  target(place: number): number {
    return this.#values[place];
  }

  counters(place: number): number {
    return this.#values[place + 1];
  }

  /** Where so many new places begin. */
  #append(places: number): number {
    const start = this.#end;
    this.#end += places;
    if (this.#end > this.#values.length) {
      const values = new Int32Array(Math.max(2 * this.#values.length, this.#end));
      values.set(this.#values);
      this.#values = values;
    }
    return start;
  }
}

/** Of a range for so many bindings: the least power of two that has room, as its exponent. */
function powerOf(count: number): number {
  return 32 - Math.clz32(HEAD + count * WIDTH - 1);
}
