/**
 * One worker's share of telemetry. In: what the hub gives it (memory, slots), and what happens to
 * connections and exchanges. Out: counters in that memory, and lines of the access log by message.
 *
 *     worker: Telemetry ──counters──▶ shared memory ──sum──▶ hub ──▶ /metrics      main thread
 *                  └────────lines, as messages──────────────▶ hub ──▶ standard output
 *
 * With one worker both ends are in the main thread, and messages are plain calls.
 */
import type { Exchange, ExchangeRecord } from "../http/message.ts";
import { AccessLog, type AccessLogOptions, keepFields } from "./access_log.ts";
import { Block, type BlockMemory } from "./block.ts";
import { LoopSampler } from "./loop_sampler.ts";
import { Metrics } from "./metrics.ts";
import { NO_CHANGE, type SlotChange } from "./series_slots.ts";

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
  | { readonly kind: "taken"; readonly bytes: number };

/** From a worker to the hub: whole lines of the access log. `bytes` may be transferred. */
export interface TelemetryMessage {
  readonly kind: "lines";
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly lines: number;
}

export class Telemetry {
  readonly metrics: Metrics;
  readonly #block: Block;
  readonly #accessLog: AccessLog | null;
  readonly #sampler: LoopSampler;

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
    };
    return new Telemetry(setup, () => {});
  }

  /** Measures this thread from now on, until `close`. */
  sampleLoop(): void {
    this.#sampler.start();
  }

  /** An access log is written, so that times within the exchange are worth taking. */
  get isLogging(): boolean {
    return this.#accessLog !== null;
  }

  receive(message: HubMessage): void {
    if (message.kind === "taken") return this.#accessLog?.taken(message.bytes);
    const { chunks, routes, upstreams } = message;
    for (const chunk of chunks.routes) this.#block.routes.add(chunk);
    for (const chunk of chunks.services) this.#block.services.add(chunk);
    this.metrics.change(routes, upstreams);
  }

  /** An exchange has got its route. @param counters of its binding. */
  routed(record: ExchangeRecord, counters: number): void {
    this.metrics.routed(record, counters);
    if (this.#accessLog !== null) record.route = this.metrics.idOf(counters);
  }

  /** Filters may change the request: what the access log shows of it is kept before. */
  filtersBegin(exchange: Exchange): void {
    if (this.#accessLog !== null) keepFields(exchange);
  }

  /** An exchange goes on to its route; its fields are all there still. */
  exchangeBegun(exchange: Exchange): void {
    if (this.#accessLog === null) return;
    if (!exchange.body.done || exchange.request.upgrade !== "") keepFields(exchange);
  }

  /** An exchange has ended, or a request was refused: once for each. */
  exchangeEnded(exchange: Exchange): void {
    const { record } = exchange;
    this.metrics.exchangeEnded(record, record.method);
    if (record.isLogged) this.#accessLog?.add(exchange, Date.now());
  }

  /** Hands over the lines that wait. */
  close(): void {
    this.#sampler.close();
    this.#accessLog?.flush();
  }
}
