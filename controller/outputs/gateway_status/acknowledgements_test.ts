import { equal } from "node:assert/strict";
import type { SnapshotVersion } from "../../../shared/snapshot/types.ts";
import { Acknowledgements } from "./acknowledgements.ts";

const version = (seen: Readonly<Record<string, string>>, epoch = "one"): SnapshotVersion => ({
  ...{ epoch, seen },
});
const seen = (gateway: string, ingress = "1") => version({ Gateway: gateway, Ingress: ingress });

function threeContents(): Acknowledgements {
  const all = new Acknowledgements();
  all.sent("a", seen("5"));
  all.sent("b", seen("9"));
  all.sent("c", seen("10"));
  return all;
}

const CASES: readonly (readonly [
  what: string,
  hash: string | null,
  version: SnapshotVersion | null,
  sequence: number,
])[] = [
  ["the newest content", "c", seen("10"), 3],
  ["the newest content under another version", "c", seen("1"), 3],
  ["an older content", "b", seen("9"), 2],
  ["a content that another replica made of more", "x", seen("11"), 3],
  ["a content that another replica made of as much", "x", seen("10"), 3],
  ["a content that another replica made of less", "x", seen("9"), 2],
  ["a content that is older than all", "x", seen("4"), 0],
  ["a newer version that is behind in another kind", "x", seen("11", "0"), 0],
  ["a version of another cluster", "x", version({ Gateway: "11", Ingress: "1" }, "two"), 0],
  ["a version without Gateways", "x", version({ Ingress: "11" }), 0],
  ["a version with more kinds", "x", version({ Gateway: "10", Ingress: "1", Pod: "1" }), 3],
  ["an older content under a newer version", "a", seen("10"), 3],
  ["nothing", null, null, 0],
];

for (const [what, hash, version, sequence] of CASES) {
  Deno.test(`a proxy with ${what} has ${sequence} of 3 contents`, () => {
    equal(threeContents().sequenceOf({ hash, version }), sequence);
  });
}

Deno.test("a content that comes again counts as the newest", () => {
  const all = threeContents();
  equal(all.sent("a", seen("12")), 4);
  equal(all.sequenceOf({ hash: "a", version: seen("5") }), 4);
  equal(all.sequenceOf({ hash: "b", version: null }), 2);
});

Deno.test("where versions do not count Gateways, only equal contents count", () => {
  const all = new Acknowledgements();
  all.sent("a", version({ Ingress: "1" }));
  all.sent("b", version({ Ingress: "1" }));
  equal(all.sequenceOf({ hash: "x", version: version({ Ingress: "1" }) }), 0);
  equal(all.sequenceOf({ hash: "b", version: version({ Ingress: "1" }) }), 2);
});

Deno.test("of thousands of contents the last are remembered", () => {
  const all = new Acknowledgements();
  for (let i = 1; i <= 2000; i++) all.sent(`${i}`, version({ Ingress: "1" }));
  equal(all.sequenceOf({ hash: "1999", version: null }), 1999);
  equal(all.sequenceOf({ hash: "1", version: null }), 0);
});
