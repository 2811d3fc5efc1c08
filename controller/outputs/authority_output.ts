/**
 * The stream's certificate authority, kept by whoever leads. In: the lease. Out: the authority's
 * objects as they should be, and whether they have been looked at once.
 */
import type { Problem } from "../../shared/problem.ts";
import { AuthorityKeeper } from "../stream/ca/keeper.ts";
import { leaderJob, type Output, type OutputContext } from "./output.ts";
import type { Job } from "./write/job.ts";

/** The longest pause in ms while the stream's authority cannot be kept: proxies wait for it. */
const LONGEST_PAUSE = 5_000;

export interface AuthorityHooks {
  /** The job has run, `isFirst` for the first time. */
  readonly onRun: (isFirst: boolean) => void;
}

export class AuthorityOutput implements Output {
  readonly #keeper: AuthorityKeeper;
  readonly #job: Job;

  constructor(context: OutputContext, hooks: AuthorityHooks) {
    const { client, log, options: { namespace } } = context;
    const keeper = this.#keeper = new AuthorityKeeper({ client, namespace, log });
    this.#job = leaderJob(
      context,
      "authority",
      async () => {
        const isFirst = !keeper.hasTried;
        const outcome = await keeper.run();
        hooks.onRun(isFirst);
        return outcome;
      },
      (failures) => Math.min(LONGEST_PAUSE, 500 * 2 ** (failures - 1)),
    );
  }

  get hasTried(): boolean {
    return this.#keeper.hasTried;
  }

  get problems(): readonly Problem[] {
    return this.#keeper.problems;
  }

  forget(): void {
    this.#keeper.forget();
  }

  wake(): void {
    this.#job.wake();
  }

  async stop(): Promise<void> {
    await this.#job.stop();
  }
}
