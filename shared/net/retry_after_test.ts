import assert from "node:assert/strict";
import { parseRetryAfter } from "./retry_after.ts";

const NOW = Date.UTC(2026, 10, 26, 20, 0, 0);

Deno.test("Retry-After is in seconds, or a date", () => {
  const cases: readonly [value: string | null, ms: number | null][] = [
    [null, null],
    ["0", 0],
    ["120", 120_000],
    ["999999999", 999_999_999_000],
    ["Thu, 26 Nov 2026 20:00:30 GMT", 30_000],
    ["Thu, 26 Nov 2026 19:00:00 GMT", 0],
    ["", null],
    ["-1", null],
    ["1.5", null],
    ["1e3", null],
    ["0x10", null],
    ["9999999999", null],
    ["soon", null],
    ["2026-11-26T20:00:30Z", null],
    ["Thu, 99 Nov 2026 20:00:30 GMT", null],
    ["120, 60", null],
  ];
  for (const [value, ms] of cases) assert.equal(parseRetryAfter(value, NOW), ms, String(value));
});
