import assert from "node:assert/strict";
import { isCalm } from "./settle.ts";

const MIB = 2 ** 20;
const same = (count: number) => Array.from({ length: count }, () => 100 * MIB);

Deno.test("memory has settled when it is unchanged for fifteen seconds", () => {
  const cases: [string, number[], boolean][] = [
    ["no look yet", [], false],
    ["too short", same(30), false],
    ["long enough", same(31), true],
    ["the noise of an idle program", [...same(30), 100.4 * MIB], true],
    ["it still grows", [...same(30), 102 * MIB], false],
    ["something was just given back", [...same(30), 90 * MIB], false],
    ["it came back to where it was", [...same(15), 120 * MIB, ...same(15)], false],
  ];
  for (const [name, looks, expected] of cases) assert.equal(isCalm(looks), expected, name);
});
