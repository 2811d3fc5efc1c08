import assert from "node:assert/strict";
import { createLogger, silentLogger } from "../../../shared/log.ts";
import { DONE, IDLE, Job, type JobOutcome } from "./job.ts";

/** A job whose runs end when the test says so. */
function scene(pause = 1) {
  const waiting: ((outcome: JobOutcome) => void)[] = [];
  let begun = Promise.withResolvers<void>();
  let runs = 0;
  const said: string[] = [];
  const write = (line: string) => said.push(JSON.parse(line).message);
  const job = new Job({
    name: "test",
    log: createLogger({ level: "debug", format: "json", write }),
    pause: () => pause,
    run() {
      runs++;
      begun.resolve();
      begun = Promise.withResolvers<void>();
      return new Promise((resolve) => waiting.push(resolve));
    },
  });
  return {
    job,
    said,
    get runs() {
      return runs;
    },
    /** Resolves when the next run has begun. */
    next: () => begun.promise,
    end: (outcome: JobOutcome) => waiting.shift()!(outcome),
  };
}

Deno.test("however often it is triggered, a job runs once at a time and once more", async () => {
  const one = scene();
  for (let i = 0; i < 5; i++) one.job.poke();
  assert.equal(one.runs, 1);
  const next = one.next();
  one.end(DONE);
  await next;
  assert.equal(one.runs, 2);
  one.end(DONE);
  await one.job.stop();
  assert.equal(one.runs, 2);
});

Deno.test("a failed run is retried without a trigger", async () => {
  const one = scene();
  one.job.poke();
  const next = one.next();
  one.end({ kind: "failed", reason: "no answer" });
  await next;
  assert.equal(one.job.failures, 1);
  one.end(DONE);
  await one.job.stop();
  assert.equal(one.job.failures, 0);
});

Deno.test("triggers do not shorten the backoff after a failure", async () => {
  const one = scene(60_000);
  one.job.poke();
  one.end({ kind: "failed", reason: "no answer" });
  await Promise.resolve();
  await Promise.resolve();
  one.job.poke();
  one.job.poke();
  assert.equal(one.runs, 1);
  await one.job.stop();
});

Deno.test("a run with more work to do later runs again, and sooner if triggered", async () => {
  const one = scene();
  one.job.poke();
  one.end({ kind: "again", after: 60_000 });
  await Promise.resolve();
  await Promise.resolve();
  const next = one.next();
  one.job.poke();
  await next;
  assert.equal(one.runs, 2);
  one.end(DONE);
  await one.job.stop();
});

Deno.test("a run that fails because of the shutdown is not a failure", async () => {
  const one = scene();
  one.job.poke();
  const stopped = one.job.stop();
  one.end({ kind: "failed", reason: "it was given up" });
  await stopped;
  assert.equal(one.job.failures, 0);
});

Deno.test("an exception counts as a failure", async () => {
  let runs = 0;
  const again = Promise.withResolvers<void>();
  const job = new Job({
    name: "test",
    log: silentLogger,
    pause: () => 1,
    run() {
      if (++runs === 1) throw new TypeError("a mistake");
      again.resolve();
      return Promise.resolve(DONE);
    },
  });
  job.poke();
  await again.promise;
  await job.stop();
  assert.equal(runs, 2);
});

Deno.test("an idle run after a failure clears it without logging a recovery", async () => {
  const one = scene();
  one.job.poke();
  const next = one.next();
  one.end({ kind: "failed", reason: "no answer" });
  await next;
  one.end(IDLE);
  await one.job.stop();
  assert.equal(one.job.failures, 0);
  assert.deepEqual(one.said, ["Job failed, will be retried"]);
});

Deno.test("a run that failed for a missing precondition is retried as soon as that is met", async () => {
  const one = scene(3_600_000);
  one.job.poke();
  one.end({ kind: "failed", reason: "no lease" });
  await new Promise((resolve) => setTimeout(resolve));
  one.job.poke();
  assert.equal(one.runs, 1);
  one.job.wake();
  assert.equal(one.runs, 2);
  one.end(DONE);
  await one.job.stop();
  assert.deepEqual(one.said, ["Job failed, will be retried", "Job succeeded again"]);
});
