/**
 * The memory in which one worker counts. In: places of counters. Out: cells that this worker alone
 * writes, with plain stores, and the main thread reads when it is scraped.
 *
 * Cells are 64-bit floats, exact up to 2^53. On the 64-bit processors that Deno runs on an aligned
 * store of one is whole, so a reader sees the old value or the new one, and no lock is needed. What is
 * summed is whole, durations too (in microseconds): a sum of fractions depends on the order in which they
 * are added, and would go down by its last digit when a worker is replaced.
 *
 * Hosts (or routes) and Services have a slot each, in chunks that are added while slots are needed:
 * memory that nobody writes to costs nothing, so 100,000 routes of which 100 have traffic cost 200
 * pages at most.
 */
import { ERROR_KINDS, type ErrorCode } from "../../shared/error_kinds.ts";
import type { FilterName } from "../filters/filter_name.ts";
import { REQUEST_ORDER } from "../filters/filter_order.ts";
import type { EndReason } from "../http2/abuse.ts";
import type { Failing } from "../upstream/outlier_detection.ts";
import type { PendingOutcome } from "../upstream/pending_requests.ts";
import { Chunks, indexInChunk, SLOTS_PER_CHUNK } from "./chunks.ts";
import { clearService, foldService, SERVICE_CELLS } from "./service_cells.ts";

/** What is counted over all routes; the place of each is its index. Those of `GAUGES` go down too. */
export const TOTALS = [
  "connections",
  "connectionsOpen",
  "requestsActive",
  "descriptorsExhausted",
  "acceptsFailed",
  "handshakesFailed",
  "upstreamConnects",
  "upstreamConnectsFailed",
  "upstreamReuses",
  "ejectedNoAnswer",
  "ejectedGatewayError",
  "upstreamRetriesDenied",
  "requestsHeld",
  "heldServed",
  "heldTimeout",
  "heldClientGone",
  "heldNoRoom",
  "heldEnded",
  "tunnels",
  "tunnelsOpen",
  "logLinesDropped",
  "shedConnectionLimit",
  "shedAddressLimit",
  "shedOverload",
  "shedIdle",
  "http2Resets",
  "http2ControlFrames",
  "http2UnreadAcks",
  "http2EmptyFrames",
  "http2TinyFrames",
  "http2Continuations",
  "http2LargeHeads",
  "http2ProtocolError",
  "http2FlowControlError",
  "http2StreamClosed",
  "http2FrameSizeError",
  "http2CompressionError",
] as const;
export type Total = typeof TOTALS[number];

/** What a worker has open: gone with it, so never kept when it is replaced. */
const GAUGES: ReadonlySet<Total> = new Set([
  "connectionsOpen",
  "requestsActive",
  "requestsHeld",
  "tunnelsOpen",
]);

/** Why a connection was closed before its time, and where that is counted. */
export const SHED_TOTALS = {
  connection_limit: "shedConnectionLimit",
  address_limit: "shedAddressLimit",
  overload: "shedOverload",
  idle: "shedIdle",
} as const satisfies Readonly<Record<string, Total>>;
export type ShedReason = keyof typeof SHED_TOTALS;

/** Why a client's HTTP/2 connection was ended with GOAWAY, and where that is counted. */
export const HTTP2_END_TOTALS = {
  resets: "http2Resets",
  control_frames: "http2ControlFrames",
  unread_acks: "http2UnreadAcks",
  empty_frames: "http2EmptyFrames",
  tiny_frames: "http2TinyFrames",
  continuations: "http2Continuations",
  large_heads: "http2LargeHeads",
  protocol_error: "http2ProtocolError",
  flow_control_error: "http2FlowControlError",
  stream_closed: "http2StreamClosed",
  frame_size_error: "http2FrameSizeError",
  compression_error: "http2CompressionError",
} as const satisfies Readonly<Record<EndReason, Total>>;

/** Why an endpoint was left out, and where that is counted. */
export const EJECTION_TOTALS = {
  no_answer: "ejectedNoAnswer",
  gateway_error: "ejectedGatewayError",
} as const satisfies Readonly<Record<Failing, Total>>;

