/**
 * What one worker counts. In: what happens to connections and exchanges. Out: numbers in its block.
 * The cost of an exchange is some ten additions to typed arrays, no object and no string.
 */
import type { ExchangeRecord } from "../message.ts";
import type { Failing } from "../upstream/ejection.ts";
import type { HoldOutcome } from "../upstream/hold.ts";
import {
  type Block,
  bucketIndex,
  CELLS,
  classIndex,
  EJECTION_TOTALS,
  HOLD_TOTALS,
  methodIndex,
  offsetOf,
  placeOf,
  placeOfError,
  SHED_TOTALS,
  type ShedReason,
  STATUS_CLASSES,
} from "./block.ts";
import { DEFAULT_SLOT, NONE_SLOT, OTHER_SLOT, type SlotChange } from "./route_slots.ts";

const CONNECTIONS = placeOf("connections");
const CONNECTIONS_OPEN = placeOf("connectionsOpen");
const ACCEPTS_FAILED = placeOf("acceptsFailed");
const HANDSHAKES_FAILED = placeOf("handshakesFailed");
const UPSTREAM_CONNECTS = placeOf("upstreamConnects");
const UPSTREAM_CONNECTS_FAILED = placeOf("upstreamConnectsFailed");
const UPSTREAM_REUSES = placeOf("upstreamReuses");
const UPSTREAM_RETRIES_DENIED = placeOf("upstreamRetriesDenied");
const REQUESTS_HELD = placeOf("requestsHeld");
const TUNNELS = placeOf("tunnels");
const TUNNELS_OPEN = placeOf("tunnelsOpen");
const LOG_LINES_DROPPED = placeOf("logLinesDropped");
/** Where a route's exchanges are counted. One object a route, for as long as anything holds it. */
export interface RouteCounters {
  /** The route's id; null for none and for the default action. */
  readonly id: string | null;
}

class Counters implements RouteCounters {
  readonly id: string | null;
  cells: Float64Array;
  at: number;

  constructor(id: string | null, block: Block, slot: number) {
    this.id = id;
    this.cells = block.chunkOf(slot)!;
    this.at = offsetOf(slot);
  }
}

export class Metrics {
  readonly #totals: Float64Array;
  readonly #block: Block;
  readonly #routes = new Map<string, Counters>();
  readonly #none: Counters;
  readonly #default: Counters;

  /** @param block with its first chunk. */
  constructor(block: Block) {
    this.#block = block;
    this.#totals = block.totals;
    this.#none = new Counters(null, block, NONE_SLOT);
    this.#default = new Counters(null, block, DEFAULT_SLOT);
  }

  // ── Routes ──────────────────────────────────────────────────────────────────────────────────

  /**
   * Takes a change of slots, whose chunks are there. Comes before the routes themselves. What is
   * left of a route that has gone counts as `other`: its slot may become another's.
   */
  change({ added, removed }: SlotChange): void {
    for (const id of removed) {
      const counters = this.#routes.get(id);
      if (counters === undefined) continue;
      this.#routes.delete(id);
      this.#point(counters, OTHER_SLOT);
    }
    for (const [id, slot] of added) {
      const counters = this.#routes.get(id);
      if (counters === undefined) this.#routes.set(id, new Counters(id, this.#block, slot));
      else this.#point(counters, slot);
    }
  }

  /** The counters of a route; null is the default action. */
  route(id: string | null): RouteCounters {
    if (id === null) return this.#default;
    return this.#routes.get(id) ?? new Counters(id, this.#block, OTHER_SLOT);
  }

  #point(counters: Counters, slot: number): void {
    counters.cells = this.#block.chunkOf(slot)!;
    counters.at = offsetOf(slot);
  }

  // ── Exchanges ───────────────────────────────────────────────────────────────────────────────

  /** Counts an exchange that has ended. `method` is "" where it could not be read. */
  exchangeEnded(record: ExchangeRecord, method: string): void {
    const { cells, at } = (record.route as Counters | null) ?? this.#none;
    const status = classIndex(record.status);
    cells[at + CELLS.requests + methodIndex(method) * STATUS_CLASSES.length + status]++;
    // A tunnel's life says nothing of how fast a route answers.
    if (record.status !== 101) {
      const seconds = record.duration / 1000;
      cells[at + CELLS.durations + bucketIndex(seconds)]++;
      cells[at + CELLS.durationSum] += seconds;
    }
    cells[at + CELLS.bytesIn] += record.bytesIn;
    cells[at + CELLS.bytesOut] += record.bytesOut;
    if (record.tries > 1) cells[at + CELLS.retries] += record.tries - 1;
    if (record.error !== null) this.#totals[placeOfError(record.error)]++;
  }

  // ── Connections ─────────────────────────────────────────────────────────────────────────────

  connectionOpened(): void {
    this.#totals[CONNECTIONS]++;
    this.#totals[CONNECTIONS_OPEN]++;
  }

  connectionClosed(): void {
    this.#totals[CONNECTIONS_OPEN]--;
  }

  /** A connection was closed before its time. */
  connectionShed(reason: ShedReason): void {
    this.#totals[placeOf(SHED_TOTALS[reason])]++;
  }

  acceptFailed(): void {
    this.#totals[ACCEPTS_FAILED]++;
  }

  handshakeFailed(): void {
    this.#totals[HANDSHAKES_FAILED]++;
  }

  upstreamConnected(): void {
    this.#totals[UPSTREAM_CONNECTS]++;
  }

  upstreamConnectFailed(): void {
    this.#totals[UPSTREAM_CONNECTS_FAILED]++;
  }

  upstreamReused(): void {
    this.#totals[UPSTREAM_REUSES]++;
  }

  /** An endpoint is left out for a while. */
  upstreamEjected(failing: Failing): void {
    this.#totals[placeOf(EJECTION_TOTALS[failing])]++;
  }

  /** A request begins to wait for an endpoint. */
  holdBegun(): void {
    this.#totals[REQUESTS_HELD]++;
  }

  /** It waits no more. */
  holdEnded(): void {
    this.#totals[REQUESTS_HELD]--;
  }

  /** What became of a request that was to wait. */
  held(outcome: HoldOutcome): void {
    this.#totals[placeOf(HOLD_TOTALS[outcome])]++;
  }

  /** A failure was answered for which the budget held no second try. */
  upstreamRetryDenied(): void {
    this.#totals[UPSTREAM_RETRIES_DENIED]++;
  }

  tunnelOpened(): void {
    this.#totals[TUNNELS]++;
    this.#totals[TUNNELS_OPEN]++;
  }

  tunnelClosed(): void {
    this.#totals[TUNNELS_OPEN]--;
  }

  logLinesDropped(count: number): void {
    this.#totals[LOG_LINES_DROPPED] += count;
  }
}
