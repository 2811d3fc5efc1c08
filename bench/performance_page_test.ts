import assert from "node:assert/strict";
import { CASES } from "./case.ts";
import { marksTable, performancePages, PLOTS_FOLDER } from "./performance_page.ts";
import { type PeerRounds, type Round } from "./report.ts";
import {
  type CaseResults,
  loadResults,
  RESULTS_FOLDER,
  saveResults,
  serialiseResults,
} from "./results.ts";

const ROOT = new URL("../", import.meta.url);

const ROUND: Round = {
  ...{ user: 10.123456789, system: 5, perSecond: 1000, p50: 1, p99: 2, p999: 3 },
  ...{ memory: 2 ** 20, heldBytes: null, restCpu: null, errors: 0 },
};

function peer(name: string, more: Partial<Round> = {}): PeerRounds {
  return { peer: name, rounds: [{ ...ROUND, ...more }], baseline: null, saturation: null };
}

function results(more: Partial<CaseResults> = {}): CaseResults {
  return {
    ...{ case: "h1-small", about: "GET; 32 connections, 1 worker", unit: "request" },
    ...{ connections: 32, streams: 1, disturbance: null, baseline: null, pace: null, rate: null },
    ...{ date: "2026-01-02", machine: "2 cores, Some Model; Deno 1.2.3", load: "wrk 1.2.3" },
    ...{ schedule: { rounds: 1, seconds: 3 }, versions: { nginx: "nginx/1.2.3" } },
    peers: [peer("pingress"), peer("nginx", { user: 5 })],
    ...more,
  };
}

Deno.test("the page and its plots match the stored results", async () => {
  for (const [path, text] of performancePages(await loadResults(RESULTS_FOLDER))) {
    const written = await Deno.readTextFile(new URL(path, ROOT));
    assert.ok(written === text, `${path} is not of bench/results: run deno task docs:update`);
  }
});

Deno.test("stored results are of cases that exist", async () => {
  const names = CASES.map(({ name }) => `${name}.json`);
  for await (const { name } of Deno.readDir(RESULTS_FOLDER)) {
    assert.ok(names.includes(name), name);
  }
});

Deno.test("stored results are read back unchanged, with one round per line", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const baseline = { ...peer("haproxy"), baseline: [ROUND], saturation: [1000, 1100] };
    const given = results({ peers: [peer("pingress"), baseline] });
    await saveResults(given, folder);
    const [back] = await loadResults(folder);
    assert.deepEqual(back.peers[1].saturation, [1000, 1100]);
    assert.equal(back.peers[0].rounds[0].user, 10.1235);
    assert.deepEqual({ ...back, peers: [] }, { ...given, peers: [] });
    assert.equal(serialiseResults(back), serialiseResults(given));
    assert.equal(serialiseResults(given).match(/"user"/g)?.length, 3);
    assert.equal(
      serialiseResults(given).split("\n").filter((line) => /"user"/.test(line)).length,
      3,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a case has its day, machine and versions, its plot and its table", () => {
  const [[, page], [path, svg]] = performancePages([results()]);
  for (
    const part of [
      "## h1-small\n\nGET; 32 connections, 1 worker.",
      "](../bench/plots/h1-small.svg)",
      "- measured on 2026-01-02; 2 cores, Some Model; Deno 1.2.3; median of 1 rounds of 3 s",
      "- nginx: nginx/1.2.3",
      "- load: wrk 1.2.3",
      "| nginx    |",
    ]
  ) assert.ok(page.includes(part), part);
  assert.equal(path, `${PLOTS_FOLDER}/h1-small.svg`);
  assert.match(svg, /^<svg role="img" aria-label="h1-small: CPU time per request, in µs"/);
});

Deno.test("the offered rate is shown", () => {
  const [[, page]] = performancePages([results({ pace: 0.5, rate: 12_345 })]);
  assert.ok(page.includes("12345 requests/s offered to each, 0.5 of what the slowest"), page);
});

Deno.test("a plot shows its case's main value, and is the same every time", () => {
  const held = [peer("pingress", { heldBytes: 7 * 1024 }), peer("nginx", { heldBytes: 2048 })];
  const resting = [peer("pingress", { heldBytes: 7 * 1024, restCpu: 0.01 }), peer("nginx")];
  const cases: [CaseResults, RegExp][] = [
    [results(), /CPU time per request, in µs/],
    [results({ pace: 0.5, rate: 1000 }), /latencies at 1000 requests\/s, in ms/],
    [results({ unit: "connection", peers: resting }), /memory of each connection held, in KiB/],
    [results({ unit: "event", streams: 100, peers: held }), /memory of each stream held, in KiB/],
  ];
  for (const [given, title] of cases) {
    const svg = performancePages([given]).at(-1)![1];
    assert.match(svg, title);
    for (const name of [">pingress<", ">nginx<"]) assert.ok(svg.includes(name), name);
    assert.equal(performancePages([given]).at(-1)![1], svg);
  }
});

Deno.test("targets are shown with the measured values, including missing ones", () => {
  const rows = marksTable([results()]);
  assert.deepEqual(
    rows.find(([name, what]) => name === "h1-small" && what === "CPU × nginx"),
    ["h1-small", "CPU × nginx", "≤ 1.25", "≤ 1.10", "1.51", "1.51–1.51", "**missed**"],
  );
  assert.deepEqual(
    rows.find(([name]) => name === "idle-10k-tls")?.slice(2),
    ["≤ 45.0 KiB", "≤ 34.0 KiB", "", "", "not measured"],
  );
});
