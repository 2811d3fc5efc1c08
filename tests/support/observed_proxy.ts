/**
 * A proxy in this process that is watched as in production: its metrics as a scraper reads them, and
 * the lines of its access log.
 */
import { SnapshotDiffer } from "../../proxy/config/diff.ts";
import {
  type AccessLogOptions,
  DEFAULT_ACCESS_LOG,
} from "../../proxy/telemetry/access_log/options.ts";
import { TelemetryHub } from "../../proxy/telemetry/hub.ts";
import { type Format, streamPieces } from "../../proxy/telemetry/exposition.ts";
import { DEFAULT_SERIES, type SeriesOptions } from "../../proxy/telemetry/series_options.ts";
import { Telemetry } from "../../proxy/telemetry/telemetry.ts";
import type { Limits } from "../../proxy/http/limits.ts";
import type { ProxyServerOptions } from "../../proxy/server.ts";
import { type ExporterTimes, exportFrom } from "../../proxy/telemetry/traces/exporter.ts";
import type { TraceOptions } from "../../proxy/telemetry/traces/options.ts";
import { SpanRelay } from "../../proxy/telemetry/traces/span_relay.ts";
import { LineOutput, type LogFields } from "../../shared/log.ts";
import type { Endpoint, Snapshot } from "../../shared/snapshot/types.ts";
import { until } from "./backend.ts";
import { type OpenMetrics, parseExposition, parseOpenMetrics } from "./exposition_parser.ts";
import { snapshotOf, TestProxy } from "./test_proxy.ts";

/** What no test is about. */
const ABOUT = { version: "1", deno: "2", startedAt: 0, now: 0, memory: 1, cpu: 1, limits: {} };

export async function textOf(
  hub: TelemetryHub,
  now = 0,
  format: Format = "text",
): Promise<string> {
  return await new Response(streamPieces(hub.scrape({ ...ABOUT, now }, format))).text();
}

export interface ObservedOptions {
  readonly limits?: Partial<Limits>;
  readonly server?: Partial<ProxyServerOptions>;
  readonly series?: Partial<SeriesOptions>;
  /** What the access log is like, queries included unless it says otherwise; null writes none. */
  readonly accessLog?: Partial<AccessLogOptions> | null;
  /** What spans are made of, and where they are sent to; left out, none are made. */
  readonly traces?: Partial<TraceOptions> & {
    readonly url: string;
    readonly times?: ExporterTimes;
  };
}

export class ObservedProxy {
  readonly hub: TelemetryHub;
  readonly proxy: TestProxy;
  readonly #telemetry: Telemetry;
  readonly #output: LineOutput;
  readonly #differ = new SnapshotDiffer();
  readonly #relay: SpanRelay | null = null;
  /** What is logged of spans. */
  readonly log: {
    readonly level: string;
    readonly message: string;
    readonly fields?: LogFields;
  }[] = [];
  /** What has been written to the log, as it was written. */
  written = "";

  constructor(endpoints: readonly (number | Endpoint)[], options: ObservedOptions = {}) {
    const decoder = new TextDecoder();
    this.#output = new LineOutput({
      write: (bytes) => {
        this.written += decoder.decode(bytes, { stream: true });
        return Promise.resolve(bytes.length);
      },
    });
    const { accessLog = {}, traces } = options;
    if (traces !== undefined) {
      const { port1, port2 } = new MessageChannel();
      exportFrom(port1, { url: traces.url, serviceName: "test" }, traces.times);
      const logAt = (level: string) => (message: string, fields?: LogFields) =>
        void this.log.push({ level, message, fields });
      this.#relay = new SpanRelay(port2, traces, {
        debug: logAt("debug"),
        info: logAt("info"),
        warn: logAt("warn"),
        error: logAt("error"),
      });
    }
    this.hub = new TelemetryHub({
      accessLog: accessLog && { ...DEFAULT_ACCESS_LOG, query: true, ...accessLog },
      series: { ...DEFAULT_SERIES, ...options.series },
      traces: traces === undefined || this.#relay === null
        ? null
        : { options: { ratio: 1, query: false, ...traces }, relay: this.#relay },
      output: this.#output,
    });
    const worker = this.hub.attach((message) => this.#telemetry.receive(message));
    this.#telemetry = new Telemetry(worker.setup, (message) => worker.receive(message));
    const snapshot = snapshotOf(endpoints);
    this.hub.changes(this.#differ.diff(snapshot, []));
    this.proxy = new TestProxy(endpoints, options.limits, {
      telemetry: this.#telemetry,
      ...options.server,
    });
    this.hub.snapshotApplied(snapshot, [], 0);
  }

  /** Serves by another snapshot, whose routes count in slots of their own. */
  apply(snapshot: Snapshot): void {
    this.hub.changes(this.#differ.diff(snapshot, []));
    this.proxy.server.apply(snapshot);
    this.hub.snapshotApplied(snapshot, [], 0);
  }

  get port(): number {
    return this.proxy.port;
  }

  /** Series by text, without those that are 0. */
  async series(): Promise<Map<string, number>> {
    const all = parseExposition(await textOf(this.hub));
    return new Map([...all].filter(([, value]) => value !== 0));
  }

  /** All series with their exemplars, as a scraper of OpenMetrics reads them. */
  async openMetrics(): Promise<OpenMetrics> {
    this.#telemetry.close();
    return parseOpenMetrics(await textOf(this.hub, 0, "openmetrics"));
  }

  /** The lines so far, as objects. */
  async lines(): Promise<Record<string, unknown>[]> {
    return (await this.textLines()).map((line) => JSON.parse(line));
  }

  /** The lines so far. */
  async textLines(): Promise<string[]> {
    this.#telemetry.close();
    await this.#output.flush();
    return this.written.split("\n").slice(0, -1);
  }

  /** Settles when each span has been sent, or has been lost. */
  async spansSettled(): Promise<void> {
    this.#telemetry.close();
    await until("spans are settled", () => this.#relay?.queued === 0);
  }

  /** Settles when all spans have been sent, or have had the time (ms) for it. */
  async spansSent(timeout = 10_000): Promise<void> {
    this.#telemetry.close();
    await this.#relay?.close(timeout);
  }

  [Symbol.dispose](): void {
    this.proxy[Symbol.dispose]();
    this.#telemetry.close();
  }
}
