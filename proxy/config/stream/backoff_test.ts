import assert from "node:assert/strict";
import { ConnectPatience, ReconnectPace } from "./backoff.ts";

Deno.test("after a working stream the delay is short, after failures it grows to 1.5 s at most", () => {
  const pace = new ReconnectPace(() => 1);
  const failures = Array.from({ length: 7 }, () => pace.next(false));
  assert.deepEqual(failures, [100, 200, 400, 800, 1500, 1500, 1500]);
  assert.equal(pace.next(true), 250);
  assert.equal(pace.next(false), 100);
});

Deno.test("delays are spread over their whole length, so that proxies do not reconnect together", () => {
  let chance = 0;
  const pace = new ReconnectPace(() => chance);
  assert.equal(pace.next(true), 0);
  chance = 0.5;
  assert.equal(pace.next(true), 125);
  assert.equal(pace.next(false), 50);
});

Deno.test("a timeout that is too short doubles up to 10 s, until a stream works", () => {
  const patience = new ConnectPatience();
  const times = Array.from({ length: 5 }, () => {
    const now = [patience.of(2_000), patience.of(3_000), patience.of(20_000)];
    patience.wasTooShort();
    return now;
  });
  assert.deepEqual(times, [
    [2_000, 3_000, 20_000],
    [4_000, 6_000, 20_000],
    [8_000, 10_000, 20_000],
    [10_000, 10_000, 20_000],
    [10_000, 10_000, 20_000],
  ]);
  patience.reset();
  assert.equal(patience.of(2_000), 2_000);
});