/** What became of requests that were to wait for an endpoint, and where that is counted. */
export const HOLD_TOTALS = {
  served: "heldServed",
  timeout: "heldTimeout",
  client_gone: "heldClientGone",
  no_room: "heldNoRoom",
  ended: "heldEnded",
} as const satisfies Readonly<Record<PendingOutcome, Total>>;

export const ERROR_CODES = Object.keys(ERROR_KINDS) as ErrorCode[];

/** What a worker says of itself. Its own, so never summed over workers. */
export const WORKER_STATES = ["cpuSeconds", "heapBytes", "delaySeconds"] as const;
export type WorkerState = typeof WORKER_STATES[number];

/** By the status's first digit; `none` where the client was gone before an answer. */
export const STATUS_CLASSES = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"] as const;

/** Behind the totals stand errors, replies of filters by class of status, and the worker's states. */
const FIRST_ERROR = TOTALS.length;
const FIRST_REPLY = FIRST_ERROR + ERROR_CODES.length;
const FIRST_STATE = FIRST_REPLY + REQUEST_ORDER.length * STATUS_CLASSES.length;
const TOTALS_CELLS = FIRST_STATE + WORKER_STATES.length;

const PLACE_OF_TOTAL = Object.fromEntries(TOTALS.map((name, index) => [name, index])) as Record<
  Total,
  number
>;
const PLACE_OF_ERROR = new Map(ERROR_CODES.map((code, index) => [code, FIRST_ERROR + index]));
const FIRST_REPLY_OF = new Map(
  REQUEST_ORDER.map((name, index) => [name, FIRST_REPLY + index * STATUS_CLASSES.length]),
);

export function placeOf(total: Total): number {
  return PLACE_OF_TOTAL[total];
}

export function placeOfError(code: ErrorCode): number {
  return PLACE_OF_ERROR.get(code)!;
}

/** @param status class of the reply, by its index. */
export function placeOfReply(filter: FilterName, status: number): number {
  return FIRST_REPLY_OF.get(filter)! + status;
}

export function placeOfState(state: WorkerState): number {
  return FIRST_STATE + WORKER_STATES.indexOf(state);
}

/** Methods that are told apart; every other is the last. A client can invent no more. */
export const METHODS = [
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
  "OTHER",
] as const;

/** Upper bounds in seconds. A proxy's own share ends below 5 ms; 10 s is where patience ends. */
export const DURATION_BOUNDS = [
  0.001,
  0.005,
  0.01,
  0.025,
  0.05,
  0.1,
  0.25,
  0.5,
  1,
  2.5,
  10,
] as const;

/** GET with 2xx, as most requests are, and the buckets in which most durations are. */
const FREQUENT_REQUEST = METHODS.indexOf("GET") * STATUS_CLASSES.length +
  STATUS_CLASSES.indexOf("2xx");
const FREQUENT_BUCKETS = 2;

/**
 * Cells of a route: sums, requests by method and class, durations by bucket. The first six are all
 * that most requests count in: a route among 100,000 is in none of the processor's caches, and each
 * line of 64 bytes is a wait of its own, as is each page. Hence six, since this memory begins at a
 * line or 16 bytes into one, and hence those of all routes of a chunk stand together.
 */
export const CELLS = {
  /** In microseconds. */
  durationSum: 0,
  bytesIn: 1,
  bytesOut: 2,
  frequentRequest: 3,
  frequentDurations: 4,
  retries: 4 + FREQUENT_BUCKETS,
  requests: 5 + FREQUENT_BUCKETS,
  durations: 4 + FREQUENT_BUCKETS + METHODS.length * STATUS_CLASSES.length,
} as const;

/** The cell of a method and a class of status, by their indices. */
export function requestCell(method: number, status: number): number {
  const index = method * STATUS_CLASSES.length + status;
  if (index === FREQUENT_REQUEST) return CELLS.frequentRequest;
  return CELLS.requests + (index > FREQUENT_REQUEST ? index - 1 : index);
}

/** The cell of a bucket, by its index. */
export function durationCell(bucket: number): number {
  return bucket < FREQUENT_BUCKETS
    ? CELLS.frequentDurations + bucket
    : CELLS.durations + bucket - FREQUENT_BUCKETS;
}

