import { deepEqual } from "node:assert/strict";
import { MAX_TIMEOUT } from "../../../../shared/snapshot/setting_values.ts";
import { readDuration, readTimeouts } from "./route_timeouts.ts";

Deno.test("durations are read as GEP-2257 has them", () => {
  const cases: readonly [written: unknown, milliseconds: number | null][] = [
    ["0s", 0],
    ["500ms", 500],
    ["1m30s", 90_000],
    ["1h2m3s4ms", 3_723_004],
    ["10s30s", 40_000],
    ["1.5s", null],
    ["-1s", null],
    ["1d", null],
    ["100000s", null],
    ["", null],
    [5, null],
  ];
  for (const [written, milliseconds] of cases) deepEqual(readDuration(written), milliseconds);
});

Deno.test("the shorter of both time-outs counts, and zero allows as long as it takes", () => {
  const cases: readonly [timeouts: unknown, expected: ReturnType<typeof readTimeouts>][] = [
    [undefined, { ok: true, time: null }],
    [{}, { ok: true, time: null }],
    [{ request: "10s" }, { ok: true, time: 10_000 }],
    [{ request: "10s", backendRequest: "2s" }, { ok: true, time: 2_000 }],
    [{ request: "0s", backendRequest: "2s" }, { ok: true, time: 2_000 }],
    [{ request: "0s" }, { ok: true, time: MAX_TIMEOUT }],
    [{ backendRequest: "0s" }, { ok: true, time: MAX_TIMEOUT }],
    [{ request: "10s", backendRequest: "0s" }, { ok: true, time: 10_000 }],
    [{ request: "99999h" }, { ok: true, time: MAX_TIMEOUT }],
    [{ request: "soon" }, { ok: false, reason: 'rule.timeouts.request "soon" is no duration' }],
    [{ idle: "1s" }, { ok: false, reason: "rule.timeouts.idle is not supported" }],
  ];
  for (const [timeouts, expected] of cases) {
    deepEqual(readTimeouts(timeouts, "rule.timeouts"), expected);
  }
});
