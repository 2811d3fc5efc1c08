import assert from "node:assert/strict";
import { ControllerMetrics } from "./metrics.ts";

/** Lines of `/metrics` that begin with a name. */
async function linesOf(metrics: ControllerMetrics, ...names: readonly string[]): Promise<string[]> {
  return (await metrics.text()).split("\n")
    .filter((line) => names.some((name) => line.startsWith(name)));
}

const COUNTERS = [
  "pingress_controller_reconciles_total",
  "pingress_controller_job_runs_total",
  "pingress_controller_watch_restarts_total",
];

Deno.test("counters of failures are 0 before the first one, which is an increase then", async () => {
  const metrics = new ControllerMetrics();
  metrics.hasJob("publish");
  metrics.watches([{
    resource: "secrets",
    stats: { objects: 0, restarts: { broken: 0, ended: 1 } },
  }]);
  assert.deepEqual(await linesOf(metrics, ...COUNTERS), [
    'pingress_controller_reconciles_total{result="changed"} 0',
    'pingress_controller_reconciles_total{result="same"} 0',
    'pingress_controller_reconciles_total{result="failed"} 0',
    'pingress_controller_job_runs_total{job="publish",result="done"} 0',
    'pingress_controller_job_runs_total{job="publish",result="again"} 0',
    'pingress_controller_job_runs_total{job="publish",result="failed"} 0',
    'pingress_controller_watch_restarts_total{resource="secrets",reason="broken"} 0',
    'pingress_controller_watch_restarts_total{resource="secrets",reason="ended"} 1',
  ]);
});

Deno.test("a failed run or translation shows until the next one succeeds, or another replica leads", async () => {
  const metrics = new ControllerMetrics();
  const states = () =>
    linesOf(metrics, "pingress_controller_job_failed", "pingress_controller_reconcile_failed");
  const state = (reconcile: number, publish: number) => [
    `pingress_controller_reconcile_failed ${reconcile}`,
    `pingress_controller_job_failed{job="publish"} ${publish}`,
  ];
  metrics.hasJob("publish");
  assert.deepEqual(await states(), state(0, 0));
  metrics.ran("publish", "failed", 1);
  metrics.reconciled("failed", 1);
  assert.deepEqual(await states(), state(1, 1));
  metrics.ran("publish", "failed", 1);
  metrics.reconciled("same", 1);
  assert.deepEqual(await states(), state(0, 1));
  metrics.ran("publish", "idle", 1);
  assert.deepEqual(await states(), state(0, 0));
  metrics.ran("publish", "failed", 1);
  metrics.ran("publish", "again", 1);
  assert.deepEqual(await states(), state(0, 0));
});

Deno.test("the time of the last publication has no sample before the first one", async () => {
  const metrics = new ControllerMetrics();
  const name = "pingress_controller_published_timestamp_seconds";
  assert.deepEqual(await linesOf(metrics, name), []);
  metrics.set(name, 1_700_000_000);
  assert.deepEqual(await linesOf(metrics, name), [`${name} 1700000000`]);
});
