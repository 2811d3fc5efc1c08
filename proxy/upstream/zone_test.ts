import assert from "node:assert/strict";
import { meantFor } from "./zone.ts";

/** Zones by letters: `a,ab,-` is one for a, one for a and b, one without hints. */
function chosen(zone: string | null, hints: string): string {
  const endpoints = hints.split(",").map((letters) =>
    letters === "-" ? {} : { hints: [...letters] }
  );
  const meant = meantFor(zone, endpoints);
  return meant === null ? "all" : meant.map((isMeant) => isMeant ? "1" : "0").join("");
}

const CASES: readonly [says: string, zone: string | null, hints: string, expected: string][] = [
  ["only endpoints hinted for its zone are used", "a", "a,b,ab,c", "1010"],
  ["without a zone all are", null, "a,b", "all"],
  ["where one has no hints all are", "a", "a,-,b", "all"],
  ["an empty list of hints is none", "a", "a,,b", "all"],
  ["where none is hinted for the zone all are", "z", "a,b", "all"],
  ["where each is hinted for the zone all are", "a", "a,ab", "all"],
];
for (const [says, zone, hints, expected] of CASES) {
  Deno.test(`zones: ${says}`, () => assert.equal(chosen(zone, hints), expected));
}

Deno.test("zones: no endpoints are not an error", () => assert.equal(meantFor("a", []), null));
