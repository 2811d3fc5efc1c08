/**
 * A request's body with its deadline. In: an input, and what the client was told. Out: a `Body`, and
 * whether its client has stopped sending or merely trickles.
 */
import type { BufferPool } from "../io/buffer_pool.ts";
import { type Deadlines, NO_DEADLINE } from "../io/deadlines.ts";
import type { Limits } from "../http/limits.ts";
import { MinRate } from "../io/min_rate.ts";
import { InputBody } from "./body.ts";
import type { Input } from "../io/input.ts";

export class RequestBody extends InputBody {
  /** The client waits for 100 (Continue), and no byte of its body has come. */
  awaitsContinue = false;
  readonly #deadlines: Deadlines;
  readonly #timeout: number;
  readonly #pace: MinRate;
  #deadline = NO_DEADLINE;

  constructor(input: Input, bulk: BufferPool, limits: Limits, deadlines: Deadlines) {
    super(input, bulk, {
      malformed: "bad_chunk",
      cut: "client_gone",
      tooLarge: "body_too_large",
      trailersTooLarge: "head_too_large",
      maxTrailerBytes: limits.requestHeadBytes,
      maxTrailerFields: limits.requestFields,
    });
    this.#deadlines = deadlines;
    this.#timeout = limits.bodyTimeout;
    this.#pace = new MinRate(limits.bodyRate, limits.bodyTimeout);
    const waits = (waiting: boolean) => {
      if (!waiting) this.awaitsContinue = false;
      // It is the backend that lets a client wait for 100, and the backend's deadline that runs.
      this.#deadline = waiting && !this.awaitsContinue ? deadlines.in(this.#timeout) : NO_DEADLINE;
    };
    this.onWait = waits;
  }

  override begin(length: number, untilClose: boolean): void {
    super.begin(length, untilClose);
    this.#pace.begin(0);
    this.#deadline = NO_DEADLINE;
  }

  /** The client has been told to go on: its time runs from now. */
  continues(): void {
    if (!this.awaitsContinue) return;
    this.awaitsContinue = false;
    this.#deadline = this.#deadlines.in(this.#timeout);
  }

  /** Bytes have not come for too long, or hardly any of them. `now` in ms, monotonic. */
  isOverdue(now: number): boolean {
    if (this.#deadline === NO_DEADLINE) return false;
    return now >= this.#deadline || this.#pace.isTooSlow(this.received);
  }
}
