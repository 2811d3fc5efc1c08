/**
 * What one worker counts. In: what happens to connections and exchanges. Out: numbers in its block.
 * The cost of an exchange is some ten additions to typed arrays, no object and no string.
 */
import type { ExchangeRecord } from "../http/message.ts";
import type { EndReason } from "../http2/abuse.ts";
import type { Failing } from "../upstream/outlier_detection.ts";
import type { PendingOutcome } from "../upstream/pending_requests.ts";
import {
  type Block,
  bucketIndex,
  cellAt,
  CELLS,
  classIndex,
  durationCell,
  EJECTION_TOTALS,
  HOLD_TOTALS,
  HTTP2_END_TOTALS,
  indexInChunk,
  methodIndex,
  placeOf,
  placeOfError,
  requestCell,
  SHED_TOTALS,
  type ShedReason,
} from "./block.ts";
import { RouteCounters } from "./route_counters.ts";
import type { SlotChange } from "./route_slots.ts";

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

export class Metrics {
  readonly #totals: Float64Array;
  readonly #block: Block;
  readonly #routes = new RouteCounters();

  /** @param block with its first chunk. */
  constructor(block: Block) {
    this.#block = block;
    this.#totals = block.totals;
  }

  // ── Routes ──────────────────────────────────────────────────────────────────────────────────

  /** Takes a change of slots, whose chunks are there. Comes before the routes themselves. */
  change(change: SlotChange): void {
    this.#routes.change(change);
  }

  /** The routes of the last change are in force. */
  routesInForce(): void {
    this.#routes.inForce();
  }

  /** The number of a route's counters; null is the default action. */
  countersOf(id: string | null): number {
    return this.#routes.numberOf(id);
  }

  /** The id of the route with these counters; null for the default action. */
  idOf(counters: number): string | null {
    return this.#routes.idOf(counters);
  }

  /** An exchange has got its route. @param counters as `countersOf` gave it for the routes in force. */
  routed(record: ExchangeRecord, counters: number): void {
    record.counters = counters;
    record.routedAt = this.#routes.age;
  }

  // ── Exchanges ───────────────────────────────────────────────────────────────────────────────

  /** Counts an exchange that has ended. `method` is "" where it could not be read. */
  exchangeEnded(record: ExchangeRecord, method: string): void {
    const slot = this.#routes.slotOf(record.counters, record.routedAt);
    const cells = this.#block.chunkOf(slot)!;
    const index = indexInChunk(slot);
    const status = classIndex(record.status);
    cells[cellAt(index, requestCell(methodIndex(method), status))]++;
    // A tunnel's life says nothing of how fast a route answers.
    if (record.status !== 101) {
      const seconds = record.duration / 1000;
      cells[cellAt(index, durationCell(bucketIndex(seconds)))]++;
      cells[cellAt(index, CELLS.durationSum)] += seconds;
    }
    cells[cellAt(index, CELLS.bytesIn)] += record.bytesIn;
    cells[cellAt(index, CELLS.bytesOut)] += record.bytesOut;
    if (record.tries > 1) cells[cellAt(index, CELLS.retries)] += record.tries - 1;
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

  /** A client's HTTP/2 connection was ended with GOAWAY for what the client did. */
  http2Ended(reason: EndReason): void {
    this.#totals[placeOf(HTTP2_END_TOTALS[reason])]++;
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
  held(outcome: PendingOutcome): void {
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
