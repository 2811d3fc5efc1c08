import assert from "node:assert/strict";
import { silentLogger } from "../../shared/log.ts";
import { LeaderElector, type LeaderElectorOptions, type LeaseClient } from "./leader.ts";

/** Asked by nobody who has not started. */
const noClient = {} as LeaseClient;

function elector(options: Partial<LeaderElectorOptions>): LeaderElector {
  return new LeaderElector({
    client: noClient,
    namespace: "n",
    identity: "a",
    log: silentLogger,
    ...options,
  });
}

Deno.test("lease timings that allow two leaders are rejected", () => {
  const refused: readonly Partial<LeaderElectorOptions>[] = [
    { leaseDuration: 10_000 },
    { renewDeadline: 15_000 },
    { renewDeadline: 2_400 },
    { retryPeriod: 8_334 },
    { retryPeriod: 0 },
    { leaseDuration: NaN },
    { leaseDuration: Infinity },
    { identity: "" },
  ];
  for (const options of refused) {
    assert.throws(() => elector(options), RangeError, JSON.stringify(options));
  }
  elector({ renewDeadline: 2_401 });
  elector({ leaseDuration: 10_001 });
});

Deno.test("a replica that has not started to campaign may not write", async () => {
  const one = elector({});
  assert.equal(one.isLeader, false);
  assert.equal(one.mayWrite(), false);
  assert.equal(one.writeDeadline(), 0);
  assert.equal(one.writeSignal().aborted, true);
  const acquired = one.acquired();
  await one.stop();
  assert.equal(await acquired, false);
  assert.equal(await one.acquired(), false);
});