/** Cells of one route: 512 bytes. */
export const ROUTE_CELLS: number = CELLS.durations + DURATION_BOUNDS.length + 1 - FREQUENT_BUCKETS;

/** Cells of a route that stand beside other routes' first ones; its others follow behind all those. */
const NEAR_CELLS = 8;
const FAR_CELLS = ROUTE_CELLS - NEAR_CELLS;

/** The memory of a block, to be shared with the worker. */
export interface BlockMemory {
  readonly totals: SharedArrayBuffer;
  readonly routes: readonly SharedArrayBuffer[];
  readonly services: readonly SharedArrayBuffer[];
}

/** One worker's counters, as both sides see them. */
export class Block {
  readonly totals: Float64Array<SharedArrayBuffer>;
  /** Of hosts, or of routes. */
  readonly routes = new Chunks(ROUTE_CELLS);
  readonly services = new Chunks(SERVICE_CELLS);

  /** Without `memory` it makes its own. */
  constructor(memory?: BlockMemory) {
    const bytes = TOTALS_CELLS * Float64Array.BYTES_PER_ELEMENT;
    this.totals = new Float64Array(memory?.totals ?? new SharedArrayBuffer(bytes));
    for (const chunk of memory?.routes ?? []) this.routes.add(chunk);
    for (const chunk of memory?.services ?? []) this.services.add(chunk);
  }

  get memory(): BlockMemory {
    return {
      totals: this.totals.buffer,
      routes: this.routes.buffers,
      services: this.services.buffers,
    };
  }

  /** Adds what `other` has counted, but for gauges, so that nothing is lost when it goes. */
  fold(other: Block): void {
    for (let place = 0; place < FIRST_STATE; place++) {
      if (place < FIRST_ERROR && GAUGES.has(TOTALS[place])) continue;
      this.totals[place] += other.totals[place];
    }
    this.routes.fold(other.routes, addAll);
    this.services.fold(other.services, foldService);
  }

  /** Makes a slot of routes count from nothing: what `others` have counted in it is taken off. */
  clearRoute(slot: number, others: readonly Block[]): void {
    const base = this.routes.grownFor(slot);
    const index = indexInChunk(slot);
    const counted = others.flatMap(({ routes }) => routes.of(slot) ?? []);
    for (let cell = 0; cell < ROUTE_CELLS; cell++) {
      const place = cellAt(index, cell);
      base[place] = 0;
      for (const cells of counted) base[place] -= cells[place];
    }
  }

  /** Likewise, of Services. */
  clearService(slot: number, others: readonly Block[]): void {
    const counted = others.flatMap(({ services }) => services.of(slot) ?? []);
    clearService(this.services.grownFor(slot), indexInChunk(slot), counted);
  }
}

function addAll(own: Float64Array, other: Float64Array): void {
  for (let i = 0; i < other.length; i++) if (other[i] !== 0) own[i] += other[i];
}

/** Where in its chunk a cell of the slot with that index is. */
export function cellAt(index: number, cell: number): number {
  if (cell < NEAR_CELLS) return index * NEAR_CELLS + cell;
  return SLOTS_PER_CHUNK * NEAR_CELLS + index * FAR_CELLS + cell - NEAR_CELLS;
}

/** The index of a method in `METHODS`. */
export function methodIndex(method: string): number {
  switch (method) {
    case "GET":
      return 0;
    case "HEAD":
      return 1;
    case "POST":
      return 2;
    case "PUT":
      return 3;
    case "PATCH":
      return 4;
    case "DELETE":
      return 5;
    case "OPTIONS":
      return 6;
    default:
      return 7;
  }
}

/** The index of a status's class; 0 for a status of 0. */
export function classIndex(status: number): number {
  return status < 100 ? 0 : status < 600 ? (status / 100) | 0 : 5;
}

/** The index of the bucket for a duration in seconds. */
export function bucketIndex(seconds: number): number {
  let index = 0;
  while (index < DURATION_BOUNDS.length && seconds > DURATION_BOUNDS[index]) index++;
  return index;
}
