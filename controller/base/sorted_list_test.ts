import assert from "node:assert/strict";
import { randomNumbers, shuffle } from "../../tests/support/rich_cluster.ts";
import { SortedList } from "./sorted_list.ts";

const byNumber = (a: { n: number }, b: { n: number }) => a.n - b.n;

Deno.test("a list is sorted, however it differs from the previous one", () => {
  const random = randomNumbers(3);
  const all = Array.from({ length: 100 }, (_, n) => ({ n }));
  const sorted = new SortedList(byNumber);
  let items = shuffle(all, random).slice(0, 50);
  for (let step = 0; step < 2000; step++) {
    const expected = items.toSorted(byNumber);
    assert.deepEqual(sorted.of(items), expected);
    assert.equal(sorted.of([...items]), sorted.of(items));
    for (let change = Math.floor(random() * 4); change > 0; change--) {
      const index = Math.floor(random() * items.length);
      const other = all.filter((item) => !items.includes(item))[Math.floor(random() * 10)];
      const choice = random();
      if (choice < 0.3) items = items.toSpliced(index, 1);
      else if (choice < 0.6 && other !== undefined) items = items.toSpliced(index, 0, other);
      else if (choice < 0.9 && other !== undefined) items = items.with(index, other);
      else items = shuffle(items, random);
    }
  }
});
