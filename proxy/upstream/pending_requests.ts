/**
 * Requests that wait for an upstream to have an endpoint. In: requests as they come, and whether
 * there is an endpoint now, the client has gone, or time is up. Out: which of these came first.
 * Knows no protocol.
 *
 * A Service that is scaled to zero, or whose only pod is being replaced, is back within seconds:
 * whoever runs it may rather have its clients wait than be told 503 (`--hold-timeout`).
 */

export interface PendingLimits {
  /** In ms, over all waits of one request; 0 lets nobody wait. */
  readonly holdTimeout: number;
  /** Requests that may wait at a time. */
  readonly holdLimit: number;
}

/** `ended`: there will be no endpoint, or nobody who waits for it. */
export type PendingOutcome = "served" | "timeout" | "client_gone" | "no_room" | "ended";

/** What may get an endpoint: an upstream. */
export interface Fillable {
  /** True while it has none, and may get one. */
  readonly isEmpty: boolean;
  /** Whether a change of those that it has is told. */
  readonly isTold: boolean;
  /** Calls once when it has some, be it others, or never will; the answer takes that back. */
  whenFilled(told: (isFilled: boolean) => void): () => void;
}

/** Who waits: an exchange. */
export interface Waiter {
  /** Calls `stop` once, when it need not wait any more, unless that is taken back before. */
  readonly cancellation: { register(stop: () => void): void; unregister(stop: () => void): void };
  readonly isOver: boolean;
}

/** Told of each wait; metrics. */
export interface PendingCounts {
  holdBegun(): void;
  holdEnded(): void;
  held(outcome: PendingOutcome): void;
}

export class PendingRequests {
  readonly #limits: PendingLimits;
  readonly #counts: PendingCounts;
  /** What ends each of the waits. */
  readonly #waits = new Set<(outcome: PendingOutcome) => void>();
  #over = false;

  constructor(limits: PendingLimits, counts: PendingCounts) {
    this.#limits = limits;
    this.#counts = counts;
  }

  /** How many wait now. */
  get size(): number {
    return this.#waits.size;
  }

  /**
   * Whether a request to `upstream` is to wait now.
   * @param isUnreachable It could connect to none of those that are listed: a pod is gone sooner
   * than the list says so, and the next one is not yet in it.
   */
  concerns(upstream: Fillable, isUnreachable: boolean): boolean {
    if (this.#limits.holdTimeout === 0) return false;
    return upstream.isEmpty || (isUnreachable && upstream.isTold);
  }

  /**
   * Waits for `upstream` to have an endpoint.
   * @param since When the request began to wait for the first time, in ms, as `performance.now`.
   */
  async wait(upstream: Fillable, waiter: Waiter, since: number): Promise<PendingOutcome> {
    const outcome = await this.#wait(upstream, waiter, since);
    this.#counts.held(outcome);
    return outcome;
  }

  async #wait(upstream: Fillable, waiter: Waiter, since: number): Promise<PendingOutcome> {
    if (waiter.isOver) return "client_gone";
    if (this.#over) return "ended";
    const left = since + this.#limits.holdTimeout - performance.now();
    if (left <= 0) return "timeout";
    if (this.#waits.size >= this.#limits.holdLimit) return "no_room";
    const { promise, resolve } = Promise.withResolvers<PendingOutcome>();
    const timer = setTimeout(() => resolve("timeout"), left);
    const forget = upstream.whenFilled((isFilled) => resolve(isFilled ? "served" : "ended"));
    const stop = () => resolve("client_gone");
    waiter.cancellation.register(stop);
    this.#waits.add(resolve);
    this.#counts.holdBegun();
    const outcome = await promise;
    this.#counts.holdEnded();
    this.#waits.delete(resolve);
    clearTimeout(timer);
    forget();
    waiter.cancellation.unregister(stop);
    return outcome;
  }

  /** Ends all waits, and lets nobody wait any more. */
  release(): void {
    this.#over = true;
    for (const end of this.#waits) end("ended");
  }
}
