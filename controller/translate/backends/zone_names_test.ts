import assert from "node:assert/strict";
import { readZones } from "./zone_names.ts";

const LONG = "z".repeat(64);

Deno.test("a zone is the value of a label, else there is none", () => {
  const table: [written: unknown, zone: string | null, refused: "zone" | null][] = [
    [undefined, null, null],
    [null, null, null],
    ["", null, null],
    [7, null, null],
    ["a", "a", null],
    ["eu-central_1.A", "eu-central_1.A", null],
    [LONG.slice(1), LONG.slice(1), null],
    [LONG, null, "zone"],
    ["z".repeat(110_000), null, "zone"],
    ["-a", null, "zone"],
    ["a-", null, "zone"],
    ["rack 7", null, "zone"],
    ["zöne", null, "zone"],
    ["a\n", null, "zone"],
  ];
  for (const [written, zone, refused] of table) {
    assert.deepEqual(readZones({ zone: written }, true), { zone, hints: null, refused });
  }
});

Deno.test("up to eight hints are taken, all of them or none", () => {
  const read = (...names: unknown[]) =>
    readZones({ hints: { forZones: names.map((name) => ({ name })) } }, true);
  assert.deepEqual(read("b", "a", "b"), { zone: null, hints: ["a", "b"], refused: null });
  assert.deepEqual(read(...[..."hgfedcba"]).hints, [..."abcdefgh"]);
  assert.deepEqual(read(...[..."ihgfedcba"]), { zone: null, hints: null, refused: "hints" });
  assert.deepEqual(read("a", LONG), { zone: null, hints: null, refused: "hints" });
  assert.deepEqual(read(7, "a").hints, ["a"]);
  assert.equal(readZones({ hints: { forZones: [{ name: LONG }] } }, false).refused, null);
});
