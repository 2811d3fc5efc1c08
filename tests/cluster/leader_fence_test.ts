import assert from "node:assert/strict";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually, PATIENCE } from "./support/condition.ts";
import { startFaultProxy } from "./support/fault_proxy.ts";
import type { Findings } from "./support/lease_audit.ts";
import { type LeaseWriter, LeaseWriters } from "./support/lease_writers.ts";

/** Real timings and real minutes. */
const IS_FULL = Deno.env.get("PINGRESS_FULL") === "1";

const SHORT = { leaseDuration: 3_000, renewDeadline: 2_000, retryPeriod: 400, pace: 5 };
const REAL = { leaseDuration: 15_000, renewDeadline: 10_000, retryPeriod: 2_000, pace: 5 };

/** Milliseconds. */
const CHAOS = IS_FULL ? 120_000 : 18_000;
const FREEZE = IS_FULL ? 60_000 : 5_000;

/** Waits until a replica has written `count` times more. */
async function writesOf(writers: LeaseWriters, { identity }: LeaseWriter, count = 5) {
  const own = () => writers.audit.findings().writes.filter(({ writer }) => writer === identity);
  const before = own().length;
  const patience = PATIENCE + FREEZE;
  await eventually(`writes of ${identity}`, () => own().length >= before + count, patience);
}

/** Milliseconds from the last write of one to the first write of another, in the order of writes. */
function gaps({ writes }: Findings): number[] {
  return writes.flatMap(({ writer, at }, index) => {
    const before = writes[index - 1];
    return before === undefined || before.writer === writer ? [] : [Math.round(at - before.at)];
  });
}

function report(what: string, findings: Findings): void {
  const { writes, holders } = findings;
  console.log(
    `${what}: ${writes.length} writes, ${holders.length} changes of the holder, ` +
      `gaps between writers of ${gaps(findings).join(", ")} ms`,
  );
}

clusterTest("the audit detects a write without the lease", async (cluster) => {
  await using writers = await LeaseWriters.create(cluster, SHORT);
  const replica = await writers.start();
  await writesOf(writers, replica);
  await replica.process.stop();
  const { configMap, namespace } = writers.scene;
  const { writes } = writers.audit.findings();
  const count = String(writes.length + 1);
  await cluster.apply({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: configMap },
    data: { writer: replica.identity, count },
  }, { namespace });
  const { violations } = await writers.audit.finish();
  assert.deepEqual(violations, [`replica-1 wrote ${count} while null held the lease`]);
});

clusterTest("a suspended leader writes nothing when it resumes", async (cluster) => {
  await using writers = await LeaseWriters.create(cluster, IS_FULL ? REAL : SHORT);
  const frozen = await writers.start();
  await writesOf(writers, frozen);
  const other = await writers.start();
  await eventually(
    "look of the other",
    async () => (await other.log()).includes("Another replica leads"),
  );
  frozen.process.pause();
  const started = performance.now();
  await writesOf(writers, other);
  await eventually("end of the pause", () => performance.now() - started > FREEZE, FREEZE * 2);
  const before = countOf(writers.audit.findings(), frozen);
  frozen.process.resume();
  await eventually(
    "end of the term",
    async () => (await frozen.log()).includes("Not leading any more"),
  );
  await writesOf(writers, other, 20);
  const findings = await writers.audit.finish();
  report("frozen", findings);
  assert.deepEqual(findings.violations, []);
  assert.equal(countOf(findings, frozen), before, "nothing was written after it went on");
});

clusterTest(
  "a leader that cannot reach the server stops before another starts",
  async (cluster) => {
    for (const fault of ["stall", "refuse"] as const) {
      await using writers = await LeaseWriters.create(cluster, IS_FULL ? REAL : SHORT);
      await using proxy = await startFaultProxy(cluster.port);
      const kubeconfig = await cluster.writeFile(
        cluster.kubeconfigFor(cluster.adminToken, proxy.server),
      );
      const lonely = await writers.start(kubeconfig);
      await writesOf(writers, lonely);
      const other = await writers.start();
      await eventually(
        "look of the other",
        async () => (await other.log()).includes("Another replica leads"),
      );
      proxy[fault](true);
      if (fault === "refuse") proxy.reset();
      await writesOf(writers, other);
      assert.match(await lonely.log(), /Not leading any more.*was not renewed/);
      proxy[fault](false);
      await eventually(
        "word of the other",
        async () => (await lonely.log()).includes("Another replica leads"),
      );
      await writesOf(writers, other);
      const findings = await writers.audit.finish();
      report(`cut off by ${fault}`, findings);
      assert.deepEqual(findings.violations, []);
      const order = findings.writes.map(({ writer }) => writer);
      assert.ok(order.lastIndexOf(lonely.identity) < order.indexOf(other.identity));
    }
  },
);

clusterTest("replicas that start, stop, freeze and die never write without the lease", async (
  cluster,
) => {
  await using writers = await LeaseWriters.create(cluster, SHORT);
  const done = await chaos(cluster, writers);
  const last = await writers.start();
  await writesOf(writers, last).catch(async (cause) => {
    throw new Error(`the last replica does not lead:\n${await last.log()}`, { cause });
  });
  await last.process.stop();
  const findings = await writers.audit.finish();
  report(`at random: ${JSON.stringify(done)}`, findings);
  assert.deepEqual(findings.violations, []);
  assert.equal(findings.holders.at(-1)?.holder, null, "the last one has released the lease");
  assert.ok(new Set(findings.writes.map(({ writer }) => writer)).size > 1);
});

/** Three replicas, to one of which something happens every now and then. Ends with none. */
async function chaos(cluster: TestCluster, writers: LeaseWriters) {
  const done = { stop: 0, kill: 0, freeze: 0, delete: 0 };
  const replicas = await Promise.all([writers.start(), writers.start(), writers.start()]);
  await eventually("first write", () => writers.audit.findings().writes.length > 0);
  const end = performance.now() + CHAOS;
  while (performance.now() < end) {
    await sleep(500 + Math.random() * 2_500);
    // The leader mostly, for the others have nothing to lose.
    const holder = writers.audit.findings().holders.at(-1)?.holder;
    const leading = replicas.findIndex(({ identity }) => identity === holder);
    const index = leading !== -1 && Math.random() < 0.8
      ? leading
      : Math.floor(Math.random() * replicas.length);
    const { process } = replicas[index];
    const what = (Object.keys(done) as (keyof typeof done)[])[Math.floor(Math.random() * 4)];
    done[what]++;
    if (what === "delete") {
      const { lease, namespace } = writers.scene;
      await cluster.delete("coordination.k8s.io/v1", "Lease", lease, namespace);
    } else if (what === "freeze") {
      process.pause();
      await sleep(500 + Math.random() * (SHORT.leaseDuration + 2_000));
      process.resume();
    } else {
      await process.stop(what === "stop" ? "SIGTERM" : "SIGKILL");
      replicas[index] = await writers.start();
    }
  }
  await Promise.all(replicas.map(({ process }) => process.stop()));
  return done;
}

function countOf({ writes }: Findings, { identity }: LeaseWriter): number {
  return writes.filter(({ writer }) => writer === identity).length;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
