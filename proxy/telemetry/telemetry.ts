/**
 * One worker's share of telemetry. In: what the hub gives it (memory, slots), and what happens to
 * connections and exchanges. Out: counters in that memory, and lines of the access log and spans by message.
 *
 *     worker: Telemetry ──counters──▶ shared memory ──sum──▶ hub ──▶ /metrics      main thread
 *                  ├────────lines, as messages──────────────▶ hub ──▶ standard output
 *                  └────────spans, as messages──────────────▶ hub ──▶ exporter's thread
 *
 * With one worker both ends are in the main thread, and messages are plain calls.
 */
import type { ErrorCode } from "../../shared/error_kinds.ts";
import type { FilterName } from "../filters/filter_name.ts";
import { type Exchange, type ExchangeRecord, type RouteTracing, SAMPLED } from "../http/message.ts";
import { AccessLog } from "./access_log/access_log.ts";
import type { AccessLogOptions } from "./access_log/options.ts";
import { Block, type BlockMemory } from "./block.ts";
import { type Exemplar, ExemplarBatch } from "./exemplars.ts";
import { keepFields } from "./lines/kept_fields.ts";
import { LoopSampler } from "./loop_sampler.ts";
import { Metrics } from "./metrics.ts";
import { NO_CHANGE, type SlotChange } from "./series_slots.ts";
import type { TraceOptions } from "./traces/options.ts";
import { hasSpan, type SpanBatch, Tracer } from "./traces/tracer.ts";

/** What a worker starts with; can be posted to it. */
export interface TelemetrySetup {
  readonly memory: BlockMemory;
  /** Whether routes count for their hosts. */
  readonly isByHost: boolean;
  /** Slots of all routes and upstreams. */
  readonly routes: SlotChange;
  readonly upstreams: SlotChange;
  /** Null writes none. */
  readonly accessLog: AccessLogOptions | null;
  /** Null makes none. */
  readonly traces: TraceOptions | null;
}

/** From the hub to a worker. */
export type HubMessage =
  | {
    readonly kind: "slots";
    readonly routes: SlotChange;
    readonly upstreams: SlotChange;
    /** Memory that they need besides. */
    readonly chunks: Omit<BlockMemory, "totals">;
  }
  | { readonly kind: "taken"; readonly of: "lines" | "spans"; readonly bytes: number };

/** From a worker to the hub. `bytes` may be transferred. */
export type TelemetryMessage =
  /** Whole lines of the access log. */
  | { readonly kind: "lines"; readonly bytes: Uint8Array<ArrayBuffer>; readonly lines: number }
  | SpanBatch
  /** At most one a second. */
  | { readonly kind: "exemplars"; readonly exemplars: readonly Exemplar[] };

export class Telemetry {
  readonly metrics: Metrics;
  readonly #block: Block;
  readonly #accessLog: AccessLog | null;
  readonly #sampler: LoopSampler;
  readonly #tracer: Tracer | null;
  readonly #exemplars: ExemplarBatch;

