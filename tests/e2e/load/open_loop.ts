/**
 * Something that is begun at a fixed rate, however long it takes. In: the time now, and what became
 * of each. Out: calls of what begins one, and the result in the end. An open loop: a slow proxy gets
 * as many as a fast one, up to a limit of how many are under way.
 */
import { Latencies } from "./latencies.ts";
import type { StreamResult } from "./plan.ts";

/** How many may be under way, in seconds of the rate, and at least. */
const RUNNING_SECONDS = 2;
const LEAST_RUNNING = 200;

export class OpenLoop {
  answered = 0;
  failed = 0;
  /** How many have been begun. */
  begun = 0;
  readonly #plan: { readonly name: string; readonly rate: number };
  readonly #lag: Latencies;
  readonly #begin: (late: number) => Promise<void>;
  readonly #latencies = new Latencies();
  readonly #running = new Set<Promise<void>>();
  readonly #mostRunning: number;

  /**
   * @param plan with a rate of so many a second.
   * @param lag takes by how much each is begun too late, in ms.
   * @param begin gets that too; settles when it is over.
   */
  constructor(
    plan: { readonly name: string; readonly rate: number },
    lag: Latencies,
    begin: (late: number) => Promise<void>,
  ) {
    this.#plan = plan;
    this.#mostRunning = Math.max(LEAST_RUNNING, RUNNING_SECONDS * plan.rate);
    this.#lag = lag;
    this.#begin = begin;
  }

  /**
   * Begins all that are due, `passed` ms after the start, or as many of them as may be under way. A generator that had
   * no CPU for 18 s opened 9,462 connections at once, and had sent nothing on them when the proxy's time limit for a
   * head was over.
   */
  tick(passed: number): void {
    const due = passed * this.#plan.rate / 1000;
    for (; this.begun < due && this.#running.size < this.#mostRunning; this.begun++) {
      const late = passed - this.begun * 1000 / this.#plan.rate;
      this.#lag.add(late);
      const running = this.#begin(late);
      this.#running.add(running);
      running.finally(() => this.#running.delete(running));
    }
  }

  /** One was answered as it should be, after so long in ms. */
  succeeded(latency: number): void {
    this.answered++;
    this.#latencies.add(latency);
  }

  /** Waits for those that are under way. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** @param opened connections. */
  resultWith(opened: number): StreamResult {
    return {
      name: this.#plan.name,
      answered: this.answered,
      failed: this.failed,
      ...this.#latencies.summary,
      opened,
    };
  }
}
