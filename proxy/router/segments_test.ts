import assert from "node:assert/strict";
import { Segments } from "./segments.ts";

/** Two texts of the same hash: 31 * "A" + "a" is 31 * "B" + "B". */
const ALIKE = ["Aa", "BB"];

const NAMES = ["a", "b", "ab", "__proto__", "", "ä", "%2F", "v1", "v10", "x".repeat(300), "Aa"];

for (const more of [0, 100]) {
  Deno.test(`a segment among ${NAMES.length + more} is found only as a whole segment`, () => {
    const names = [...NAMES, ...Array.from({ length: more }, (_, i) => `more-${i}`)];
    const segments = new Segments<string>();
    for (const name of names) {
      assert.equal(segments.get(name), undefined);
      segments.set(name, `of ${name}`);
      assert.equal(segments.get(name), `of ${name}`);
    }
    for (const name of names) {
      for (const path of [`/${name}`, `/${name}/`, `/${name}/b`]) {
        assert.equal(segments.find(path, 1), `of ${name}`, path);
      }
      assert.equal(segments.find(`/first/${name}/b`, 7), `of ${name}`);
      for (const other of [`${name}-`, `-${name}`, `${name}${"x".repeat(300)}`]) {
        if (!names.includes(other)) assert.equal(segments.find(`/${other}/b`, 1), undefined, other);
      }
    }
  });
}

Deno.test("segments with the same hash are distinguished", () => {
  const segments = new Segments<number>();
  segments.set(ALIKE[0], 0);
  assert.equal(segments.find(`/${ALIKE[1]}`, 1), undefined);
  segments.set(ALIKE[1], 1);
  assert.deepEqual(ALIKE.map((name) => segments.find(`/${name}/`, 1)), [0, 1]);
});
