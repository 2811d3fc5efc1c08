import assert from "node:assert/strict";
import { DEFAULT_LISTEN_RANGE, formatPortRange, isInRange, parsePortRange } from "./port_range.ts";

Deno.test("a range of ports is two ports in order, with at most 512 of them", () => {
  assert.deepEqual(parsePortRange("10000-10255"), DEFAULT_LISTEN_RANGE);
  assert.deepEqual(parsePortRange("1-1"), { from: 1, to: 1 });
  assert.deepEqual(parsePortRange("65024-65535"), { from: 65_024, to: 65_535 });
  const refused = ["", "10000", "10255-10000", "0-10", "65000-65536", "1-513", "1 - 2", "1-2-3"];
  for (const text of refused) assert.equal(parsePortRange(text), null, text);
});

Deno.test("a range is written as it is read, and has both of its ends", () => {
  assert.equal(formatPortRange(DEFAULT_LISTEN_RANGE), "10000-10255");
  const ports = [9_999, 10_000, 10_255, 10_256];
  assert.deepEqual(ports.map((port) => isInRange(DEFAULT_LISTEN_RANGE, port)), [
    ...[false, true, true, false],
  ]);
});
