/**
 * What one worker counts. In: what happens to connections and exchanges. Out: numbers in its block.
 * The cost of an exchange is some ten additions to typed arrays, no object and no string.
 */
import { ERROR_KINDS } from "../../shared/error_kinds.ts";
import type { FilterName } from "../filters/filter_name.ts";
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
  methodIndex,
  placeOf,
  placeOfError,
  placeOfReply,
  placeOfState,
  requestCell,
  SHED_TOTALS,
  type ShedReason,
  type WorkerState,
} from "./block.ts";
import { indexInChunk } from "./chunks.ts";
import { RouteCounters } from "./route_counters.ts";
import { NO_CHANGE, type SlotChange } from "./series_slots.ts";
import {
  responseCell,
  SERVICE_DURATION_SUM,
  SERVICE_EJECTED,
  serviceCellAt,
  serviceDurationCell,
} from "./service_cells.ts";

const CONNECTIONS = placeOf("connections");
const CONNECTIONS_OPEN = placeOf("connectionsOpen");
const REQUESTS_ACTIVE = placeOf("requestsActive");
const DESCRIPTORS_EXHAUSTED = placeOf("descriptorsExhausted");
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
  readonly #routes: RouteCounters;
  readonly #upstreams = new RouteCounters(true);
  /** Ejected endpoints by the counters of their upstream, and where they are counted. */
  readonly #ejected = new Map<number, { readonly slot: number; readonly count: number }>();

  /**
   * @param block with its first chunks.
   * @param isByHost Whether routes count for their hosts.
   */
  constructor(block: Block, isByHost = false) {
    this.#block = block;
    this.#totals = block.totals;
    this.#routes = new RouteCounters(isByHost);
  }

  // ── Routes ──────────────────────────────────────────────────────────────────────────────────

  /** Takes changes of slots, whose chunks are there. Comes before the routes and upstreams themselves. */
  change(routes: SlotChange, upstreams: SlotChange = NO_CHANGE): void {
    this.#routes.change(routes);
    this.#upstreams.change(upstreams);
    this.#moveEjected();
  }

  /** The routes of the last change are in force, and its upstreams. */
  routesInForce(): void {
    this.#routes.inForce();
    this.#upstreams.inForce();
  }

  /** The number of a route's counters; null is the default action. */
  countersOf(id: string | null): number {
    return this.#routes.numberOf(id);
  }

  /** The id of the route with these counters; null for the default action. */
  idOf(counters: number): string | null {
    return this.#routes.idOf(counters);
  }

  /** The id of the route that has taken an exchange; null once it has gone, and for the default action. */
  routeOf({ counters, routedAt }: ExchangeRecord): string | null {
    return this.#routes.idAt(counters, routedAt);
  }

  /** An exchange has got its route. @param counters as `countersOf` gave it for the routes in force. */
  routed(record: ExchangeRecord, counters: number): void {
    record.counters = counters;
    record.routedAt = this.#routes.age;
  }

  // ── Attempts ────────────────────────────────────────────────────────────────────────────────

  /** The number of an upstream's counters, which is its own for as long as it is there. */
  countersOfUpstream(id: string): number {
    return this.#upstreams.numberOf(id);
  }

  /**
   * An endpoint has responded.
   *
   * @param counters of its upstream.
   * @param time from the request's first byte to the response's head, in ms.
   */
  upstreamResponded(counters: number, status: number, time: number): void {
    const slot = this.#upstreams.slotNow(counters);
    const cells = this.#block.services.of(slot)!;
    const index = indexInChunk(slot);
    const seconds = time / 1000;
    cells[serviceCellAt(index, responseCell(classIndex(status)))]++;
    cells[serviceCellAt(index, serviceDurationCell(bucketIndex(seconds)))]++;
    cells[serviceCellAt(index, SERVICE_DURATION_SUM)] += microseconds(time);
  }

  /** An attempt has failed without a response, which was not the client's doing. */
  upstreamFailed(counters: number): void {
    const slot = this.#upstreams.slotNow(counters);
    this.#block.services.of(slot)![serviceCellAt(indexInChunk(slot), responseCell(0))]++;
  }

  /** So many more endpoints of an upstream are ejected now; fewer, where it is negative. */
  endpointsEjected(counters: number, more: number): void {
    const before = this.#ejected.get(counters) ??
      { slot: this.#upstreams.slotNow(counters), count: 0 };
    const count = before.count + more;
    if (count === 0) this.#ejected.delete(counters);
    else this.#ejected.set(counters, { slot: before.slot, count });
    this.#addEjected(before.slot, more);
  }

  /** Those of an upstream that has got another slot belong there. */
  #moveEjected(): void {
    for (const [counters, { slot: before, count }] of this.#ejected) {
      const slot = this.#upstreams.slotNow(counters);
      if (slot === before) continue;
      this.#ejected.set(counters, { slot, count });
      this.#addEjected(before, -count);
      this.#addEjected(slot, count);
    }
  }

  #addEjected(slot: number, more: number): void {
    this.#block.services.of(slot)![serviceCellAt(indexInChunk(slot), SERVICE_EJECTED)] += more;
  }

  // ── Exchanges ───────────────────────────────────────────────────────────────────────────────

  /** A request begins to be served. */
  exchangeBegun(): void {
    this.#totals[REQUESTS_ACTIVE]++;
  }

  /** Counts an exchange that has ended. `method` is "" where it could not be read. */
  exchangeEnded(record: ExchangeRecord, method: string, isGrpc = false): void {
    if (record.prepared) this.#totals[REQUESTS_ACTIVE]--;
    const slot = this.slotOf(record);
    const cells = this.#block.routes.of(slot)!;
    const index = indexInChunk(slot);
    const status = classIndex(isGrpc ? statusOfCall(record) : record.status);
    cells[cellAt(index, requestCell(methodIndex(method), status))]++;
    if (this.isTimed(record)) {
      const seconds = record.duration / 1000;
      cells[cellAt(index, durationCell(bucketIndex(seconds)))]++;
      cells[cellAt(index, CELLS.durationSum)] += microseconds(record.duration);
    }
    cells[cellAt(index, CELLS.bytesIn)] += record.bytesIn;
    cells[cellAt(index, CELLS.bytesOut)] += record.bytesOut;
    if (record.tries > 1) cells[cellAt(index, CELLS.retries)] += record.tries - 1;
    if (record.error !== null) this.#totals[placeOfError(record.error)]++;
  }

  /** The slot in which an exchange that ends now counts. */
  slotOf({ counters, routedAt }: ExchangeRecord): number {
    return this.#routes.slotOf(counters, routedAt);
  }

  /** Whether its duration counts: a tunnel's life says nothing of how fast a route answers. */
  isTimed({ status }: ExchangeRecord): boolean {
    return status !== 101;
  }

  /** A filter has replied in place of the backend. `status` is 0 where the client had gone. */
  filterReplied(filter: FilterName, status: number): void {
    if (status !== 0) this.#totals[placeOfReply(filter, classIndex(status))]++;
  }

  // ── The worker itself ───────────────────────────────────────────────────────────────────────

  state(state: WorkerState, value: number): void {
    this.#totals[placeOfState(state)] = value;
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

  /** The system had no descriptor left. */
  descriptorsExhausted(): void {
    this.#totals[DESCRIPTORS_EXHAUSTED]++;
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

/** Whole ones of `ms`: floats that are whole add up to the same in whatever order. */
function microseconds(ms: number): number {
  return Math.round(ms * 1000);
}

/** A call that we failed ourselves has the HTTP status 200, and is a server's error all the same. */
function statusOfCall({ status, error }: ExchangeRecord): number {
  if (status !== 200 || error === null) return status;
  const { status: own } = ERROR_KINDS[error];
  return own >= 500 ? own : status;
}
