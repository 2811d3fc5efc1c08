/**
 * The memory in which one worker counts. In: places of counters. Out: cells that this worker alone
 * writes, with plain stores, and the main thread reads when it is scraped.
 *
 * Cells are 64-bit floats, exact up to 2^53. On the 64-bit processors that Deno runs on an aligned
 * store of one is whole, so a reader sees the old value or the new one, and no lock is needed.
 *
 * Routes have a slot each, in chunks that are added while slots are needed: memory that nobody
 * writes to costs nothing, so 100,000 routes of which 100 have traffic cost 100 slots of 512 bytes.
 */
import { ERROR_KINDS, type ErrorCode } from "../errors.ts";
import type { Failing } from "../upstream/ejection.ts";
import type { HoldOutcome } from "../upstream/hold.ts";

/** What is counted over all routes; the place of each is its index. Those of `GAUGES` go down too. */
export const TOTALS = [
  "connections",
  "connectionsOpen",
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
] as const;
export type Total = typeof TOTALS[number];

/** What a worker has open: gone with it, so never kept when it is replaced. */
const GAUGES: ReadonlySet<Total> = new Set([
  "connectionsOpen",
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
} as const satisfies Readonly<Record<HoldOutcome, Total>>;

export const ERROR_CODES = Object.keys(ERROR_KINDS) as ErrorCode[];

/** Errors stand behind the totals. */
const FIRST_ERROR = TOTALS.length;
const TOTALS_CELLS = FIRST_ERROR + ERROR_CODES.length;

const PLACE_OF_TOTAL = Object.fromEntries(TOTALS.map((name, index) => [name, index])) as Record<
  Total,
  number
>;
const PLACE_OF_ERROR = new Map(ERROR_CODES.map((code, index) => [code, FIRST_ERROR + index]));

export function placeOf(total: Total): number {
  return PLACE_OF_TOTAL[total];
}

export function placeOfError(code: ErrorCode): number {
  return PLACE_OF_ERROR.get(code)!;
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

/** By the status's first digit; `none` where the client was gone before an answer. */
export const STATUS_CLASSES = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"] as const;

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

/** Cells of a route: requests by method and class, durations by bucket, and three sums. */
export const CELLS = {
  requests: 0,
  durations: METHODS.length * STATUS_CLASSES.length,
  durationSum: METHODS.length * STATUS_CLASSES.length + DURATION_BOUNDS.length + 1,
  bytesIn: METHODS.length * STATUS_CLASSES.length + DURATION_BOUNDS.length + 2,
  bytesOut: METHODS.length * STATUS_CLASSES.length + DURATION_BOUNDS.length + 3,
  retries: METHODS.length * STATUS_CLASSES.length + DURATION_BOUNDS.length + 4,
} as const;

/** Cells of one route: 512 bytes. */
export const ROUTE_CELLS: number = CELLS.retries + 1;
export const SLOTS_PER_CHUNK = 512;

/** One worker's counters, as both sides see them. */
export class Block {
  readonly totals: Float64Array<SharedArrayBuffer>;
  readonly #chunks: Float64Array<SharedArrayBuffer>[] = [];

  /** Without `totals` it makes its own memory. */
  constructor(totals?: SharedArrayBuffer, chunks: readonly SharedArrayBuffer[] = []) {
    const bytes = TOTALS_CELLS * Float64Array.BYTES_PER_ELEMENT;
    this.totals = new Float64Array(totals ?? new SharedArrayBuffer(bytes));
    for (const chunk of chunks) this.addChunk(chunk);
  }

  get chunkCount(): number {
    return this.#chunks.length;
  }

  get chunks(): SharedArrayBuffer[] {
    return this.#chunks.map(({ buffer }) => buffer);
  }

  addChunk(memory?: SharedArrayBuffer): SharedArrayBuffer {
    const bytes = SLOTS_PER_CHUNK * ROUTE_CELLS * Float64Array.BYTES_PER_ELEMENT;
    const chunk = new Float64Array(memory ?? new SharedArrayBuffer(bytes));
    this.#chunks.push(chunk);
    return chunk.buffer;
  }

  /** The cells that a slot's stand in, undefined where its chunk has not been added. */
  chunkOf(slot: number): Float64Array<SharedArrayBuffer> | undefined {
    return this.#chunks[Math.floor(slot / SLOTS_PER_CHUNK)];
  }

  /** Adds what `other` has counted, but for gauges, so that nothing is lost when it goes. */
  fold(other: Block): void {
    for (let place = 0; place < TOTALS_CELLS; place++) {
      if (place < FIRST_ERROR && GAUGES.has(TOTALS[place])) continue;
      this.totals[place] += other.totals[place];
    }
    for (const [index, chunk] of other.#chunks.entries()) {
      while (this.#chunks.length <= index) this.addChunk();
      const own = this.#chunks[index];
      for (let i = 0; i < chunk.length; i++) if (chunk[i] !== 0) own[i] += chunk[i];
    }
  }
}

/** Where a slot's cells begin in its chunk. */
export function offsetOf(slot: number): number {
  return (slot % SLOTS_PER_CHUNK) * ROUTE_CELLS;
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
