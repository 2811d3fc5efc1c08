/**
 * The work that the regular expressions of one request may be. In: steps of patterns, as they are followed. Out:
 * whether there is some left.
 *
 * Tenants choose patterns and clients texts, so that neither bounds what both are together. The unit is a step of a
 * pattern that a character leads to, in the worst case 5 to 10 ns. What a pattern is charged for a text depends on
 * these two alone, and on nothing that is kept from texts before: the same request always has the same result.
 */

/** Steps for one request: some 2 ms of CPU, whatever its patterns and its texts are. */
const MAX_WORK = 1 << 18;

/** For a search of groups, which V8 does: it takes up to 40 ns for a step. */
export const MAX_SEARCH = 1 << 16;

/** For lists of expressions that an administrator writes, which may be 100, each searched in several lines. */
export const MAX_LISTED = 1 << 19;

/** Steps of states that one request may add to automata, each some 100 ns. Costs time alone, never a result. */
const MAX_BUILDING = 1 << 12;

export class PatternWork {
  #left: number;
  /** Steps that states may still be made of. */
  building = MAX_BUILDING;

  /** @param steps What there may be of it. */
  constructor(steps = MAX_WORK) {
    this.#left = steps;
  }

  /** Steps that are left; below 0 where there was too little, and all that was said since does not count. */
  get left(): number {
    return this.#left;
  }

  get isExceeded(): boolean {
    return this.#left < 0;
  }

  /** Whether there was so much left. */
  spend(steps: number): boolean {
    this.#left = this.#left < steps ? -1 : this.#left - steps;
    return this.#left >= 0;
  }
}
