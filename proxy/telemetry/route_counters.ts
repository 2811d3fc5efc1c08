/**
 * Where one worker counts for which route. In: changes of slots. Out: a number for each route, which
 * its binding keeps, and the slot for that number when an exchange has ended.
 *
 * Where routes have slots of their own, the number is mostly the slot: an exchange of one route among
 * 100,000 then waits for the memory of its cells alone, and for no object on the way there. Where they
 * share those of their hosts, each has a stand-in. What has changed meanwhile is looked up only for
 * exchanges that have seen a change. Upstreams, which share the slots of Services, are the same.
 */
import { DEFAULT_SLOT, OTHER_SLOT, type SlotChange } from "./series_slots.ts";

export class RouteCounters {
  readonly #isShared: boolean;
  readonly #numbers = new Map<string, number>();
  /** By number where that is a slot; of stand-ins by `-1 - number`. */
  readonly #ids: string[] = [];
  readonly #standInIds: string[] = [];
  /**
   * Routes without a slot of their own may get another while they stay. The slot now of each such
   * route, whose number is `-1 -` its place here.
   */
  readonly #standIns: number[] = [];
  /** Of routes that have gone, but may be in force still; and those of before, for others. */
  #goneStandIns: number[] = [];
  readonly #freeStandIns: number[] = [];
  /** The last change in which the route went that had this number. */
  readonly #goneAt = new Map<number, number>();
  #changes = 0;
  #inForce = 0;

  /** @param isShared Whether several may have one slot. */
  constructor(isShared: boolean) {
    this.#isShared = isShared;
  }

  /** Of the routes in force, for `slotOf`. */
  get age(): number {
    return this.#inForce;
  }

  /** The routes of the last change are in force: no binding has a number of a route that has gone. */
  inForce(): void {
    this.#inForce = this.#changes;
    for (const number of this.#goneStandIns) this.#freeStandIns.push(number);
    this.#goneStandIns = [];
  }

  change({ added, removed }: SlotChange): void {
    this.#changes++;
    for (const id of removed) {
      const number = this.#numbers.get(id);
      if (number === undefined) continue;
      this.#numbers.delete(id);
      this.#goneAt.set(number, this.#changes);
      if (number < 0) this.#goneStandIns.push(number);
    }
    for (const [id, slot] of added) {
      const known = this.#numbers.get(id);
      if (known !== undefined && known < 0) this.#standIns[-1 - known] = slot;
      else {
        const isOwn = !this.#isShared && slot !== OTHER_SLOT;
        this.#numbers.set(id, isOwn ? this.#own(id, slot) : this.#standIn(id, slot));
      }
    }
  }

  /** The number of a route; null is the default action. */
  numberOf(id: string | null): number {
    if (id === null) return DEFAULT_SLOT;
    return this.#numbers.get(id) ?? OTHER_SLOT;
  }

  /** The id of the route in force that has this number; null for none, as of the default action. */
  idOf(number: number): string | null {
    return (number < 0 ? this.#standInIds[-1 - number] : this.#ids[number]) ?? null;
  }

  /**
   * The slot in which an exchange counts that was routed at this age: what is left of a route that has
   * gone counts as `other`, as its slot may be another's.
   */
  slotOf(number: number, age: number): number {
    return this.#hasGone(number, age) ? OTHER_SLOT : this.slotNow(number);
  }

  /** The id of the route of an exchange that was routed at this age; null where that has gone, or for none. */
  idAt(number: number, age: number): string | null {
    return this.#hasGone(number, age) ? null : this.idOf(number);
  }

  #hasGone(number: number, age: number): boolean {
    return age !== this.#changes && (this.#goneAt.get(number) ?? -1) > age;
  }

  /** The slot of a route that is there. */
  slotNow(number: number): number {
    return number < 0 ? this.#standIns[-1 - number] : number;
  }

  #own(id: string, slot: number): number {
    this.#ids[slot] = id;
    return slot;
  }

  #standIn(id: string, slot: number): number {
    const number = this.#freeStandIns.pop() ?? -1 - this.#standIns.length;
    this.#standInIds[-1 - number] = id;
    this.#standIns[-1 - number] = slot;
    return number;
  }
}
