/** Time that passes when a test says so. In: timers. Out: what they do, in its order. */
import type { After } from "../../controller/outputs/write/queue.ts";
import { ManualClock } from "../../shared/clock.ts";

/** Timers that fire when their time is reached by `pass`. */
export class ManualTime {
  readonly clock = new ManualClock();
  readonly #timers = new Set<{ readonly at: number; readonly run: () => void }>();

  readonly after: After = (ms, run) => {
    const timer = { at: this.clock.monotonic() + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  };

  /** Lets `ms` milliseconds pass, and whatever falls due happen in its order. */
  async pass(ms: number): Promise<void> {
    const end = this.clock.monotonic() + ms;
    for (;;) {
      await settle();
      const next = [...this.#timers].sort((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > end) break;
      this.#timers.delete(next);
      this.clock.advance(Math.max(0, next.at - this.clock.monotonic()));
      next.run();
    }
    this.clock.advance(end - this.clock.monotonic());
  }
}

/** Lets every promise that can settle now do so. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
