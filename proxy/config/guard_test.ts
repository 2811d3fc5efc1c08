import assert from "node:assert/strict";
import type { Route, Snapshot } from "../../shared/snapshot/types.ts";
import { snapshotOf } from "../../tests/support/test_proxy.ts";
import { objectionTo, type Origin } from "./guard.ts";

function seeing(seen: Record<string, string>, epoch = "cluster"): Snapshot {
  return { ...snapshotOf([]), version: { epoch, seen } };
}

function withRoutes(count: number): Snapshot {
  const [route] = snapshotOf([]).routes;
  const routes: Route[] = Array.from({ length: count }, (_, i) => ({ ...route, id: `${i}` }));
  return { ...snapshotOf([]), routes };
}

const ALONE = { maxRouteLoss: 0, hasStream: false, memory: null };

function file(snapshot: Snapshot) {
  return { snapshot, origin: "file", isWhole: true } as const;
}

function inForce(snapshot: Snapshot, origin: Origin = "file") {
  return { snapshot, origin };
}

Deno.test("a snapshot with older resource versions of the same cluster is rejected, any other is accepted", () => {
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
    const objection = objectionTo(file(next), inForce(current), ALONE);
    assert.equal(objection?.problem.path, refused ? "$.version.seen" : undefined);
  }
});

Deno.test("a snapshot that removes more routes than --max-route-loss allows is rejected", () => {
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
    const rules = { ...ALONE, maxRouteLoss: limit };
    const objection = objectionTo(file(withRoutes(next)), inForce(withRoutes(current)), rules);
    assert.equal(
      objection?.problem.path,
      refused ? "$.routes" : undefined,
      `${next} of ${current}`,
    );
  }
});

Deno.test("with a stream the version decides, and if it does not, the stream does", () => {
  const V1 = { Ingress: "100", Service: "5" };
  const same = seeing(V1);
  const newer = seeing({ ...V1, Service: "6" });
  const older = seeing({ ...V1, Service: "4" });
  const mixed = seeing({ Ingress: "99", Service: "6" });
  const other = seeing(V1, "rebuilt");
  type Found = "taken" | "late" | "older";
  const table: [next: Snapshot, from: Origin, current: Origin, found: Found][] = [
    [newer, "file", "file", "taken"],
    [newer, "file", "stream", "taken"],
    [newer, "stream", "file", "taken"],
    [newer, "stream", "stream", "taken"],
    [same, "file", "file", "taken"],
    [same, "file", "stream", "late"],
    [same, "stream", "file", "taken"],
    [same, "stream", "stream", "taken"],
    [older, "file", "file", "older"],
    [older, "file", "stream", "late"],
    [older, "stream", "file", "older"],
    [older, "stream", "stream", "older"],
    [mixed, "file", "file", "older"],
    [mixed, "file", "stream", "late"],
    [mixed, "stream", "file", "older"],
    [mixed, "stream", "stream", "older"],
    [other, "file", "file", "older"],
    [other, "file", "stream", "older"],
    [other, "stream", "file", "taken"],
    [other, "stream", "stream", "taken"],
  ];
  const rules = { ...ALONE, hasStream: true };
  for (const [snapshot, origin, current, found] of table) {
    for (const isWhole of [true, false]) {
      const offer = { snapshot, origin, isWhole };
      const objection = objectionTo(offer, inForce(seeing(V1), current), rules);
      const is = objection === null ? "taken" : objection.isLate ? "late" : objection.code;
      assert.equal(is, found, `${JSON.stringify(snapshot.version)} from ${origin} on ${current}`);
    }
  }
});

Deno.test("an empty full snapshot of the stream is rejected while another one is active", () => {
  const nothing = withRoutes(0);
  const answer = { kind: "reply", status: 503, reason: "" } as const;
  const table: [next: Snapshot, current: Snapshot, isWhole: boolean, refused: boolean][] = [
    [nothing, withRoutes(1), true, true],
    [nothing, withRoutes(1), false, false],
    [nothing, nothing, true, false],
    [{ ...nothing, defaultAction: answer }, withRoutes(1), true, false],
    [nothing, { ...nothing, defaultAction: answer }, true, true],
  ];
  const rules = { ...ALONE, hasStream: true };
  for (const [snapshot, current, isWhole, refused] of table) {
    for (const origin of ["file", "stream"] as const) {
      const offer = { snapshot, origin, isWhole };
      const code = objectionTo(offer, inForce(current), rules)?.code;
      assert.equal(code, refused && origin === "stream" ? "empty" : undefined);
    }
  }
});

Deno.test("a snapshot that does not fit --memory-limit is rejected, including the first one", () => {
  const MIB = 1024 * 1024;
  const table: [routes: number, limit: number, workers: number, isRefused: boolean][] = [
    [1_000, 256 * MIB, 4, false],
    [60_000, 1024 * MIB, 4, true],
    [60_000, 1024 * MIB, 1, false],
    [60_000, 2048 * MIB, 4, false],
    [210_000, 1024 * MIB, 4, true],
    // The process by itself takes more: a limit so low is no reason to serve nothing.
    [100, 64 * MIB, 4, false],
  ];
  for (const [routes, limit, workers, isRefused] of table) {
    const rules = { ...ALONE, memory: { limit, workers } };
    for (const current of [null, inForce(withRoutes(1))]) {
      const objection = objectionTo(file(withRoutes(routes)), current, rules);
      assert.equal(objection?.code, isRefused ? "invalid" : undefined, `${routes} in ${limit}`);
    }
  }
});

Deno.test("an older snapshot is reported as older, whatever its size", () => {
  const rules = { ...ALONE, hasStream: true, memory: { limit: 1, workers: 1 } };
  const large = { ...withRoutes(100_000), version: { epoch: "cluster", seen: { Ingress: "1" } } };
  const offer = { snapshot: large, origin: "stream", isWhole: true } as const;
  assert.equal(objectionTo(offer, inForce(seeing({ Ingress: "2" })), rules)?.code, "older");
});
