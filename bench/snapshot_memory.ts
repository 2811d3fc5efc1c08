/**
 * What a snapshot takes of a proxy's memory. In: nothing. Out: a table of what it takes at its peak
 * while the proxy starts, beside what `shared/snapshot/memory.ts` estimates, for each shape and
 * number of workers. Linux alone tells.
 */
import { emptyProxyMemory, snapshotMemory } from "../shared/snapshot/memory.ts";
import type { Snapshot } from "../shared/snapshot/types.ts";
import { snapshotOfShape, type SnapshotShape } from "../tests/support/large_snapshot.ts";
import { ProxyProcess } from "../tests/support/proxy_process.ts";
import { atRest, memoryOf } from "./controller/process_usage.ts";
import { taskOptions } from "../tools/task_options.ts";

taskOptions(
  {
    name: "deno task bench:memory",
    summary: "Measures the memory of routes, hosts, endpoints and certificates in a proxy.",
  },
  {},
  Deno.args,
);

const CASES: readonly (readonly [shape: SnapshotShape, count: number])[] = [
  ["paths", 10_000],
  ["paths", 50_000],
  ["hosts", 20_000],
  ["hosts", 50_000],
  ["long paths", 10_000],
  ["segments", 10_000],
  ["conditions", 20_000],
  ["upstreams", 20_000],
  ["endpoints", 100_000],
  ["certificates", 1_000],
];

const WORKERS = [1, 2, 4, 8];

const MIB = 1024 * 1024;

/** Milliseconds that a proxy may take to come to rest. */
const PATIENCE = 30_000;

async function peakWith(snapshot: Snapshot, workers: number): Promise<number> {
  await using proxy = await ProxyProcess.start({ snapshot, args: [`--workers=${workers}`] });
  // What V8 gives back, and what the workers compile, comes after the first request may.
  await atRest(proxy.pid, PATIENCE);
  return memoryOf(proxy.pid).peak;
}

function row(what: string, workers: number, measured: number, estimated: number): string {
  const show = (bytes: number) => String(Math.round(bytes / MIB)).padStart(8);
  return `| ${what.padEnd(20)} | ${String(workers).padStart(7)} | ${show(measured)} | ` +
    `${show(estimated)} |`;
}

console.log("| MiB                  | workers | measured | estimate |");
console.log("| -------------------- | ------: | -------: | -------: |");
for (const workers of WORKERS) {
  const empty = await peakWith(await snapshotOfShape("paths", 1), workers);
  console.log(row("process", workers, empty, emptyProxyMemory(workers)));
  for (const [shape, count] of CASES) {
    const snapshot = await snapshotOfShape(shape, count);
    const peak = await peakWith(snapshot, workers);
    const what = `${count.toLocaleString("en")} ${shape}`;
    console.log(row(what, workers, peak - empty, snapshotMemory(snapshot, workers)));
  }
}
