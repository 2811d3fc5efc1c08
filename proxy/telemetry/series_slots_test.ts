import assert from "node:assert/strict";
import { OTHER_SLOT, RESERVED_SLOTS, SeriesSlots } from "./series_slots.ts";

const FIRST = RESERVED_SLOTS.length;

/** Slots that are told all series that there are, as those that come and go. */
class Slots extends SeriesSlots {
  #labels: readonly string[] = [];

  constructor(now: () => number, limit = 100) {
    super(now, limit);
  }

  all(labels: readonly string[], onReuse: (slot: number) => void): string[] {
    const gone = this.#labels;
    this.#labels = labels;
    const { fresh, promoted } = this.update(new Set(labels), gone, onReuse);
    return [...fresh, ...promoted];
  }
}

function slotsOf(slots: SeriesSlots): Record<string, number> {
  return Object.fromEntries(slots.entries());
}

Deno.test("a series keeps its slot as long as it exists", () => {
  const slots = new Slots(() => 0);
  slots.all(["a", "b"], () => assert.fail());
  const change = slots.all(["c", "b"], () => assert.fail());
  assert.deepEqual(slotsOf(slots), { b: FIRST + 1, c: FIRST + 2 });
  assert.deepEqual(change, ["c"]);
  assert.deepEqual(slots.all(["b", "c"], () => {}), []);
});

Deno.test("a free slot is cleared and reused, but only after a pause", () => {
  let now = 0;
  const slots = new Slots(() => now);
  const reused: number[] = [];
  slots.all(["a"], (slot) => reused.push(slot));
  slots.all([], (slot) => reused.push(slot));
  slots.all(["b"], (slot) => reused.push(slot));
  assert.deepEqual([slotsOf(slots), reused], [{ b: FIRST + 1 }, []]);
  now += 60_000;
  slots.all(["b", "c", "d"], (slot) => reused.push(slot));
  assert.deepEqual([slotsOf(slots), reused], [{ b: FIRST + 1, c: FIRST, d: FIRST + 2 }, [FIRST]]);
});

Deno.test("series beyond the limit count as other, until there is room", () => {
  let now = 0;
  const slots = new Slots(() => now, 2);
  slots.all(["a", "b", "c"], () => {});
  assert.deepEqual(slotsOf(slots), { a: FIRST, b: FIRST + 1, c: OTHER_SLOT });
  assert.deepEqual([slots.own, slots.waiting], [2, 1]);
  slots.all(["b", "c"], () => {});
  now += 60_000;
  const change = slots.all(["b", "c"], () => {});
  assert.deepEqual(change, ["c"]);
  assert.deepEqual([slots.own, slots.waiting], [2, 0]);
  assert.equal(slots.used, FIRST + 2);
});

Deno.test("the slot that has been free longest is reused first", () => {
  let now = 0;
  const slots = new Slots(() => now);
  slots.all(["a", "b", "c"], () => {});
  slots.all(["c"], () => {});
  now += 60_000;
  slots.all(["c", "d"], () => {});
  slots.all(["c", "d", "e"], () => {});
  assert.deepEqual(slotsOf(slots), { c: FIRST + 2, d: FIRST, e: FIRST + 1 });
});
