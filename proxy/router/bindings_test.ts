import assert from "node:assert/strict";
import { Random } from "../../tests/fuzz/random.ts";
import { Bindings, type NumberedBinding } from "./bindings.ts";

Deno.test("lists that are added and removed keep their own bindings, and their slots are reused", () => {
  const random = new Random(7);
  const bindings = new Bindings();
  const lists = new Map<string, { start: number; tree: number; list: NumberedBinding[] }>();
  const expectWhole = (name: string) => {
    const { start, tree, list } = lists.get(name)!;
    assert.equal(bindings.tree(start), tree);
    assert.equal(bindings.length(start), list.length);
    const found = list.map((_, i) => {
      const place = bindings.place(start, i);
      return { target: bindings.target(place), counters: bindings.counters(place) };
    });
    assert.deepEqual(found, list);
  };
  let end = 0;
  let serial = 0;
  for (let turn = 0; turn < 20_000; turn++) {
    const name = `list ${random.below(50)}`;
    const before = lists.get(name);
    if (before !== undefined) bindings.remove(before.start);
    lists.delete(name);
    if (random.oneIn(4)) continue;
    const list = Array.from(
      { length: random.between(1, 20) },
      () => ({ target: serial++, counters: -serial }),
    );
    const tree = serial++;
    const start = bindings.put(tree, list);
    lists.set(name, { start, tree, list });
    end = Math.max(end, bindings.place(start, list.length));
    expectWhole(random.pick([...lists.keys()]));
  }
  for (const name of lists.keys()) expectWhole(name);
  // 50 lists at a time, each in at most 64 places of one of five sizes.
  assert.ok(end <= 50 * 5 * 64, `${end} places`);
});
