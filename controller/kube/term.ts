/**
 * One stretch of leading. In: until when writes are allowed, moved on by each renewal. Out: whether
 * they still are, how long one may take, and a signal that ends those that run.
 *
 * Time is the monotonic clock. On Linux it goes on while a process is stopped (SIGSTOP, a debugger, a
 * frozen cgroup), and stands still while the whole machine sleeps: what a laptop or a paused virtual
 * machine sends after waking up is fenced by resourceVersions alone.
 */
import type { Clock } from "../../shared/clock.ts";

/** What those who write on the leader's behalf ask. */
export interface WriteFence {
  /** Ask right before each write, with nothing awaited in between. */
  mayWrite(): boolean;
  /**
   * Milliseconds that a write started now may take, so that it has surely been given up before
   * another may lead; 0 if none may start.
   */
  writeDeadline(): number;
  /**
   * For a write that starts now: aborts when no write may go on. Aborted already if none may start.
   * Its `aborted` is right at any moment, which that of an `AbortSignal.any` made of it is not.
   */
  writeSignal(): AbortSignal;
}

export class Term {
  readonly signal: AbortSignal;
  readonly #clock: Clock;
  readonly #onExpiry: () => void;
  readonly #controller = new AbortController();
  #until: number;
  #hasEnded = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param until on the monotonic clock, in ms. `onExpiry` is called when it has passed. */
  constructor(clock: Clock, until: number, onExpiry: () => void) {
    this.#clock = clock;
    this.#until = until;
    this.#onExpiry = onExpiry;
    this.signal = this.#controller.signal;
    // The timer of a process that was stopped fires some time after it has gone on, and a write may
    // be on its way between the question and the wire: who asks the signal is told by the clock.
    Object.defineProperty(this.signal, "aborted", {
      get: () => this.isOver,
      configurable: true,
    });
    this.#arm();
  }

  get isOver(): boolean {
    return this.#hasEnded || this.#clock.monotonic() >= this.#until;
  }

  /** Milliseconds; 0 when it is over. */
  get left(): number {
    return this.isOver ? 0 : this.#until - this.#clock.monotonic();
  }

  /** Moves the end on. What is over stays over. */
  extend(until: number): void {
    if (this.isOver) return;
    this.#until = Math.max(this.#until, until);
    this.#arm();
  }

  /** Ends it now, and what is being written. */
  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    // A controller tells nobody of what its signal calls aborted already.
    Reflect.deleteProperty(this.signal, "aborted");
    this.#controller.abort();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.isOver ? this.#onExpiry() : this.#arm(), this.left);
  }
}
