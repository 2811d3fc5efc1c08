/**
 * Deadlines of gRPC calls. In: exchanges as they begin and end. Out: the end of each whose client's
 * time (`grpc-timeout`) has passed, by its cancellation. No timer is made for a call.
 */
import { type Deadlined, type Deadlines, SWEEP_INTERVAL } from "../io/deadlines.ts";
import { ProxyError } from "../errors.ts";
import type { Exchange } from "../http/message.ts";
import { readGrpcTimeout } from "./timeout.ts";

/** `malformed`: what the client says is no time, and its request is to be refused. */
export type Watching = "none" | "watched" | "malformed";

/** What of an exchange concerns its deadline. */
export type Timed = Pick<Exchange, "cancellation" | "request" | "record">;

export class GrpcDeadlines implements Deadlined {
  deadlinePlace = -1;
  readonly #deadlines: Deadlines;
  /** When each is over, in ms, monotonic. */
  readonly #ends = new Map<Timed, number>();

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  /** How many calls are watched. */
  get size(): number {
    return this.#ends.size;
  }

  /**
   * Watches an exchange from now on; its time runs from the first byte of its head. `forget` it
   * when it has ended.
   */
  watch(exchange: Timed): Watching {
    const timeout = readGrpcTimeout(exchange.request.fields);
    if (timeout === Infinity) return "none";
    if (Number.isNaN(timeout)) return "malformed";
    if (this.#ends.size === 0) this.#deadlines.add(this);
    const begun = exchange.record.startedAt || performance.now();
    // A client ends its call itself at its deadline: whoever comes after that comes in nobody's way.
    this.#ends.set(exchange, begun + timeout + SWEEP_INTERVAL);
    return "watched";
  }

  forget(exchange: Timed): void {
    if (this.#ends.delete(exchange) && this.#ends.size === 0) this.#deadlines.delete(this);
  }

  /** Whether the time of a watched call is over, in which a backend that breaks off has ended it. */
  hasPassed(exchange: Timed): boolean {
    const end = this.#ends.get(exchange);
    return end !== undefined && performance.now() >= end - SWEEP_INTERVAL;
  }

  check(now: number): void {
    for (const [exchange, end] of this.#ends) {
      if (now < end) continue;
      this.#ends.delete(exchange);
      exchange.cancellation.cancel(new ProxyError("deadline_passed"));
    }
    if (this.#ends.size === 0) this.#deadlines.delete(this);
  }
}
