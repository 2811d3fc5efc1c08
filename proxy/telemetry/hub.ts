/**
 * Telemetry of the whole process, in the main thread. In: workers that come and go, snapshots,
 * reloads, and lines of access logs. Out: `/metrics`, summed over all workers when it is asked for,
 * and whole lines on standard output.
 *
 * Counters never go down: what a worker has counted is kept when it is replaced.
 */
import type { LineOutput } from "../../shared/log.ts";
import type { HostChange, Snapshot, Upstream } from "../../shared/snapshot/types.ts";
import type { ScrapedStream } from "../config/stream/stream_stats.ts";
import type { AccessLogOptions } from "./access_log/options.ts";
import type { TraceOptions } from "./traces/options.ts";
import type { SpanRelay } from "./traces/span_relay.ts";
import { Block, placeOfState } from "./block.ts";
import { chunksFor } from "./chunks.ts";
import type { EndpointCounts } from "./endpoint_counts.ts";
import { ExemplarStore } from "./exemplars.ts";
import { HistogramTexts } from "./histogram_texts.ts";
import type { Format } from "./exposition.ts";
import { type CertificateTerm, scrape, type Scraped, type ScrapedProcess } from "./scrape.ts";
import { RouteSeries, ServiceSeries } from "./series.ts";
import { DEFAULT_SERIES, type SeriesOptions } from "./series_options.ts";
import type { SlotChange } from "./series_slots.ts";
import type { HubMessage, TelemetryMessage, TelemetrySetup } from "./telemetry.ts";

export interface TelemetryHubOptions {
  /** Null writes no access log. */
  readonly accessLog: AccessLogOptions | null;
  /** What has series of its own; `DEFAULT_SERIES` by default. */
  readonly series?: SeriesOptions;
  /** What spans are made of and who gets them; null, or left out, makes none. */
  readonly traces?: { readonly options: TraceOptions; readonly relay: SpanRelay } | null;
  /** Where its lines go, between those of events. */
  readonly output: LineOutput;
  /** What has happened on the controller's stream; null, or left out, where there is none. */
  readonly stream?: () => ScrapedStream | null;
  /** Whether the newest configuration was rejected, by its source; left out, there are none. */
  readonly refused?: () => Readonly<Record<string, boolean>>;
  /** Monotonic, in ms. */
  readonly now?: () => number;
}

/** What changes of a snapshot mean to those who count. */
export interface CountedChanges {
  readonly hosts: readonly HostChange[];
  /** New and changed ones. */
  readonly upstreams: readonly Pick<Upstream, "id">[];
  /** Ids. */
  readonly removedUpstreams: readonly string[];
}

/** The hub's end of one worker. */
export interface WorkerTelemetry {
  /** For the worker's `Telemetry`. */
  readonly setup: TelemetrySetup;
  /** Takes what the worker's `Telemetry` has posted. */
  receive(message: TelemetryMessage): void;
  /** The worker is gone; what it has counted stays. */
  detach(): void;
}

export class TelemetryHub {
  readonly #options: TelemetryHubOptions;
  readonly #now: () => number;
  readonly #routes: RouteSeries;
  readonly #services: ServiceSeries;
  /** Null without traces. */
  readonly #exemplars: ExemplarStore | null;
  readonly #texts = { routes: new HistogramTexts(), services: new HistogramTexts() };
  /** What replaced workers have counted, less what reused slots had counted for others. */
  readonly #base = new Block();
  /** That, and those of workers; another array after each change. */
  #blocks: readonly Block[] = [this.#base];
  readonly #workers = new Map<Block, { place: number; post: (message: HubMessage) => void }>();
  /** CPU time of workers that have been replaced, by their place, in seconds. */
  readonly #cpuBefore: number[] = [];
  #restarts = 0;
  #stalls = 0;
  #applied = 0;
  #refused = 0;
  #scrapesAborted = 0;
  #snapshot: Snapshot | null = null;
  #appliedAt = 0;
  /** Of the snapshot in force, once they have been asked for. */
  #endpoints: EndpointCounts | null = null;
  #certificates: Scraped["certificates"] = { usable: [], refused: 0 };

  constructor(options: TelemetryHubOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    const series = options.series ?? DEFAULT_SERIES;
    this.#routes = new RouteSeries(series, this.#now);
    this.#services = new ServiceSeries(series, this.#now);
    this.#exemplars = (options.traces ?? null) === null ? null : new ExemplarStore();
  }

