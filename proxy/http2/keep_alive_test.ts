/** Peers that are silent. */
import assert from "node:assert/strict";
import { Deadlines } from "../io/deadlines.ts";
import { KeepAlive } from "./keep_alive.ts";

/** A clock that is moved by hand, and has no sweeps of its own. */
class Clock extends Deadlines {
  time = 1_000;
  override get now(): number {
    return this.time;
  }
  override in(timeout: number): number {
    return this.time + timeout;
  }
}

function scene(timeout = 100): { clock: Clock; peer: KeepAlive; pings: () => number } {
  const clock = new Clock();
  let pings = 0;
  const peer = new KeepAlive(clock, timeout, () => pings++);
  return { clock, peer, pings: () => pings };
}

Deno.test("a silent peer gets a PING, and is closed if it does not respond", () => {
  const { clock, peer, pings } = scene();
  clock.time += 99;
  assert.ok(peer.check(clock.time));
  assert.equal(pings(), 0);
  clock.time += 1;
  assert.ok(peer.check(clock.time));
  assert.equal(pings(), 1);
  clock.time += 99;
  assert.ok(peer.check(clock.time));
  clock.time += 1;
  assert.ok(!peer.check(clock.time));
  assert.equal(pings(), 1);
});

Deno.test("a peer that acknowledges PINGs may stay silent forever", () => {
  const { clock, peer, pings } = scene();
  for (let i = 0; i < 5; i++) {
    clock.time += 100;
    assert.ok(peer.check(clock.time));
    clock.time += 50;
    peer.heard();
    assert.ok(peer.answered());
    assert.ok(!peer.answered());
  }
  assert.equal(pings(), 5);
});

Deno.test("any frame from a peer shows that it is alive", () => {
  const { clock, peer } = scene();
  clock.time += 100;
  assert.ok(peer.check(clock.time));
  for (let i = 0; i < 5; i++) {
    clock.time += 90;
    peer.heard();
    clock.time += 10;
    assert.ok(peer.check(clock.time));
  }
  clock.time += 100;
  assert.ok(!peer.check(clock.time));
});

Deno.test("a second probe is served by the PING in progress", () => {
  const { clock, peer, pings } = scene();
  clock.time += 100;
  peer.check(clock.time);
  let answers = 0;
  peer.ask(() => answers++);
  assert.equal(pings(), 1);
  peer.answered();
  peer.answered();
  assert.equal(answers, 1);
});

Deno.test("without a timeout no PINGs are sent, but an acknowledgement still counts", () => {
  const { clock, peer, pings } = scene(0);
  clock.time += 1e9;
  assert.ok(peer.check(clock.time));
  assert.equal(pings(), 0);
  let answers = 0;
  peer.ask(() => answers++);
  assert.ok(peer.answered());
  assert.equal(answers, 1);
});
