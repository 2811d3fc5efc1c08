/**
 * How busy one worker's thread is. In: a look every second. Out: its CPU time, its heap, and how late its
 * event loop was, in the cells of the worker.
 *
 * Deno 2.9 has `eventLoopUtilization` in name only: it is 0. The CPU time of the thread is what it would
 * be, but for what the thread waits for in the kernel. A look costs some tens of microseconds.
 */
import { threadCpuTime } from "../../shared/cpu_time.ts";
import { LoopDelay } from "../../shared/loop_delay.ts";
import type { Metrics } from "./metrics.ts";

export class LoopSampler {
  readonly #metrics: Pick<Metrics, "state">;
  readonly #delay = new LoopDelay(() => this.#look());

  constructor(metrics: Pick<Metrics, "state">) {
    this.#metrics = metrics;
  }

  start(): void {
    this.#delay.start();
  }

  close(): void {
    this.#delay.close();
  }

  #look(): void {
    this.#metrics.state("heapBytes", Deno.memoryUsage().heapUsed);
    this.#metrics.state("delaySeconds", this.#delay.longest);
    // Last: a scrape on another thread may come between, and one with CPU time has a heap too.
    this.#metrics.state("cpuSeconds", threadCpuTime());
  }
}
