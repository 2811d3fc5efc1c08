import assert from "node:assert/strict";
import { HalfClosedClient } from "./half_closed.ts";

Deno.test("a half-closed client is probed a few times before its response, then left to wait", () => {
  const client = new HalfClosedClient();
  client.begin();
  assert.equal(client.check(0, false), "wait");
  client.ended(1000);
  const probes = [];
  for (let now = 1000; now < 10_000; now += 100) {
    if (client.check(now, false) === "probe") probes.push(now);
  }
  assert.deepEqual(probes, [1000, 1100, 1800]);
});

Deno.test("a client that sent FIN during a response is gone after a second without a write", () => {
  const client = new HalfClosedClient();
  client.begin();
  client.ended(1000);
  assert.equal(client.check(1849, true), "wait");
  assert.equal(client.check(1850, true), "gone");
});

Deno.test("a half-closed client that accepts a write is probed for a second, and never counts as gone", () => {
  const client = new HalfClosedClient();
  client.begin();
  client.ended(1000);
  client.wrote(1500);
  assert.equal(client.check(1600, true), "touch");
  assert.equal(client.check(2349, true), "touch");
  assert.equal(client.check(60_000, true), "wait");
  client.wrote(60_000);
  assert.equal(client.check(60_100, true), "touch");
});

Deno.test("a probe counts as a write once the response has begun", () => {
  const client = new HalfClosedClient();
  client.begin();
  client.ended(1000);
  assert.equal(client.check(1000, false), "probe");
  assert.equal(client.check(5000, true), "wait");
});

Deno.test("a new exchange has no state of the previous one's FIN", () => {
  const client = new HalfClosedClient();
  client.ended(0);
  client.begin();
  assert.equal(client.check(5000, false), "wait");
  assert.equal(client.check(5000, true), "wait");
});
