/**
 * Who may connect. In: addresses of new connections. Out: room or none; and where it gets tight,
 * connections that are idle make way, the one that was idle longest first.
 *
 * At 80 % of the limit idle ones are shed, so that the limit itself is met by clients that work,
 * not by those that only hold connections. At the limit new connections are closed at once, which
 * costs the least; the others never notice.
 */
import type { ConnectionCounts, ConnectionLimits, LimitReached } from "./connection_counts.ts";

/** Why a connection was closed before its time. */
export type ShedReason = LimitReached | "overload" | "idle";

/** What must be known of a connection to choose it. */
export interface Sheddable {
  /** Since when nothing is under way, in ms, monotonic; Infinity while something is. */
  readonly idleSince: number;
  close(): void;
}

export interface AdmissionOptions {
  readonly limits: ConnectionLimits;
  readonly counts: ConnectionCounts;
  /** Addresses that stand for many clients: they have no limit of their own. May change. */
  readonly isExempt: (address: string) => boolean;
  /** The connections of this event loop. */
  readonly connections: Iterable<Sheddable>;
  /** For counters. */
  readonly onShed: (reason: ShedReason) => void;
}

/** Share of the limit from which idle connections make way. */
const CROWDED = 0.8;
/** Of all connections are shed at once, at least: looking for them is not free. */
const BATCH = 1 / 64;
/** What has been idle for less (ms) may be about to send. */
const MIN_IDLE = 1_000;
/** After finding none, looks again no sooner than this, in ms. */
const REST = 100;

export class Admission {
  readonly #options: AdmissionOptions;
  #restUntil = 0;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /**
   * Whether there is room for a connection, beside `pending` ones that are in their handshakes.
   * Makes some where it is tight. False where it must be closed at once.
   */
  hasRoom(address: string, pending: number): boolean {
    const { counts } = this.#options;
    const excess = counts.total + pending + 1 - this.#limits.connections * CROWDED;
    if (excess > 0) this.makeRoom(excess + this.#limits.connections * BATCH);
    const limits = this.#limitsFor(this.#options.isExempt(address));
    return this.#isTaken(counts.refusal(address, limits, pending));
  }

  /**
   * Counts a connection in, until `leave`. False where it must be closed after all.
   *
   * @param isExempt Whether its address has no limit of its own.
   */
  enter(address: string, isExempt: boolean): boolean {
    return this.#isTaken(this.#options.counts.enter(address, this.#limitsFor(isExempt)));
  }

  /** A connection that was counted in is gone. @param isExempt As it was then. */
  leave(address: string, isExempt: boolean): void {
    this.#options.counts.leave(address, this.#limitsFor(isExempt));
  }

  /**
   * Closes up to `count` connections that have been idle for at least `minIdle` ms, the one that
   * was idle longest first. How many it found.
   */
  shed(count: number, minIdle = MIN_IDLE): number {
    const latest = performance.now() - minIdle;
    const idle: { since: number; connection: Sheddable }[] = [];
    for (const connection of this.#options.connections) {
      const since = connection.idleSince;
      if (since <= latest) idle.push({ since, connection });
    }
    idle.sort((one, other) => one.since - other.since);
    idle.length = Math.min(idle.length, Math.ceil(count));
    for (const { connection } of idle) {
      connection.close();
      this.#options.onShed("idle");
    }
    return idle.length;
  }

  /** Likewise, unless it has found none a moment ago: looking at all of them is not free. */
  makeRoom(count: number): number {
    const now = performance.now();
    if (now < this.#restUntil) return 0;
    const found = this.shed(count);
    if (found === 0) this.#restUntil = now + REST;
    return found;
  }

  #isTaken(refusal: LimitReached | null): boolean {
    if (refusal !== null) this.#options.onShed(refusal);
    return refusal === null;
  }

  get #limits(): ConnectionLimits {
    return this.#options.limits;
  }

  #limitsFor(isExempt: boolean): ConnectionLimits {
    const { limits } = this.#options;
    if (limits.connectionsPerAddress === 0 || !isExempt) return limits;
    return { connections: limits.connections, connectionsPerAddress: 0 };
  }
}
