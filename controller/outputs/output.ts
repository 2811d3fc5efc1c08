/**
 * What every output of the controller has in common. In: the parts of the controller that outputs
 * work with. Out: types, and jobs that run while we lead.
 */
import type { Logger } from "../../shared/log.ts";
import type { ControllerOptions } from "../cli/options.ts";
import type { FencedClient } from "../kube/fenced_client.ts";
import type { WriteFence } from "../kube/term.ts";
import type { ControllerMetrics, JobName } from "../metrics.ts";
import type { Reconciliation } from "../reconcile/reconciler.ts";
import type { Watches } from "../watch/watches.ts";
import { IDLE, Job, type JobOutcome } from "./write/job.ts";

export interface OutputContext {
  /** Writes nothing without the lease. */
  readonly client: FencedClient;
  readonly fence: WriteFence;
  readonly watches: Watches;
  readonly options: ControllerOptions;
  readonly metrics: ControllerMetrics;
  readonly log: Logger;
}

/**
 * One of the things that the controller writes. Each goes at its own pace. A run begins at once where
 * it can, so all outputs have the new state (`observe`, `forget`) before the first begins (`poke`,
 * `wake`).
 */
export interface Output {
  /** A translation has been made. */
  observe?(result: Reconciliation): void;
  /** What is to be written may have changed. */
  poke?(): void;
  /** We begin or cease to lead: what is remembered as written here may be another's by now. */
  forget?(): void;
  /** We lead: whatever failed may have failed for want of the lease. */
  wake?(): void;
  /** Sets metrics of states. */
  measure?(): void;
  /** Nothing begins any more; resolves when no write is on its way. */
  stop(): Promise<void>;
  /** All outputs have stopped. */
  close?(): void;
}

/** A job that runs while we lead. @param pause In ms, after so many failures in a row. */
export function leaderJob(
  { fence, log, metrics }: OutputContext,
  name: JobName,
  run: () => Promise<JobOutcome>,
  pause?: (failures: number) => number,
): Job {
  metrics.hasJob(name);
  return new Job({
    name,
    log,
    pause,
    // Not leading is nothing to fail for: whoever leads sees to it.
    run: () => fence.mayWrite() ? run() : Promise.resolve(IDLE),
    onRun: (result, milliseconds) => metrics.ran(name, result, milliseconds),
  });
}
