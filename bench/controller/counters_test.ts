import assert from "node:assert/strict";
import { ControllerMetrics } from "../../controller/metrics.ts";
import { counterDifference, countersOf } from "./counters.ts";

/** As the controller tells it, after some calls. */
async function text(calls: readonly (readonly [string, string, number])[]): Promise<string> {
  const metrics = new ControllerMetrics();
  for (const [verb, resource, code] of calls) {
    metrics.called(
      { verb, resource, code, milliseconds: 1 } as Parameters<
        ControllerMetrics["called"]
      >[0],
    );
  }
  metrics.time("pingress_controller_reconcile_duration_seconds", 250);
  metrics.time("pingress_controller_job_duration_seconds", 40, { job: "publish" });
  metrics.time("pingress_controller_job_duration_seconds", 7000, { job: "status" });
  metrics.set("pingress_controller_published_bytes", 5000, { kind: "ConfigMap" });
  return await metrics.text();
}

Deno.test("calls are distinguished by verb and resource, whatever their code", async () => {
  const { calls, failedCalls } = countersOf(
    await text([["list", "ingresses", 200], ["list", "ingresses", 200], [
      "apply",
      "configmaps",
      409,
    ]]),
  );
  assert.deepEqual(calls, { "list ingresses": 2, "apply configmaps": 1 });
  assert.equal(failedCalls, 1);
});

Deno.test("times are those of translation and publication", async () => {
  const counters = countersOf(await text([["list", "ingresses", 200]]));
  assert.equal(counters.translating, 250);
  assert.equal(counters.publishing, 40);
  assert.equal(counters.configMapBytes, 5000);
});

Deno.test("a difference has only the calls in between", async () => {
  const before = countersOf(await text([["list", "ingresses", 200]]));
  const after = countersOf(
    await text([["list", "ingresses", 200], ["apply", "configmaps", 200]]),
  );
  const { calls, translating, configMapBytes } = counterDifference(before, after);
  assert.deepEqual(calls, { "apply configmaps": 1 });
  assert.equal(translating, 0);
  assert.equal(configMapBytes, 5000);
});

Deno.test("problems are counted by their reason, without those that have ended", async () => {
  const metrics = new ControllerMetrics();
  metrics.set("pingress_config_problems", 1698, { reason: "ClusterLimitExceeded" });
  metrics.set("pingress_config_problems", 0, { reason: "SecretMissing" });
  assert.deepEqual(countersOf(await metrics.text()).problems, { ClusterLimitExceeded: 1698 });
});
