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

type EndWait = (outcome: PendingOutcome) => void;

/** Waits that have ended, and are kept until there are so many more of them than of others. */
const FEW_ENDED = 16;

/** What ends each wait for one upstream. The newest is found at once, however many there are. */
class Waits {
  /** In the order of their beginnings. */
  readonly #ends = new Set<EndWait>();
  /** The same, and some that have ended. */
  #order: EndWait[] = [];

  get size(): number {
    return this.#ends.size;
  }

  add(end: EndWait): void {
    this.#ends.add(end);
    this.#order.push(end);
  }

  /** False if it has ended already. */
  delete(end: EndWait): boolean {
    const isThere = this.#ends.delete(end);
    if (this.#order.length > 2 * this.#ends.size + FEW_ENDED) this.#order = [...this.#ends];
    return isThere;
  }

  /** Takes out the newest; there is one. */
  takeNewest(): EndWait {
    for (;;) {
      const end = this.#order.pop()!;
      if (this.#ends.delete(end)) return end;
    }
  }

  endAll(outcome: PendingOutcome): void {
    for (const end of this.#ends) end(outcome);
  }
}

export class PendingRequests {
  readonly #limits: PendingLimits;
  readonly #counts: PendingCounts;
  /** By the upstream that is waited for; each has some. */
  readonly #waits = new Map<Fillable, Waits>();
  #size = 0;
  #over = false;

  constructor(limits: PendingLimits, counts: PendingCounts) {
    this.#limits = limits;
    this.#counts = counts;
  }

  /** How many wait now. */
  get size(): number {
    return this.#size;
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
    if (this.#size >= this.#limits.holdLimit && !this.#makeRoom(upstream)) return "no_room";
    const { promise, resolve } = Promise.withResolvers<PendingOutcome>();
    const timer = setTimeout(() => resolve("timeout"), left);
    const forget = upstream.whenFilled((isFilled) => resolve(isFilled ? "served" : "ended"));
    const stop = () => resolve("client_gone");
    waiter.cancellation.register(stop);
    this.#add(upstream, resolve);
    this.#counts.holdBegun();
    const outcome = await promise;
    this.#counts.holdEnded();
    this.#delete(upstream, resolve);
    clearTimeout(timer);
    forget();
    waiter.cancellation.unregister(stop);
    return outcome;
  }

  /** Ends all waits, and lets nobody wait any more. */
  release(): void {
    this.#over = true;
    for (const waits of this.#waits.values()) waits.endAll("ended");
  }

  /**
   * Ends the newest wait for the upstream that has the most, unless `upstream` would have as many with this one:
   * a flood of requests to one Service takes no room from those to others. False if none was ended.
   */
  #makeRoom(upstream: Fillable): boolean {
    let largest = upstream;
    let most = (this.#waits.get(upstream)?.size ?? 0) + 1;
    for (const [other, { size }] of this.#waits) {
      if (size <= most) continue;
      largest = other;
      most = size;
    }
    if (largest === upstream) return false;
    const newest = this.#waits.get(largest)!.takeNewest();
    this.#left(largest);
    newest("no_room");
    return true;
  }

  #add(upstream: Fillable, end: EndWait): void {
    let waits = this.#waits.get(upstream);
    if (waits === undefined) this.#waits.set(upstream, waits = new Waits());
    waits.add(end);
    this.#size++;
  }

  /** No-op if `#makeRoom` has ended it already. */
  #delete(upstream: Fillable, end: EndWait): void {
    if (this.#waits.get(upstream)?.delete(end)) this.#left(upstream);
  }

  /** A wait for the upstream has been taken out. */
  #left(upstream: Fillable): void {
    this.#size--;
    if (this.#waits.get(upstream)!.size === 0) this.#waits.delete(upstream);
  }
}
