import assert from "node:assert/strict";
import { nearestName } from "./nearest_name.ts";

const NAMES = ["rules", "tls", "pathType", "defaultBackend", "name"];

/** What was written, and what was meant. */
const WRITTEN: readonly (readonly [string, string | null])[] = [
  ["rule", "rules"],
  ["rulse", "rules"],
  ["pathTyp", "pathType"],
  ["PATHTYPE", "pathType"],
  ["defaultBakend", "defaultBackend"],
  ["nmae", "name"],
  ["replicas", null],
  ["", null],
  ["x".repeat(1_000_000), null],
];

for (const [written, meant] of WRITTEN) {
  Deno.test(`${written.slice(0, 20) || "nothing"} is close to ${meant ?? "no name"}`, () => {
    assert.equal(nearestName(written, NAMES), meant);
  });
}

Deno.test("of two equally close names the first one is suggested", () => {
  assert.equal(nearestName("pat", ["path", "part"]), "path");
});
