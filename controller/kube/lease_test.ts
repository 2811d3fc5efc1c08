import assert from "node:assert/strict";
import {
  heldSpec,
  holderOf,
  type Lease,
  type LeaseSpec,
  microTime,
  type Observation,
  observe,
  releasedSpec,
  standingOf,
} from "./lease.ts";

const DURATION = 15_000;

function lease(spec?: LeaseSpec): Lease {
  return { metadata: { name: "l", namespace: "n", resourceVersion: "1" }, spec };
}

function held(by: string, renewTime = microTime(0), seconds = 15): Lease {
  return lease({
    holderIdentity: by,
    leaseDurationSeconds: seconds,
    acquireTime: microTime(0),
    renewTime,
    leaseTransitions: 3,
  });
}

const released = lease(releasedSpec(held("a"), 0));

Deno.test("a lease is free once its holder may no longer lead", () => {
  const cases: readonly [what: string, seen: readonly (Lease | null)[], patience: number][] = [
    ["none, at the first look", [null], 0],
    ["held", [held("a")], 15_000],
    ["held by one with a longer lease", [held("a", microTime(0), 60)], 60_000],
    ["held by one with a shorter lease", [held("a", microTime(0), 1)], 15_000],
    ["released", [held("a"), released], 0],
    ["released, at the first look", [released], 0],
    ["emptied by hand", [held("a"), lease({ ...held("a").spec, holderIdentity: "" })], 15_000],
    ["without any field", [lease({})], 15_000],
    ["without a spec", [lease()], 15_000],
    ["deleted by hand", [held("a"), null], 15_000],
    ["deleted by hand under one with a longer lease", [held("a", microTime(0), 60), null], 60_000],
    ["deleted after a release, possibly held by another since", [released, null], 15_000],
    ["deleted, made again and deleted", [held("a"), null, held("a"), null], 15_000],
  ];
  for (const [what, seen, patience] of cases) {
    let observation: Observation | null = null;
    for (const one of seen) observation = observe(observation, one, 100, DURATION);
    const at = (now: number) => standingOf(observation!, "b", now).kind;
    assert.equal(at(100 + patience), "free", what);
    if (patience > 0) assert.equal(at(100 + patience - 1), "held", what);
  }
});

Deno.test("a lease that is missing at the first look is free if nobody can have led before", () => {
  const [now, patience] = [100, DURATION];
  const standing = (isNew: boolean) =>
    standingOf(observe(null, null, now, DURATION, isNew), "b", now);
  assert.deepEqual(standing(true), { kind: "free" });
  assert.deepEqual(standing(false), { kind: "held", until: now + patience });
});

Deno.test("only an observed renewal restarts the holder's time", () => {
  let observation = observe(null, held("a", microTime(1)), 0, DURATION);
  const touched = { ...held("a", microTime(1)), metadata: { name: "l", resourceVersion: "2" } };
  observation = observe(observation, touched, 14_000, DURATION);
  assert.equal(observation.since, 0);
  assert.equal(observation.lease, touched, "the newest resourceVersion is the one to replace");
  observation = observe(observation, held("a", microTime(2)), 14_500, DURATION);
  assert.deepEqual(standingOf(observation, "b", 29_000), { kind: "held", until: 29_500 });
});

Deno.test("times in a lease decide nothing, however wrong the holder's clock is", () => {
  for (const renewTime of ["1970-01-01T00:00:00.000000Z", "9999-01-01T00:00:00.000000Z"]) {
    const observation = observe(null, held("a", renewTime), 0, DURATION);
    assert.equal(standingOf(observation, "b", DURATION - 1).kind, "held");
    assert.equal(standingOf(observation, "b", DURATION).kind, "free");
  }
});

Deno.test("our own lease is ours at any age", () => {
  assert.equal(standingOf(observe(null, held("a"), 0, DURATION), "a", 1e9).kind, "ours");
});

Deno.test("a renewal keeps the holder's data, and a change of holder increments leaseTransitions", () => {
  const now = Date.parse("2026-11-21T17:37:54.123Z");
  assert.deepEqual(heldSpec(null, "a", 2_500, now), {
    holderIdentity: "a",
    leaseDurationSeconds: 3,
    acquireTime: "2026-11-21T17:37:54.123000Z",
    renewTime: "2026-11-21T17:37:54.123000Z",
    leaseTransitions: 0,
  });
  const renewal = heldSpec(held("a"), "a", DURATION, now);
  assert.deepEqual(renewal, { ...held("a").spec, renewTime: microTime(now) });
  const takeOver = heldSpec(held("a"), "b", DURATION, now);
  assert.equal(takeOver.leaseTransitions, 4);
  assert.equal(takeOver.acquireTime, microTime(now));
  assert.equal(heldSpec(released, "a", DURATION, now).leaseTransitions, 4);
  assert.equal(heldSpec(lease({}), "a", DURATION, now).leaseTransitions, 1);
});

Deno.test("a leaseTransitions edited to the maximum blocks no replica", () => {
  const most = lease({ ...held("a").spec, leaseTransitions: 2 ** 31 - 1 });
  assert.equal(heldSpec(most, "b", DURATION, 0).leaseTransitions, 2 ** 31 - 1);
});

Deno.test("unknown fields of a lease are kept", () => {
  const odd = lease({ ...held("a").spec, strategy: "OldestEmulationVersion" } as LeaseSpec);
  for (const spec of [heldSpec(odd, "a", DURATION, 0), releasedSpec(odd, 0)]) {
    assert.equal((spec as Record<string, unknown>).strategy, "OldestEmulationVersion");
  }
});

Deno.test("a released lease has no holder and a duration of one second, as in client-go", () => {
  assert.equal(holderOf(released), null);
  assert.deepEqual(released.spec, {
    holderIdentity: "",
    leaseDurationSeconds: 1,
    acquireTime: microTime(0),
    renewTime: microTime(0),
    leaseTransitions: 3,
  });
});
