import assert from "node:assert/strict";
import { parseBenchOptions } from "./options.ts";
import {
  formatMarkdown,
  formatText,
  median,
  notesOf,
  type PeerRounds,
  ratios,
  type Round,
  type Table,
  tableOf,
} from "./report.ts";

function round(user: number, system: number, more: Partial<Round> = {}): Round {
  const rest = {
    perSecond: 1000,
    p50: 1,
    p99: 2,
    p999: 3,
    memory: 2 ** 20,
    heldBytes: null,
    restCpu: null,
    errors: 0,
  };
  return { user, system, ...rest, ...more };
}

function peer(
  name: string,
  rounds: readonly Round[],
  baseline: readonly Round[] | null = null,
): PeerRounds {
  return { peer: name, rounds, baseline, saturation: null };
}

function requests(...peers: readonly PeerRounds[]): Table {
  return tableOf({ unit: "request", streams: 1, peers });
}

/** The cells of the column, or of the one `after` places later; undefined where there is none. */
function column(table: Table, name: string, after = 0): string[] | undefined {
  const at = table[0].indexOf(name);
  return at === -1 ? undefined : table.slice(1).map((row) => row[at + after]);
}

Deno.test("the median ignores outliers", () => {
  assert.equal(median([3, 1, 1000]), 3);
  assert.equal(median([4, 2]), 3);
  assert.equal(median([10, 9, 2]), 9);
});

Deno.test("each round is compared with the reference's at the same time", () => {
  const reference = [round(1, 1), round(10, 10), round(100, 100)];
  const twice = reference.map(({ user, system }) => round(2 * user, 2 * system));
  assert.deepEqual(ratios(twice, reference), [2, 2, 2]);
  assert.deepEqual(ratios(twice, []), []);
});

Deno.test("a ratio ignores rounds without the value", () => {
  const rounds = [round(1, 1), round(1, 1, { p999: null }), round(1, 1, { p999: 12 })];
  const reference = [round(1, 1), round(1, 1), round(1, 1, { p999: 6 })];
  assert.deepEqual(ratios(rounds, reference, ({ p999 }) => p999), [1, 2]);
});

Deno.test("a table has a row for each peer, with median, spread, and Pingress's cost relative to it", () => {
  const table = requests(
    peer("pingress", [round(10, 5), round(11, 5), round(30, 5, { errors: 2 })]),
    peer("nginx", [round(5, 5), round(5, 5), round(5, 5)]),
    peer("haproxy", [round(5, 15), round(5, 15), round(5, 15)]),
  );
  assert.deepEqual(column(table, "CPU µs/request"), ["16.0", "10.0", "20.0"]);
  assert.deepEqual(column(table, "spread"), ["15.0–35.0", "10.0–10.0", "20.0–20.0"]);
  assert.deepEqual(column(table, "pingress ×"), ["1.00", "1.60", "0.80"]);
  assert.deepEqual(column(table, "pingress ×", 1), ["1.00–1.00", "1.50–3.50", "0.75–1.75"]);
  assert.deepEqual(column(table, "requests/CPU s"), ["62500", "100000", "50000"]);
  assert.deepEqual(column(table, "errors"), ["2", "0", "0"]);
});

Deno.test("each peer is compared with its own baseline, of the same rounds", () => {
  const table = requests(
    peer("pingress", [round(6, 5, { p999: 9 }), round(20, 2)], [round(5, 5), round(10, 10)]),
    peer("nginx", [round(10, 10), round(10, 10)], [round(5, 5), round(5, 5)]),
  );
  assert.deepEqual(column(table, "× baseline"), ["1.10", "2.00"]);
  assert.deepEqual(column(table, "× baseline", 1), ["1.10–1.10", "2.00–2.00"]);
  assert.deepEqual(column(table, "p99.9 × baseline"), ["2.00", "1.00"]);
});

Deno.test("a value that was not measured has no column, or a dash if others have it", () => {
  const alone = requests(peer("pingress", [round(1, 1, { p999: null })]));
  for (const name of ["pingress ×", "× baseline", "p99.9 ms", "KiB/connection", "CPU at rest %"]) {
    assert.equal(column(alone, name), undefined, name);
  }
  const both = requests(
    peer("pingress", [round(1, 1, { p999: null })]),
    peer("nginx", [round(1, 1)]),
  );
  assert.deepEqual(column(both, "p99.9 ms"), ["–", "3.00"]);
});

Deno.test("the memory added by an idle stream or connection is shown", () => {
  const rounds = [1024, 2048, 10240].map((heldBytes) => round(1, 1, { heldBytes, restCpu: 0.015 }));
  const peers = [peer("pingress", rounds)];
  const streams = tableOf({ unit: "event", streams: 100, peers });
  assert.deepEqual(column(streams, "KiB/stream"), ["2.00"]);
  const connections = tableOf({ unit: "connection", streams: 1, peers });
  assert.deepEqual(column(connections, "KiB/connection"), ["2.00"]);
  assert.deepEqual(column(connections, "CPU at rest %"), ["1.50"]);
});

Deno.test("notes of a load are shown once for each peer", () => {
  const late = [
    round(1, 1, { note: "late by 1" }),
    round(1, 1),
    round(1, 1, { note: "late by 2" }),
  ];
  assert.deepEqual(notesOf([peer("pingress", [round(1, 1)]), peer("nginx", late)]), [
    "nginx, in 2 of 3 rounds: late by 2",
  ]);
});

Deno.test("names are aligned left and numbers right, as text and as Markdown", () => {
  const table = [["peer", "µs"], ["a", "1.00"]];
  assert.equal(formatText(table), "peer    µs\na     1.00");
  assert.equal(formatMarkdown(table), "| peer |   µs |\n| ---- | ---: |\n| a    | 1.00 |");
});

Deno.test("without names all cases run, and an unknown name is rejected", () => {
  const all = parseBenchOptions([]);
  assert.ok(all.kind === "ok" && all.options.cases.length >= 3);
  const one = parseBenchOptions(["h1-small", "--quick"]);
  assert.ok(one.kind === "ok");
  assert.deepEqual([one.options.cases, one.options.rounds, one.options.duration], [
    ["h1-small"],
    2,
    1000,
  ]);
  const main = parseBenchOptions(["--quick"]);
  assert.ok(main.kind === "ok" && main.options.cases.length < all.options.cases.length);
  assert.ok(
    main.options.cases.includes("h2-tls-small") && main.options.cases.includes("grpc-unary"),
  );
  const none = parseBenchOptions(["h1-smal"]);
  assert.ok(
    none.kind === "error" && none.text.includes('"h1-smal" is no case; there are h1-small'),
  );
});
