/**
 * How many pipelined requests a connection serves at a time. In: each that begins, and the moments
 * when none has come. Out: when the others must have their turn first.
 */
import { inNextTurn } from "../io/turn_budget.ts";

/**
 * What is served in a row, in reads and writes that need not wait: the runtime makes 128 before it
 * looks at other connections. Beside a client that pipelines requests for local replies, another one
 * waited 50 ms (median) without a bound, 1.4 ms with 64 requests, 0.3 ms with 16.
 */
const ROW = 128;
const LOCAL_REPLY = ROW / 16;
/** Its backend lets the event loop turn; with 16 of these too, such a client got a quarter. */
const FORWARDED = 1;

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

  /**
   * A request begins; true where it must `wait`.
   * @param wasForwarded the one before, if there was one.
   */
  mustWait(wasForwarded: boolean): boolean {
    if (this.#row >= ROW) {
      this.#row = 0;
      return true;
    }
    this.#row += wasForwarded ? FORWARDED : LOCAL_REPLY;
    return false;
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