  /** @param post sends a message to the hub; never called later than `close`. */
  constructor(setup: TelemetrySetup, post: (message: TelemetryMessage) => void) {
    this.#block = new Block(setup.memory);
    this.metrics = new Metrics(this.#block, setup.isByHost);
    this.metrics.change(setup.routes, setup.upstreams);
    this.#sampler = new LoopSampler(this.metrics);
    this.#accessLog = setup.accessLog === null ? null : new AccessLog(setup.accessLog, {
      write: (bytes, lines) => post({ kind: "lines", bytes, lines }),
      dropped: (lines) => this.metrics.logLinesDropped(lines),
    });
    this.#tracer = setup.traces === null ? null : new Tracer(setup.traces, (batch) => post(batch));
    this.#exemplars = new ExemplarBatch((exemplars) => post({ kind: "exemplars", exemplars }));
  }

  /** One that counts for nobody: for a proxy without an admin port. */
  static unheard(): Telemetry {
    const { routes, services, memory: { totals } } = new Block();
    const memory = { totals, routes: [routes.add()], services: [services.add()] };
    const setup = {
      memory,
      isByHost: true,
      routes: NO_CHANGE,
      upstreams: NO_CHANGE,
      accessLog: null,
      traces: null,
    };
    return new Telemetry(setup, () => {});
  }

  /** Measures this thread from now on, until `close`. */
  sampleLoop(): void {
    this.#sampler.start();
  }

  /** Requests are traced: they get a traceparent. */
  get isTracing(): boolean {
    return this.#tracer !== null;
  }

  receive(message: HubMessage): void {
    if (message.kind === "taken") {
      const taker = message.of === "lines" ? this.#accessLog : this.#tracer;
      return taker?.taken(message.bytes);
    }
    const { chunks, routes, upstreams } = message;
    for (const chunk of chunks.routes) this.#block.routes.add(chunk);
    for (const chunk of chunks.services) this.#block.services.add(chunk);
    this.metrics.change(routes, upstreams);
  }

  /** A request has been prepared for backends, its id and traceparent included. */
  requestPrepared(exchange: Exchange): void {
    if (this.#tracer !== null) this.#tracer.begin(exchange);
  }

  /** Its route says something of traces. */
  routeTraced(exchange: Exchange, tracing: RouteTracing): void {
    this.#tracer?.routed(exchange, tracing);
  }

  /*
   * After `begin`, the tracer is called only for requests that have spans: V8 inlines calls that every request
   * makes, and its inlining budget then did not suffice for the code of the request itself. Traces of 1 % cost 7 %
   * of a request.
   */

  /** An attempt begins, whose endpoint is in the record. */
  attemptBegun(exchange: Exchange): void {
    if (this.#tracer === null) return;
    const { tracing, tries, trace } = exchange.record;
    // The span id that `begin` has written is one that no span has yet.
    if (tracing === SAMPLED || tries > 1 || trace !== null) this.#tracer.attemptBegins(exchange);
  }

  /** It has ended. @param status of its final response; 0 for none. */
  attemptEnded(exchange: Exchange, status: number, error: ErrorCode | null): void {
    if (this.#tracer === null) return;
    const { tracing } = exchange.record;
    if (hasSpan(tracing, status, error)) this.#tracer.attemptEnded(exchange, status, error);
  }

  /** An exchange has got its route. @param counters of its binding. */
  routed(record: ExchangeRecord, counters: number): void {
    this.metrics.routed(record, counters);
    if (this.#accessLog !== null || this.#tracer !== null) {
      record.route = this.metrics.idOf(counters);
    }
  }

  /** Filters may change the request: what the access log shows of it is kept before. */
  filtersBegin(exchange: Exchange): void {
    if (this.#accessLog !== null) keepFields(exchange);
  }

  /** A filter has replied in place of the backend. `status` is 0 where the client had gone. */
  filterReplied(exchange: Exchange, filter: FilterName, status: number): void {
    this.metrics.filterReplied(filter, status);
    if (this.#tracer !== null) this.#tracer.filterReplied(exchange, filter, status);
  }

  /** An exchange goes on to its route; its fields are all there still. */
  exchangeBegun(exchange: Exchange): void {
    if (this.#accessLog === null) return;
    if (!exchange.body.done || exchange.request.upgrade !== "") keepFields(exchange);
  }

  /** An exchange has ended, or a request was refused: once for each. */
  exchangeEnded(exchange: Exchange): void {
    const { record } = exchange;
    this.metrics.exchangeEnded(record, record.method, exchange.request.isGrpc);
    if (record.isLogged) this.#accessLog?.add(exchange, Date.now());
    if (this.#tracer === null) return;
    if (hasSpan(record.tracing, record.status, record.error)) {
      this.#traceEnded(exchange, this.#tracer, Date.now());
    }
  }

  #traceEnded(exchange: Exchange, tracer: Tracer, now: number): void {
    const traceId = tracer.exchangeEnded(exchange, now);
    const { record } = exchange;
    if (traceId === null || !this.metrics.isTimed(record)) return;
    this.#exemplars.add(this.metrics.slotOf(record), record.duration, traceId, now);
  }

  /** Hands over the lines that wait. */
  close(): void {
    this.#sampler.close();
    this.#accessLog?.flush();
    this.#tracer?.flush();
    this.#exemplars.flush();
  }
}
