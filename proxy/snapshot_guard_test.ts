import assert from "node:assert/strict";
import type { Route, Snapshot } from "../shared/snapshot.ts";
import { snapshotOf } from "../tests/support/test_proxy.ts";
import { objectionTo } from "./snapshot_guard.ts";

function seeing(seen: Record<string, string>, epoch = "cluster"): Snapshot {
  return { ...snapshotOf([]), version: { epoch, seen } };
}

function withRoutes(count: number): Snapshot {
  const [route] = snapshotOf([]).routes;
  const routes: Route[] = Array.from({ length: count }, (_, i) => ({ ...route, id: `${i}` }));
  return { ...snapshotOf([]), routes };
}

Deno.test("a snapshot that has seen less of the same cluster is refused, any other is not", () => {
  const table: [next: Snapshot, current: Snapshot, refused: boolean][] = [
    [seeing({ Ingress: "99" }), seeing({ Ingress: "100" }), true],
    [seeing({ Ingress: "100" }), seeing({ Ingress: "100" }), false],
    [seeing({ Ingress: "101" }), seeing({ Ingress: "100" }), false],
    [seeing({ Ingress: "99", Service: "5" }), seeing({ Ingress: "100", Service: "5" }), true],
    // Neither is older than the other.
    [seeing({ Ingress: "99", Service: "6" }), seeing({ Ingress: "100", Service: "5" }), false],
    [seeing({ Ingress: "99" }, "rebuilt"), seeing({ Ingress: "100" }), false],
    [seeing({}), seeing({ Ingress: "100" }), false],
    [seeing({ Service: "1" }), seeing({ Ingress: "100" }), false],
    // Beyond what a number holds.
    [seeing({ Ingress: "9007199254740993" }), seeing({ Ingress: "9007199254740994" }), true],
  ];
  for (const [next, current, refused] of table) {
    const objection = objectionTo(next, current, 0);
    assert.equal(objection?.path, refused ? "$.version.seen" : undefined);
  }
});

Deno.test("more routes than --max-route-loss says do not go at once", () => {
  const table: [next: number, current: number, limit: number, refused: boolean][] = [
    [0, 10, 0, false],
    [0, 10, 90, true],
    [1, 10, 90, false],
    [9, 10, 10, false],
    [8, 10, 10, true],
    [20, 10, 10, false],
    [0, 0, 10, false],
    [0, 10, 100, false],
  ];
  for (const [next, current, limit, refused] of table) {
    const objection = objectionTo(withRoutes(next), withRoutes(current), limit);
    assert.equal(objection?.path, refused ? "$.routes" : undefined, `${next} of ${current}`);
  }
});
