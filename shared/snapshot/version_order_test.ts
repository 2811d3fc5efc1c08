import assert from "node:assert/strict";
import type { SnapshotVersion } from "./types.ts";
import { compareVersions, type VersionOrder } from "./version_order.ts";

function seeing(seen: Record<string, string>, epoch = "cluster"): SnapshotVersion {
  return { epoch, seen };
}

Deno.test("a version is newer only if one component is higher and none is lower", () => {
  const table: [next: SnapshotVersion, current: SnapshotVersion, order: VersionOrder][] = [
    [seeing({ Ingress: "101" }), seeing({ Ingress: "100" }), "newer"],
    [seeing({ Ingress: "101", Service: "5" }), seeing({ Ingress: "100", Service: "5" }), "newer"],
    [seeing({ Ingress: "100" }), seeing({ Ingress: "100" }), "same"],
    [seeing({ Ingress: "99" }), seeing({ Ingress: "100" }), "older"],
    [seeing({ Ingress: "99", Service: "5" }), seeing({ Ingress: "100", Service: "5" }), "older"],
    [seeing({ Ingress: "99", Service: "6" }), seeing({ Ingress: "100", Service: "5" }), "mixed"],
    [seeing({ Ingress: "101", Service: "4" }), seeing({ Ingress: "100", Service: "5" }), "mixed"],
    [seeing({ Ingress: "101" }, "rebuilt"), seeing({ Ingress: "100" }), "other-epoch"],
    [seeing({}, "file"), seeing({}), "other-epoch"],
    // Kinds that only one of them has watched tell nothing.
    [seeing({}), seeing({ Ingress: "100" }), "same"],
    [seeing({ Ingress: "1" }), seeing({}), "same"],
    [seeing({ Ingress: "101", Gateway: "1" }), seeing({ Ingress: "100", Secret: "9" }), "newer"],
    // Not by text, and beyond what a number holds.
    [seeing({ Ingress: "100" }), seeing({ Ingress: "99" }), "newer"],
    [seeing({ Ingress: "0100" }), seeing({ Ingress: "100" }), "same"],
    [seeing({ Ingress: "9007199254740993" }), seeing({ Ingress: "9007199254740994" }), "older"],
    // Kinds with the names of what every object inherits.
    [seeing({ toString: "1" }), seeing({}), "same"],
    [
      { epoch: "cluster", seen: JSON.parse('{"__proto__":"2"}') },
      { epoch: "cluster", seen: JSON.parse('{"__proto__":"1"}') },
      "newer",
    ],
  ];
  for (const [next, current, order] of table) {
    assert.equal(compareVersions(next, current), order, JSON.stringify([next, current]));
  }
});

Deno.test("if one version is newer than another, that one is older", () => {
  const versions = ["0", "1", "2"].flatMap((a) =>
    ["0", "1", "2"].map((b) => seeing({ Ingress: a, Service: b }))
  );
  const reversed: Partial<Record<VersionOrder, VersionOrder>> = { newer: "older", older: "newer" };
  for (const a of versions) {
    for (const b of versions) {
      const order = compareVersions(a, b);
      assert.equal(compareVersions(b, a), reversed[order] ?? order);
    }
  }
});
