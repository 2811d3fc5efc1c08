/**
 * A proxy in this process that is watched as in production: its metrics as a scraper reads them, and
 * the lines of its access log.
 */
import { SnapshotDiffer } from "../../proxy/config/diff.ts";
import { TelemetryHub } from "../../proxy/telemetry/hub.ts";
import { streamPieces } from "../../proxy/telemetry/exposition.ts";
import { DEFAULT_SERIES, type SeriesOptions } from "../../proxy/telemetry/series_options.ts";
import { Telemetry } from "../../proxy/telemetry/telemetry.ts";
import type { Limits } from "../../proxy/http/limits.ts";
import type { ProxyServerOptions } from "../../proxy/server.ts";
import { LineOutput } from "../../shared/log.ts";
import type { Endpoint, Snapshot } from "../../shared/snapshot/types.ts";
import { parseExposition } from "./exposition_parser.ts";
import { snapshotOf, TestProxy } from "./test_proxy.ts";

/** What no test is about. */
const ABOUT = { version: "1", deno: "2", startedAt: 0, now: 0, memory: 1, cpu: 1, limits: {} };

export async function textOf(hub: TelemetryHub, now = 0): Promise<string> {
  return await new Response(streamPieces(hub.scrape({ ...ABOUT, now }))).text();
}

export interface ObservedOptions {
  readonly limits?: Partial<Limits>;
  readonly server?: Partial<ProxyServerOptions>;
  readonly series?: Partial<SeriesOptions>;
  /** Whether the access log has queries; null writes none. Default true. */
  readonly query?: boolean | null;
}

export class ObservedProxy {
  readonly hub: TelemetryHub;
  readonly proxy: TestProxy;
  readonly #telemetry: Telemetry;
  readonly #output: LineOutput;
  readonly #differ = new SnapshotDiffer();
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
    const query = options.query === undefined ? true : options.query;
    this.hub = new TelemetryHub({
      accessLog: query === null ? null : { query },
      series: { ...DEFAULT_SERIES, ...options.series },
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

  /** The lines so far, as objects. */
  async lines(): Promise<Record<string, unknown>[]> {
    this.#telemetry.close();
    await this.#output.flush();
    return this.written.split("\n").slice(0, -1).map((line) => JSON.parse(line));
  }

  [Symbol.dispose](): void {
    this.proxy[Symbol.dispose]();
    this.#telemetry.close();
  }
}
