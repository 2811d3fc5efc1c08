import assert from "node:assert/strict";
import { RouteCounters } from "./route_counters.ts";
import { DEFAULT_SLOT, OTHER_SLOT } from "./series_slots.ts";

/** Slots change, and the routes follow. */
function change(
  counters: RouteCounters,
  added: readonly [string, number][],
  removed: readonly string[] = [],
): void {
  counters.change({ added, removed });
  counters.inForce();
}

Deno.test("an exchange counts in the slot of its route while the route exists", () => {
  const counters = new RouteCounters(false);
  change(counters, [["a", 10], ["b", 11]]);
  const a = counters.numberOf("a");
  const age = counters.age;
  assert.equal(counters.slotOf(a, age), 10);
  assert.equal(counters.idOf(a), "a");
  assert.equal(counters.idAt(a, age), "a");
  change(counters, [["c", 12]], ["b"]);
  assert.equal(counters.slotOf(a, age), 10);
  assert.equal(counters.slotOf(a, counters.age), 10);
  assert.equal(counters.slotOf(counters.numberOf(null), counters.age), DEFAULT_SLOT);
  assert.equal(counters.idOf(counters.numberOf(null)), null);
  assert.equal(counters.slotOf(counters.numberOf("unknown"), counters.age), OTHER_SLOT);
});

Deno.test("an exchange of a removed route counts as other, whichever route has its slot by then", () => {
  const counters = new RouteCounters(false);
  change(counters, [["a", 10]]);
  const a = counters.numberOf("a");
  const age = counters.age;
  counters.change({ added: [], removed: ["a"] });
  assert.equal(counters.slotOf(a, age), OTHER_SLOT);
  assert.equal(counters.idAt(a, age), null);
  // Routed before the routes have followed.
  assert.equal(counters.slotOf(a, counters.age), OTHER_SLOT);
  counters.inForce();
  change(counters, [["b", 10]]);
  assert.equal(counters.slotOf(a, age), OTHER_SLOT);
  assert.equal(counters.slotOf(counters.numberOf("b"), counters.age), 10);
  assert.equal(counters.idAt(a, age), null);
  assert.equal(counters.idAt(counters.numberOf("b"), counters.age), "b");
  // It may come back.
  change(counters, [["a", 11]], ["b"]);
  assert.equal(counters.slotOf(a, age), OTHER_SLOT);
  assert.equal(counters.slotOf(counters.numberOf("a"), counters.age), 11);
});

Deno.test("a route without its own slot gets one without being bound again", () => {
  const counters = new RouteCounters(false);
  change(counters, [["a", 10], ["b", OTHER_SLOT], ["c", OTHER_SLOT]]);
  const [b, c] = [counters.numberOf("b"), counters.numberOf("c")];
  const age = counters.age;
  assert.deepEqual([b, c].map((number) => counters.slotOf(number, age)), [OTHER_SLOT, OTHER_SLOT]);
  assert.deepEqual([b, c].map((number) => counters.idOf(number)), ["b", "c"]);
  change(counters, [["b", 10]], ["a"]);
  assert.equal(counters.numberOf("b"), b);
  for (const at of [age, counters.age]) {
    assert.deepEqual([b, c].map((number) => counters.slotOf(number, at)), [10, OTHER_SLOT]);
  }
  // Its stand-in may be another's afterwards.
  change(counters, [["d", OTHER_SLOT]], ["b"]);
  change(counters, [["d", 10]]);
  const d = counters.numberOf("d");
  assert.equal(counters.slotOf(d, counters.age), 10);
  assert.equal(counters.idOf(d), "d");
  assert.equal(counters.slotOf(b, age), OTHER_SLOT);
  // While its binding is in force, its number is nobody else's.
  counters.change({ added: [["e", OTHER_SLOT]], removed: ["d"] });
  assert.equal(counters.idOf(d), "d");
  assert.equal(counters.slotOf(d, counters.age), OTHER_SLOT);
});

Deno.test("however many routes without a slot are removed at once, their placeholders are reused", () => {
  const counters = new RouteCounters(false);
  const ids = Array.from({ length: 300_000 }, (_, i) => `route ${i}`);
  change(counters, ids.map((id) => [id, OTHER_SLOT]));
  const before = new Set(ids.map((id) => counters.numberOf(id)));
  change(counters, [], ids);
  change(counters, [["new", OTHER_SLOT]]);
  assert.ok(before.has(counters.numberOf("new")));
});
