import assert from "node:assert/strict";
import { Random } from "../../tests/fuzz/random.ts";
import { NameTable, NO_NAME } from "./name_table.ts";

/** Of all lengths, some too long for a slot, some no ASCII, many alike. */
function randomName(random: Random): string {
  const name = "abcd.-".repeat(12).slice(0, random.below(70)) + random.below(300);
  return random.oneIn(20) ? `${name}ü` : name;
}

for (const steps of [1, 3, undefined]) {
  const about = steps === undefined ? "" : `, also where ${steps} that meet are too many`;
  Deno.test(`a name has its last assigned number, as others are added and removed${about}`, () => {
    const random = new Random(3);
    const table = new NameTable({ seed: 3, steps });
    const expected = new Map<string, number>();
    for (let turn = 0; turn < 50_000; turn++) {
      const name = randomName(random);
      if (random.oneIn(3)) {
        table.delete(name);
        expected.delete(name);
      } else {
        table.set(name, turn, -turn);
        expected.set(name, turn);
      }
      const other = randomName(random);
      assert.equal(table.get(other), expected.get(other) ?? NO_NAME, other);
      if (expected.has(other)) assert.equal(table.beside, -expected.get(other)!, other);
      assert.equal(table.size, expected.size);
    }
    assert.ok(expected.size > 2_000, `${expected.size} names`);
    for (const [name, number] of expected) {
      assert.equal(table.get(name), number, name);
      assert.equal(table.get(`*.${name}`, 2), number, name);
      assert.equal(table.beside, -number, name);
      table.delete(name);
    }
    assert.equal(table.size, 0);
  });
}

Deno.test("names that differ in length or in one character are distinguished", () => {
  const names = ["", "\0", "a", "a\0", "a\0\0\0", "abcd", "abcde", "Abcd", "a\u0161"];
  // A slot holds 52 bytes.
  for (const length of [51, 52, 53]) names.push("a".repeat(length), `${"a".repeat(length - 1)}b`);
  const table = new NameTable();
  for (const [number, name] of names.entries()) table.set(name, number);
  assert.deepEqual(names.map((name) => table.get(name)), names.map((_, number) => number));
  assert.equal(table.get("b"), NO_NAME);
});

Deno.test("100,000 names are all found, and others are not", () => {
  const table = new NameTable();
  const name = (number: number) => `h${number}.example.test`;
  for (let number = 0; number < 100_000; number++) table.set(name(number), number);
  for (let number = 0; number < 100_000; number++) assert.equal(table.get(name(number)), number);
  for (let number = 100_000; number < 110_000; number++) {
    assert.equal(table.get(name(number)), NO_NAME);
  }
});
