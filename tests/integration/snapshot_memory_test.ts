/** A snapshot that may be published fits a proxy that starts with it; a larger one is refused. */
import assert from "node:assert/strict";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { PUBLISHED_SHARE, snapshotBudget, snapshotMemory } from "../../shared/snapshot/memory.ts";
import { Backend } from "../support/backend.ts";
import { snapshotOfShape, type SnapshotShape } from "../support/large_snapshot.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";

const MIB = 1024 * 1024;

/** Of the proxies that the controller starts. */
const WORKERS = 4;

/** The largest snapshot of a shape that may be published for this limit, to a hundredth. */
async function largestOf(shape: SnapshotShape, limit: number): Promise<Snapshot> {
  const budget = snapshotBudget({ limit, workers: WORKERS }, PUBLISHED_SHARE);
  const sample = 1_000;
  const each = snapshotMemory(await snapshotOfShape(shape, sample), WORKERS) / sample;
  const snapshot = await snapshotOfShape(shape, Math.floor(budget / each));
  const used = snapshotMemory(snapshot, WORKERS);
  assert.ok(used <= budget * 1.01 && used >= budget * 0.99, `${used} of ${budget}`);
  return snapshot;
}

const SIZES: readonly (readonly [shape: SnapshotShape, limit: number])[] = [
  ["paths", 512 * MIB],
  ["conditions", 512 * MIB],
  ["hosts", 1024 * MIB],
  ["long paths", 1536 * MIB],
];

for (const [shape, limit] of SIZES) {
  Deno.test({
    name: `with ${limit / MIB} MiB a proxy starts with as many ${shape} as may be published`,
    ignore: Deno.build.os !== "linux",
    fn: async () => {
      const snapshot = await largestOf(shape, limit);
      await using proxy = await ProxyProcess.start({
        snapshot,
        args: [`--workers=${WORKERS}`, `--memory-limit=${limit}`],
      });
      const peak = await proxy.peakMemory();
      assert.ok(peak < limit, `${peak} bytes at the peak, of ${limit}`);
      // Where requests begin to be answered by 503.
      assert.deepEqual(proxy.lines.filter(({ message }) => message === PRESSURE), []);
    },
  });
}

const PRESSURE = "Memory pressure changed";

Deno.test("a file that does not fit --memory-limit is rejected, and the active snapshot stays", async () => {
  await using backend = new Backend();
  const good = snapshotOf([backend.port]);
  await using proxy = await ProxyProcess.start({
    snapshot: good,
    args: ["--workers=1", `--memory-limit=${256 * MIB}`, "--allow-loopback-upstreams"],
  });
  proxy.replace({ ...await snapshotOfShape("paths", 30_000), version: good.version });
  const { path, problem, remedy } = await proxy.line(
    "Configuration rejected, keeping the active one",
  );
  assert.equal(path, "$");
  assert.match(
    String(problem),
    /^its 30000 routes and 0 certificates need about \d+ MiB with --workers 1,/,
  );
  assert.match(String(remedy), /--memory-limit/);
  const response = await fetch(`http://127.0.0.1:${proxy.httpPort}/`);
  assert.equal(response.status, 200);
  await response.body?.cancel();
});
