import assert from "node:assert/strict";
import { replaceMarked } from "../page.ts";
import { CONTROLLER_BENCH_BEGIN, formatResults } from "./page.ts";
import type { RunResult } from "./run.ts";

const PAGE = await Deno.readTextFile(
  new URL("./README.md", import.meta.url),
);

const MEMORY = { resident: 300 * 2 ** 20, peak: 350 * 2 ** 20 };
const COUNTERS = {
  calls: { "list ingresses": 20 },
  failedCalls: 0,
  translating: 60,
  publishing: 90,
  configMapBytes: 2048,
  secretBytes: 1024,
  problems: {},
};
const CHANGE = { published: 180, cpu: 200, counters: COUNTERS };
const WRITES = { index: 1, parts: 2 };
const RESULT: RunResult = {
  starts: [4000, 3000, 9000].map((published) => ({
    ...{ ready: 2000, published, cpu: 5000, memory: MEMORY },
    ...{ writes: WRITES, counters: COUNTERS },
  })),
  changes: { Ingress: [CHANGE], EndpointSlice: [CHANGE], Secret: [CHANGE, CHANGE] },
  memoryAfterChanges: MEMORY,
  burst: {
    ...{ objects: 500, changing: 900, published: 400, cpu: 700 },
    ...{ writes: WRITES, counters: { ...COUNTERS, calls: { "apply configmaps": 3 } } },
  },
  served: [120],
  memoryAtEnd: MEMORY,
};

Deno.test("the page has a place for results, which replace earlier ones", () => {
  const text = formatResults("2026-01-02", ["7 Ingresses", "2 cores"], RESULT);
  const once = replaceMarked(PAGE, CONTROLLER_BENCH_BEGIN, text);
  assert.ok(once !== null);
  assert.equal(replaceMarked(once, CONTROLLER_BENCH_BEGIN, text), once);
  assert.ok(once.includes("Measured on 2026-01-02:\n\n- 7 Ingresses\n- 2 cores\n"));
});

Deno.test("a value is shown between its minimum and maximum, next to its target", () => {
  const text = formatResults("2026-01-02", [], RESULT);
  const cells = (name: string) => {
    const line = text.split("\n").find((line) => line.startsWith(`| ${name} `)) ?? "";
    return line.split("|").slice(2, -1).map((cell) => cell.trim());
  };
  const started = ["< 10 s", "3.00 s", "4.00 s", "9.00 s", "3"];
  assert.deepEqual(cells("start: until published"), started);
  assert.deepEqual(cells("burst: CPU"), ["", "", "700 ms", "", "1"]);
  assert.deepEqual(cells("list ingresses"), ["20", "20.0", "20.0", "20.0", "0"]);
  assert.deepEqual(cells("apply configmaps"), ["0", "0.0", "0.0", "0.0", "3"]);
});
