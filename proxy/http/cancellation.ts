/**
 * The end of an exchange from outside: its client goes away, or its time has passed. In: why, and who
 * works on the exchange at that moment. Out: each of them is called once; who begins to work on it
 * afterwards is called at once.
 *
 * It belongs to an exchange object, which serves one exchange after another: `reset` between them.
 * Mostly one works on an exchange at a time (a connection that is opened, then the request on it),
 * and to register that one costs a field.
 */
import type { ProxyError } from "../errors.ts";

/** Stops the work, as nobody waits for its result any more. Must not throw. */
export type Stop = (reason: ProxyError) => void;

export class Cancellation {
  #reason: ProxyError | null = null;
  #first: Stop | null = null;
  /** Those besides `#first`; null where there never was one. */
  #others: Set<Stop> | null = null;

  /** Why the exchange has been cancelled; null while it has not. */
  get reason(): ProxyError | null {
    return this.#reason;
  }

  /** Whether somebody would be called. */
  get isAwaited(): boolean {
    return this.#first !== null || (this.#others !== null && this.#others.size > 0);
  }

  /** Calls `stop` when the exchange is cancelled, at once where it has been; until `unregister`. */
  register(stop: Stop): void {
    if (this.#reason !== null) stop(this.#reason);
    else if (this.#first === null) this.#first = stop;
    else (this.#others ??= new Set()).add(stop);
  }

  /** `stop` need not be called any more. */
  unregister(stop: Stop): void {
    if (this.#first === stop) this.#first = null;
    else this.#others?.delete(stop);
  }

  /** Cancels the exchange; only the first reason counts. */
  cancel(reason: ProxyError): void {
    if (this.#reason !== null) return;
    this.#reason = reason;
    const first = this.#first;
    const others = this.#others;
    this.#first = this.#others = null;
    first?.(reason);
    for (const stop of others ?? []) stop(reason);
  }

  /** The exchange is over, or the next one begins. */
  reset(): void {
    this.#reason = this.#first = this.#others = null;
  }
}
