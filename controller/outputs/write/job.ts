/**
 * Work that is to follow a state. In: what it does, and a poke whenever the state may have changed.
 * Out: runs of it, one at a time, again if it was poked meanwhile, and with growing pauses while it
 * fails. Level-triggered: a run looks at the state of that moment, so no poke is ever lost or queued.
 */
import type { Logger } from "../../../shared/log.ts";

export type JobOutcome =
  /** The state is as it should be. */
  | { readonly kind: "done" }
  /** Nothing is wrong, but there is more to do after this many milliseconds. */
  | { readonly kind: "again"; readonly after: number }
  /** It is not ours to do now; failures are over, though nobody can say that it works. */
  | { readonly kind: "idle" }
  /** `retryAfter`: milliseconds that the other side asks to wait, or null. */
  | { readonly kind: "failed"; readonly reason: string; readonly retryAfter?: number | null };

export const DONE: JobOutcome = { kind: "done" };
export const IDLE: JobOutcome = { kind: "idle" };

export interface JobOptions {
  /** For logs and metrics: `publish`. */
  readonly name: string;
  readonly run: () => Promise<JobOutcome>;
  readonly log: Logger;
  /** Told of each run. */
  readonly onRun?: (outcome: JobOutcome["kind"], milliseconds: number) => void;
  /** Milliseconds of pause after so many failures in a row; grows to 30 s, with jitter, by default. */
  readonly pause?: (failures: number) => number;
}

/** Milliseconds from the first failure to the next try, doubled with each one up to the limit. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 30_000;

export class Job {
  readonly #options: JobOptions;
  #running: Promise<void> | null = null;
  #poked = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #stopped = false;

  constructor(options: JobOptions) {
    this.#options = options;
  }

  /** Failures in a row; 0 when the last run was well. */
  get failures(): number {
    return this.#failures;
  }

  /** The state may have changed. While it fails, its pause is kept. */
  poke(): void {
    if (this.#stopped || (this.#failures > 0 && this.#timer !== undefined)) return;
    if (this.#running !== null) {
      this.#poked = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running = this.#run();
  }

  /** The same where what it failed for may have gone: its pause ends. */
  wake(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.poke();
  }

  /** Nothing begins any more; resolves when what runs has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    const { name, log, onRun } = this.#options;
    const started = performance.now();
    let outcome: JobOutcome;
    try {
      outcome = await this.#options.run();
    } catch (error) {
      log.error("Job failed unexpectedly", { job: name, error });
      outcome = { kind: "failed", reason: error instanceof Error ? error.message : String(error) };
    }
    onRun?.(outcome.kind, performance.now() - started);
    this.#running = null;
    const poked = this.#poked;
    this.#poked = false;
    if (outcome.kind === "failed") {
      // It may just have been given up for that.
      if (this.#stopped) return;
      this.#failures++;
      const pause = (this.#options.pause ?? growingPause)(this.#failures);
      if (this.#failures === 1) {
        log.warn("Job failed, will be retried", { job: name, reason: outcome.reason });
      }
      this.#later(Math.max(pause, outcome.retryAfter ?? 0));
      return;
    }
    if (this.#failures > 0 && outcome.kind !== "idle") {
      log.info("Job succeeded again", { job: name, failures: this.#failures });
    }
    this.#failures = 0;
    if (poked) this.#later(0);
    else if (outcome.kind === "again") this.#later(outcome.after);
  }

  #later(ms: number): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#running = this.#run();
    }, ms);
  }
}

function growingPause(failures: number): number {
  const longest = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (failures - 1));
  return longest * (0.5 + Math.random() / 2);
}
