/**
 * Which slot counts for which series. In: series that come and go with each snapshot, each by its
 * labels. Out: a number that a series keeps for as long as it is there, and what changed, for the
 * workers. Labels come from the configuration alone, so no client can make one.
 *
 * A slot that is free again rests for a minute before another series gets it: by then every worker
 * has learned that its owner is gone. When all are taken, further ones count as `other`.
 */

/** Requests that reached no route: an unknown host or path, or refused before that. */
export const NONE_SLOT = 0;
/** Requests that the default action took. */
export const DEFAULT_SLOT = 1;
/** What is beyond the limit, and exchanges that outlived their route. */
export const OTHER_SLOT = 2;

/** Names of the slots above, for labels. */
export const RESERVED_SLOTS = ["none", "default", "other"] as const;

/** In ms: workers take in a change within seconds, or are replaced. */
const REST = 60_000;

/** For the counters of a worker: routes, or upstreams, by their ids. */
export interface SlotChange {
  /** Id and slot. */
  readonly added: readonly (readonly [string, number])[];
  readonly removed: readonly string[];
}

export const NO_CHANGE: SlotChange = { added: [], removed: [] };

export class SeriesSlots {
  /** By labels. */
  readonly #slots = new Map<string, number>();
  /** Those that count as `other` until there is room. */
  readonly #waiting = new Set<string>();
  /** In the order in which they became free, with when. */
  #free: { readonly slot: number; readonly since: number }[] = [];
  readonly #max: number;
  readonly #now: () => number;
  #next: number = RESERVED_SLOTS.length;

  /**
   * @param now in ms, monotonic.
   * @param limit of series with a slot of their own.
   */
  constructor(now: () => number, limit: number) {
    this.#now = now;
    this.#max = RESERVED_SLOTS.length + limit;
  }

  /** Slots handed out so far, the reserved ones included: none is larger. */
  get used(): number {
    return this.#next;
  }

  /** Series that count as `other`. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Series that have a slot of their own. */
  get own(): number {
    return this.#slots.size - this.#waiting.size;
  }

  /** Labels and slot of each series; those beyond the limit have that of `other`. */
  entries(): IterableIterator<[string, number]> {
    return this.#slots.entries();
  }

  /** The slot of a series that is there. */
  slotOf(labels: string): number {
    return this.#slots.get(labels) ?? OTHER_SLOT;
  }

  /**
   * Takes series that have come and series that have gone; one that is in both stays. `onReuse` is
   * called with each slot that belonged to another before.
   *
   * @returns those that have got a slot: what is new here, and what has waited for it.
   */
  update(
    come: ReadonlySet<string>,
    gone: Iterable<string>,
    onReuse: (slot: number) => void,
  ): { readonly fresh: ReadonlySet<string>; readonly promoted: ReadonlySet<string> } {
    const now = this.#now();
    for (const labels of gone) {
      const slot = this.#slots.get(labels);
      if (slot === undefined || come.has(labels)) continue;
      this.#slots.delete(labels);
      this.#waiting.delete(labels);
      if (slot !== OTHER_SLOT) this.#free.push({ slot, since: now });
    }
    let rested = 0;
    while (rested < this.#free.length && this.#free[rested].since + REST <= now) rested++;
    const reusable = this.#free.splice(0, rested).map(({ slot }) => slot).reverse();
    const take = (): number => {
      const slot = reusable.pop();
      if (slot === undefined) return this.#next < this.#max ? this.#next++ : OTHER_SLOT;
      onReuse(slot);
      return slot;
    };
    const fresh = new Set<string>();
    const promoted = new Set<string>();
    for (const labels of [...this.#waiting, ...come]) {
      const known = this.#slots.get(labels);
      if (known !== undefined && known !== OTHER_SLOT) continue;
      const slot = take();
      if (slot === known) continue;
      if (slot === OTHER_SLOT) this.#waiting.add(labels);
      else this.#waiting.delete(labels);
      this.#slots.set(labels, slot);
      (known === undefined ? fresh : promoted).add(labels);
    }
    const left = reusable.reverse().map((slot) => ({ slot, since: -Infinity }));
    this.#free = [...left, ...this.#free];
    return { fresh, promoted };
  }
}
