/**
 * When proxies are of no use any more. In: how many Ingresses are served, at every moment. Out: one
 * call that takes proxies and configuration away, when there has been none for long enough and a
 * list made for the purpose says so too.
 */
import type { Logger } from "../../../shared/log.ts";
import { DONE, type JobOutcome } from "../write/job.ts";

export interface TeardownOptions {
  /** Milliseconds without an Ingress; Infinity for never. */
  readonly delay: number;
  readonly log: Logger;
  /** Lists everything anew. Resolves to the Ingresses that are served; null where a list failed. */
  readonly confirm: () => Promise<number | null>;
  /** Takes everything away; null, or why it failed. */
  readonly remove: () => Promise<string | null>;
  /** Whether there is anything to take away. */
  readonly isAnything: () => boolean;
  /** Milliseconds that never go back. */
  readonly now: () => number;
}

export class Teardown {
  readonly #options: TeardownOptions;
  #emptySince: number | null = null;
  #hasTaken = false;

  constructor(options: TeardownOptions) {
    this.#options = options;
  }

  /** Whether all is taken away, or being taken, and nobody may make any of it anew. */
  get hasTaken(): boolean {
    return this.#hasTaken;
  }

  /** @param served Ingresses of a class that is served. */
  observe(served: number): void {
    if (served > 0) {
      this.#emptySince = null;
      this.#hasTaken = false;
    } else this.#emptySince ??= this.#options.now();
  }

  /** To be run by whoever may write. */
  async run(): Promise<JobOutcome> {
    const { delay, log, confirm, remove, isAnything, now } = this.#options;
    if (this.#emptySince === null || delay === Infinity || !isAnything()) return DONE;
    const left = this.#emptySince + delay - now();
    if (left > 0) return { kind: "again", after: Math.ceil(left) };
    const served = await confirm();
    if (served === null) return { kind: "failed", reason: "the Ingresses could not be listed" };
    // The confirmation was observed as well.
    if (served > 0 || this.#emptySince === null) return DONE;
    log.info("Removing the proxies, as there is no Ingress to serve", { delay });
    this.#hasTaken = true;
    const failure = await remove();
    return failure === null ? DONE : { kind: "failed", reason: failure };
  }
}
