import assert from "node:assert/strict";
import { asciiBytes } from "./fields.ts";
import { equalsLower, equalsText } from "./letter_case.ts";

Deno.test("letters are compared without regard to case, and nothing else is", () => {
  const cases: readonly (readonly [bytes: string, lower: string, isEqual: boolean])[] = [
    ["x-team", "x-team", true],
    ["X-Team: a", "x-team", true],
    ["X-TEAM", "x-teams", false],
    ["x-tean", "x-team", false],
    // Each differs in the bit by which letters differ.
    ["x\rteam", "x-team", false],
    ["X@", "x`", false],
    ["X[", "x{", false],
    ["x", "\u0178", false],
    ["", "", true],
  ];
  for (const [text, lower, isEqual] of cases) {
    assert.equal(equalsText(asciiBytes(text), 0, lower), isEqual, `${text} ${lower}`);
    if (lower.charCodeAt(0) > 255) continue;
    assert.equal(equalsLower(asciiBytes(text), 0, asciiBytes(lower)), isEqual, `${text} ${lower}`);
  }
  assert.equal(equalsText(asciiBytes("a: X-Team"), 3, "x-team"), true);
});
