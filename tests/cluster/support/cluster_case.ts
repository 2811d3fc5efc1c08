/**
 * Tests that share one cluster. In: names and functions. Out: tests of Deno, whose cluster starts
 * before the first of the file and stops after the last; where there can be none, they are skipped
 * and say so.
 */
import { startCluster, type TestCluster } from "./cluster.ts";
import { findPrograms } from "./programs.ts";

let shared: Promise<TestCluster | null> | null = null;
let hasHooks = false;

/**
 * The cluster of this test file, started at the first call. A cluster that starts within a test
 * outlives it, which Deno's sanitizers call a leak: `clusterTest` starts it before the first one.
 */
export function sharedCluster(): Promise<TestCluster | null> {
  return shared ??= startCluster();
}

/** Stops what `sharedCluster` started. */
export async function stopSharedCluster(): Promise<void> {
  const cluster = await shared;
  shared = null;
  await cluster?.stop();
}

/** A test that is given the cluster of its file. */
export function clusterTest(
  name: string,
  run: (cluster: TestCluster, context: Deno.TestContext) => Promise<void>,
): void {
  if (!hasHooks) {
    hasHooks = true;
    Deno.test.beforeAll(async () => {
      if ((await findPrograms()).ok) await sharedCluster();
    });
    Deno.test.afterAll(stopSharedCluster);
  }
  Deno.test(name, async (context) => {
    const programs = await findPrograms();
    const cluster = programs.ok ? await sharedCluster() : null;
    if (cluster !== null) await run(cluster, context);
    else if (!programs.ok) console.log(`skipped: ${name}: ${programs.error}`);
  });
}
