import assert from "node:assert/strict";
import { ManualClock, systemClock } from "./clock.ts";
import { Lifecycle, LIFECYCLE_STATES } from "./lifecycle.ts";

Deno.test("the state only moves forward", () => {
  for (const from of LIFECYCLE_STATES) {
    for (const to of LIFECYCLE_STATES) {
      const lifecycle = new Lifecycle();
      lifecycle.enter(from);
      const forward = LIFECYCLE_STATES.indexOf(to) > LIFECYCLE_STATES.indexOf(from);
      assert.equal(lifecycle.enter(to), forward, `${from} to ${to}`);
      assert.equal(lifecycle.state, forward ? to : from);
    }
  }
});

Deno.test("subscribers are called once for every change, until they unsubscribe", () => {
  const lifecycle = new Lifecycle();
  const heard: string[] = [];
  const leave = lifecycle.subscribe((state, previous) => heard.push(`${previous}>${state}`));
  lifecycle.enter("ready");
  lifecycle.enter("ready");
  lifecycle.enter("draining");
  leave();
  lifecycle.enter("stopped");
  assert.deepEqual(heard, ["starting>ready", "ready>draining"]);
});

Deno.test("an exception of one subscriber does not affect the others", () => {
  const lifecycle = new Lifecycle();
  let heard = false;
  lifecycle.subscribe(() => {
    throw new Error("mine");
  });
  lifecycle.subscribe(() => heard = true);
  assert.throws(() => lifecycle.enter("ready"), /mine/);
  assert.ok(heard);
  assert.equal(lifecycle.state, "ready");
});

Deno.test("readiness needs the state ready and no obstacle", () => {
  const lifecycle = new Lifecycle();
  assert.deepEqual(lifecycle.readiness(), { ready: false, reason: "starting" });
  lifecycle.setObstacle("listener", "the port does not answer");
  lifecycle.enter("ready");
  assert.deepEqual(lifecycle.readiness(), {
    ready: false,
    reason: "listener: the port does not answer",
  });
  lifecycle.clearObstacle("listener");
  assert.deepEqual(lifecycle.readiness(), { ready: true });
  lifecycle.enter("draining");
  assert.deepEqual(lifecycle.readiness(), { ready: false, reason: "draining" });
});

Deno.test("waiting for a state ends when it or a later one is reached", async () => {
  const lifecycle = new Lifecycle();
  const ready = lifecycle.reached("ready");
  lifecycle.enter("draining");
  await ready;
  await lifecycle.reached("draining");
});

Deno.test("a manual clock advances on request only", () => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  clock.advance(1500);
  assert.equal(new Date(clock.now()).toISOString(), "2026-01-01T00:00:01.500Z");
  assert.equal(clock.monotonic(), 1500);
  assert.throws(() => clock.advance(-1), RangeError);
  assert.throws(() => new ManualClock("yesterday"), RangeError);
});

Deno.test("the system's clock advances", () => {
  const before = systemClock.monotonic();
  assert.ok(systemClock.monotonic() >= before);
  assert.ok(systemClock.now() > Date.parse("2025-01-01"));
});
