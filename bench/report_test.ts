import assert from "node:assert/strict";
import { parseBenchOptions } from "./options.ts";
import { formatTable, median, ratio, type Round } from "./report.ts";

function round(user: number, system: number, more: Partial<Round> = {}): Round {
  return { user, system, perSecond: 1000, p50: 1, p99: 2, memory: 2 ** 20, ...more };
}

Deno.test("the median forgives what is far off", () => {
  assert.equal(median([3, 1, 1000]), 3);
  assert.equal(median([4, 2]), 3);
  assert.equal(median([10, 9, 2]), 9);
});

Deno.test("each round is compared with the reference's of the same time", () => {
  const reference = [round(1, 1), round(10, 10), round(100, 100)];
  const twice = reference.map(({ user, system }) => round(2 * user, 2 * system));
  assert.equal(ratio(twice, reference), 2);
  assert.equal(ratio(twice, []), null);
});

Deno.test("a table has a row for each peer, with median, spread and ratio", () => {
  const table = formatTable([
    { peer: "ours", rounds: [round(10, 5), round(11, 5), round(30, 5)] },
    { peer: "nginx", rounds: [round(5, 5), round(5, 5), round(5, 5)] },
  ], "nginx");
  const [head, ours, nginx] = table.split("\n").map((line) => line.trim().split(/ {2,}/));
  assert.deepEqual(head.slice(0, 6), [
    "peer",
    "CPU µs/request",
    "spread",
    "user",
    "system",
    "ratio",
  ]);
  assert.deepEqual(ours.slice(0, 6), ["ours", "16.0", "15.0–35.0", "11.0", "5.00", "1.60"]);
  assert.deepEqual(nginx.slice(0, 6), ["nginx", "10.0", "10.0–10.0", "5.00", "5.00", "1.00"]);
});

Deno.test("without the reference there is no ratio", () => {
  assert.match(formatTable([{ peer: "ours", rounds: [round(1, 1)] }], "nginx"), /ours .* – /);
});

Deno.test("all cases run unless some are named, and an unknown one is refused", () => {
  const all = parseBenchOptions([]);
  assert.ok(all.kind === "ok" && all.options.cases.length >= 3);
  const one = parseBenchOptions(["h1-small", "--quick"]);
  assert.ok(one.kind === "ok");
  assert.deepEqual([one.options.cases, one.options.rounds, one.options.duration], [
    ["h1-small"],
    3,
    1000,
  ]);
  const none = parseBenchOptions(["h1-smal"]);
  assert.ok(
    none.kind === "error" && none.text.includes('"h1-smal" is no case; there are h1-small'),
  );
});