  /**
   * @param post sends a message to the worker, in order with the snapshots that it gets.
   * @param place Which of the workers it is, from 0: that of the one that it replaces.
   */
  attach(post: (message: HubMessage) => void, place = 0): WorkerTelemetry {
    const block = new Block();
    this.#grow(block);
    this.#workers.set(block, { place, post });
    this.#blocks = [this.#base, ...this.#workers.keys()];
    const { accessLog, output, traces = null } = this.#options;
    return {
      setup: {
        memory: block.memory,
        isByHost: this.#routes.by === "host",
        routes: { added: [...this.#routes.routes()], removed: [] },
        upstreams: { added: [...this.#services.upstreams()], removed: [] },
        accessLog,
        traces: traces?.options ?? null,
      },
      receive: (message) => {
        if (message.kind === "exemplars") return this.#exemplars?.take(message.exemplars);
        const size = message.bytes.length;
        if (message.kind === "lines") output.writeBatch(message.bytes, message.lines);
        else traces?.relay.take(message);
        post({ kind: "taken", of: message.kind, bytes: size });
      },
      detach: () => {
        if (!this.#workers.delete(block)) return;
        this.#base.fold(block);
        this.#blocks = [this.#base, ...this.#workers.keys()];
        this.#cpuBefore[place] = this.#cpuOf(block, place);
      },
    };
  }

  /**
   * This is about to change: gives its routes and upstreams slots. Comes before the workers get the
   * change itself.
   */
  changes({ hosts, upstreams, removedUpstreams }: CountedChanges): void {
    if (hosts.length + upstreams.length + removedUpstreams.length === 0) return;
    const blocks = [...this.#workers.keys()];
    const ofRoutes = this.#routes.update(hosts, (slot) => {
      this.#base.clearRoute(slot, blocks);
      this.#exemplars?.clear(slot);
    });
    const ofUpstreams = this.#services.update(
      upstreams,
      removedUpstreams,
      (slot) => this.#base.clearService(slot, blocks),
    );
    for (const [block, { post }] of this.#workers) {
      const chunks = this.#grow(block);
      const count = chunks.routes.length + chunks.services.length;
      if (count + sizeOf(ofRoutes) + sizeOf(ofUpstreams) === 0) continue;
      post({ kind: "slots", routes: ofRoutes, upstreams: ofUpstreams, chunks });
    }
  }

  /** Chunks that it has added. */
  #grow({ routes, services }: Block) {
    return {
      routes: routes.grow(chunksFor(this.#routes.slots.used)),
      services: services.grow(chunksFor(this.#services.slots.used)),
    };
  }

  /**
   * The snapshot is in force, with these certificates.
   * @param refused of its certificates that cannot be used.
   */
  snapshotApplied(
    snapshot: Snapshot,
    certificates: readonly CertificateTerm[],
    refused: number,
  ): void {
    this.#snapshot = snapshot;
    this.#endpoints = null;
    this.#certificates = { usable: certificates, refused };
    this.#appliedAt = this.#now();
    this.#applied++;
  }

  /** A configuration could not be read, or not be applied. */
  snapshotRefused(): void {
    this.#refused++;
  }

  workerRestarted(): void {
    this.#restarts++;
  }

  /** A worker has been silent for a moment. */
  workerStalled(): void {
    this.#stalls++;
  }

  /** The snapshot in force and its age in ms; null before the first. */
  get inForce(): { readonly snapshot: Snapshot; readonly age: number } | null {
    const snapshot = this.#snapshot;
    return snapshot === null ? null : { snapshot, age: this.#now() - this.#appliedAt };
  }

  /** A client did not read the whole of `/metrics`. */
  scrapeAborted(): void {
    this.#scrapesAborted++;
  }

  /** Requests are shown beside their durations, in formats that have such. */
  get hasExemplars(): boolean {
    return this.#exemplars !== null;
  }

  /** The text of `/metrics`, in pieces, for `streamPieces`. */
  scrape(about: ScrapedProcess, format: Format = "text"): Iterator<string> {
    const scraped = {
      blocks: () => this.#blocks,
      workers: [...this.#workers].map(([block, { place }]) => {
        return { place, block, cpu: this.#cpuOf(block, place) };
      }),
      routes: this.#routes,
      services: this.#services,
      endpoints: this.#endpoints ??= this.#services.endpointCounts(this.#snapshot?.upstreams ?? []),
      inForce: this.inForce,
      certificates: this.#certificates,
      loads: { applied: this.#applied, refused: this.#refused },
      refused: this.#options.refused?.() ?? {},
      restarts: this.#restarts,
      stalls: this.#stalls,
      scrapesAborted: this.#scrapesAborted,
      stream: this.#options.stream?.() ?? null,
      linesDropped: this.#options.output.dropped,
      spans: this.#options.traces?.relay.scraped ?? null,
      exemplars: this.#exemplars,
      texts: this.#texts,
      about,
    };
    return scrape(scraped, format);
  }

  /** In seconds, with that of the workers that it has replaced. */
  #cpuOf({ totals }: Block, place: number): number {
    return (this.#cpuBefore[place] ?? 0) + totals[CPU];
  }
}

const CPU = placeOfState("cpuSeconds");

function sizeOf({ added, removed }: SlotChange): number {
  return added.length + removed.length;
}
