/**
 * What spans cost a worker: CPU of the thread that serves, for one request with one attempt, and the bytes
 * of its spans; beside the same spans by OpenTelemetry's own packages.
 *
 * `deno task bench:spans`. In: nothing. Out: a table, medians of several rounds in which all alternate.
 * Compare with the CPU of a whole request (`deno task bench --case h1-small`).
 */
import process from "node:process";
import { taskOptions } from "../../tools/task_options.ts";
import { median } from "../report.ts";
import { type Encoding, serveWithLibrary } from "./library_spans.ts";
import { serveWithTracer } from "./our_spans.ts";

taskOptions(
  { name: "deno task bench:spans", summary: "Measures what spans cost a worker." },
  {},
  Deno.args,
);

const ROUNDS = 9;
const REQUESTS = 100_000;

interface Result {
  /** Of a request, in ns. */
  readonly cpu: number;
  /** Of all spans. */
  readonly bytes: number;
}

interface Case {
  readonly maker: string;
  readonly ratio: number | null;
  readonly serve: (take: (bytes: Uint8Array) => void) => void;
}

function byHand(ratio: number | null): Case {
  const serve: Case["serve"] = (take) => serveWithTracer(REQUESTS, ratio, take);
  return { maker: ratio === null ? "none" : "by hand", ratio, serve };
}

function byLibrary(encoding: Encoding, ratio: number): Case {
  const serve: Case["serve"] = (take) => serveWithLibrary(REQUESTS, ratio, encoding, take);
  return { maker: `library, ${encoding}`, ratio, serve };
}

const RATIOS = [0, 0.01, 1];
const CASES: readonly Case[] = [
  ...[null, ...RATIOS].map(byHand),
  ...RATIOS.map((ratio) => byLibrary("json", ratio)),
  ...RATIOS.slice(1).map((ratio) => byLibrary("protobuf", ratio)),
];

function run({ serve }: Case): Result {
  let bytes = 0;
  const before = process.cpuUsage();
  serve(({ length }) => bytes += length);
  const { user, system } = process.cpuUsage(before);
  return { cpu: (user + system) * 1000 / REQUESTS, bytes };
}

const results = CASES.map((): Result[] => []);
for (let round = 0; round <= ROUNDS; round++) {
  for (const [index, each] of CASES.entries()) {
    const result = run(each);
    // The first one compiles.
    if (round > 0) results[index].push(result);
  }
}

const cpuOf = (index: number) => median(results[index].map(({ cpu }) => cpu));
const base = cpuOf(0);
console.log(
  "spans               --trace-ratio    ns of CPU per request    bytes of spans per request",
);
for (const [index, { maker, ratio }] of CASES.entries()) {
  const bytes = results[index][0].bytes / REQUESTS;
  console.log(
    maker.padEnd(20) + `${ratio ?? "off"}`.padStart(13) +
      (cpuOf(index) - base).toFixed(0).padStart(25) + bytes.toFixed(0).padStart(30),
  );
}
