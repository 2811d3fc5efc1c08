import assert from "node:assert/strict";
import { parseBenchOptions } from "./options.ts";
import { formatMarkdown, formatText, median, ratios, type Round, tableOf } from "./report.ts";

function round(user: number, system: number, more: Partial<Round> = {}): Round {
  return { user, system, perSecond: 1000, p50: 1, p99: 2, memory: 2 ** 20, errors: 0, ...more };
}

Deno.test("the median forgives what is far off", () => {
  assert.equal(median([3, 1, 1000]), 3);
  assert.equal(median([4, 2]), 3);
  assert.equal(median([10, 9, 2]), 9);
});

Deno.test("each round is compared with the reference's of the same time", () => {
  const reference = [round(1, 1), round(10, 10), round(100, 100)];
  const twice = reference.map(({ user, system }) => round(2 * user, 2 * system));
  assert.deepEqual(ratios(twice, reference), [2, 2, 2]);
  assert.deepEqual(ratios(twice, []), []);
});

Deno.test("a table has a row for each peer, with median, spread, ratio and errors", () => {
  const table = tableOf(
    [
      { peer: "ours", rounds: [round(10, 5), round(11, 5), round(30, 5, { errors: 2 })] },
      { peer: "nginx", rounds: [round(5, 5), round(5, 5), round(5, 5)] },
    ],
    "nginx",
    "message",
  );
  const column = (name: string) => table.map((row) => row[table[0].indexOf(name)]).slice(1);
  assert.deepEqual(column("CPU µs/message"), ["16.0", "10.0"]);
  assert.deepEqual(column("spread"), ["15.0–35.0", "10.0–10.0"]);
  assert.deepEqual(column("ratio"), ["1.60", "1.00"]);
  assert.deepEqual(column("its spread"), ["1.50–3.50", "1.00–1.00"]);
  assert.deepEqual(column("messages/CPU s"), ["62500", "100000"]);
  assert.deepEqual(column("errors"), ["2", "0"]);
});

Deno.test("without the reference there is no ratio", () => {
  const text = formatText(tableOf([{ peer: "ours", rounds: [round(1, 1)] }], "nginx", "request"));
  assert.match(text, /ours .* – /);
});

Deno.test("names stand to the left and numbers to the right, as text and as Markdown", () => {
  const table = [["peer", "µs"], ["a", "1.00"]];
  assert.equal(formatText(table), "peer    µs\na     1.00");
  assert.equal(formatMarkdown(table), "| peer |   µs |\n| ---- | ---: |\n| a    | 1.00 |");
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
