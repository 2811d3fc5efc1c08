/**
 * Which slot counts for which route. In: ids of routes that come and go with each snapshot. Out: a number that an id
 * keeps for as long as it is there, and what changed, for the workers. Ids come from the
 * configuration alone, so no client can make one.
 *
 * A slot that is free again rests for a minute before another route gets it: by then every worker
 * has learned that its route is gone. When all are taken, further routes count as `other`.
 */

/** Requests that reached no route: an unknown host or path, or refused before that. */
export const NONE_SLOT = 0;
/** Requests that the default action took. */
export const DEFAULT_SLOT = 1;
/** Routes beyond the limit, and exchanges that outlived their route. */
export const OTHER_SLOT = 2;

/** Labels of the slots above; ids of routes have blanks in them, so these are never one. */
export const RESERVED_SLOTS = ["none", "default", "other"] as const;

/** 64 MiB a worker where every route has traffic, and four times what one proxy was seen with. */
export const MAX_SLOTS = 128 * 1024;

/** In ms: workers take in a change within seconds, or are replaced. */
const REST = 60_000;

export interface SlotChange {
  /** Id and slot. */
  readonly added: readonly (readonly [string, number])[];
  readonly removed: readonly string[];
}

export class RouteSlots {
  readonly #slots = new Map<string, number>();
  /** Those that count as `other` until there is room. */
  readonly #waiting = new Set<string>();
  /** In the order in which they became free, with when. */
  #free: { readonly slot: number; readonly since: number }[] = [];
  readonly #max: number;
  readonly #now: () => number;
  #next: number = RESERVED_SLOTS.length;

  /** @param now in ms, monotonic. */
  constructor(now: () => number, max: number = MAX_SLOTS) {
    this.#now = now;
    this.#max = max;
  }

  /** Slots handed out so far, the reserved ones included: none is larger. */
  get used(): number {
    return this.#next;
  }

  /** Id and slot of each route. */
  entries(): IterableIterator<[string, number]> {
    return this.#slots.entries();
  }

  /**
   * Takes ids that have come and ids that have gone; one that is in both stays. `onReuse` is called
   * with each slot that belonged to another route before.
   */
  update(
    come: readonly string[],
    gone: readonly string[],
    onReuse: (slot: number) => void,
  ): SlotChange {
    const present = new Set(come);
    const now = this.#now();
    const removed: string[] = [];
    for (const id of gone) {
      const slot = this.#slots.get(id);
      if (slot === undefined || present.has(id)) continue;
      this.#slots.delete(id);
      this.#waiting.delete(id);
      removed.push(id);
      if (slot !== OTHER_SLOT) this.#free.push({ slot, since: now });
    }
    const added: [string, number][] = [];
    let rested = 0;
    while (rested < this.#free.length && this.#free[rested].since + REST <= now) rested++;
    const reusable = this.#free.splice(0, rested).map(({ slot }) => slot).reverse();
    const take = (): number => {
      const slot = reusable.pop();
      if (slot === undefined) return this.#next < this.#max ? this.#next++ : OTHER_SLOT;
      onReuse(slot);
      return slot;
    };
    for (const id of [...this.#waiting, ...present]) {
      const known = this.#slots.get(id);
      if (known !== undefined && known !== OTHER_SLOT) continue;
      const slot = take();
      if (slot === known) continue;
      if (slot === OTHER_SLOT) this.#waiting.add(id);
      else this.#waiting.delete(id);
      this.#slots.set(id, slot);
      added.push([id, slot]);
    }
    const left = reusable.reverse().map((slot) => ({ slot, since: -Infinity }));
    this.#free = [...left, ...this.#free];
    return { added, removed };
  }
}
