/**
 * How many pipelined requests a connection serves at a time. In: each that begins, and the moments
 * when none has come. Out: when the others must have their turn first.
 */
import { inNextTurn } from "../turn_budget.ts";

/**
 * Requests in a row. Each is a write that need not wait, and the runtime makes 128 reads and writes
 * before it looks at other connections: beside one that pipelines requests for local replies, another
 * client waited 50 ms (median) without a bound, 1.4 ms with 64, 0.3 ms with 16.
 */
const ROW = 16;

export class Pipelining {
  #row = 0;
  #isWaiting = false;

  /** The input has requests, and others have their turn. */
  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** All that has come has been served. */
  rest(): void {
    this.#row = 0;
  }

  /** A request begins; true where it must `wait`. */
  mustWait(): boolean {
    if (++this.#row <= ROW) return false;
    this.#row = 1;
    return true;
  }

  /** Calls `resume` in a later turn, unless `cancel` comes first. */
  wait(resume: () => void): void {
    this.#isWaiting = true;
    inNextTurn(() => this.cancel() && resume());
  }

  /** Whether it has waited. */
  cancel(): boolean {
    const was = this.#isWaiting;
    this.#isWaiting = false;
    return was;
  }
}
