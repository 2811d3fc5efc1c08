/**
 * Telemetry of the whole process, in the main thread. In: workers that come and go, snapshots,
 * reloads, and lines of access logs. Out: `/metrics`, summed over all workers when it is asked for,
 * and whole lines on standard output.
 *
 * Counters never go down: what a worker has counted is kept when it is replaced.
 */
import type { LineOutput } from "../../shared/log.ts";
import type { HostChange, Snapshot } from "../../shared/snapshot/types.ts";
import type { ScrapedStream } from "../config/stream/stream_stats.ts";
import type { AccessLogOptions } from "./access_log/options.ts";
import type { TraceOptions } from "./traces/options.ts";
import type { SpanRelay } from "./traces/span_relay.ts";
import { Block, cellAt, indexInChunk, ROUTE_CELLS, SLOTS_PER_CHUNK } from "./block.ts";
import { RouteSlots } from "./route_slots.ts";
import { type CertificateTerm, scrape, type Scraped, type ScrapedProcess } from "./scrape.ts";
import type { HubMessage, TelemetryMessage, TelemetrySetup } from "./telemetry.ts";

export interface TelemetryHubOptions {
  /** Null writes no access log. */
  readonly accessLog: AccessLogOptions | null;
  /** What spans are made of and who gets them; null, or left out, makes none. */
  readonly traces?: { readonly options: TraceOptions; readonly relay: SpanRelay } | null;
  /** Where its lines go, between those of events. */
  readonly output: LineOutput;
  /** What has happened on the controller's stream; null, or left out, where there is none. */
  readonly stream?: () => ScrapedStream | null;
  /** Monotonic, in ms. */
  readonly now?: () => number;
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
  readonly #slots: RouteSlots;
  /** What replaced workers have counted, less what reused slots had counted for others. */
  readonly #base = new Block();
  readonly #workers = new Map<Block, (message: HubMessage) => void>();
  #chunks = 0;
  #restarts = 0;
  #stalls = 0;
  #applied = 0;
  #refused = 0;
  #snapshot: Snapshot | null = null;
  #appliedAt = 0;
  #certificates: Scraped["certificates"] = { usable: [], refused: 0 };

  constructor(options: TelemetryHubOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#slots = new RouteSlots(this.#now);
    this.#chunks = 1;
  }

  /** @param post sends a message to the worker, in order with the snapshots that it gets. */
  attach(post: (message: HubMessage) => void): WorkerTelemetry {
    const block = new Block();
    while (block.chunkCount < this.#chunks) block.addChunk();
    this.#workers.set(block, post);
    const { accessLog, output, traces = null } = this.#options;
    return {
      setup: {
        totals: block.totals.buffer,
        chunks: block.chunks,
        slots: [...this.#slots.entries()],
        accessLog,
        traces: traces?.options ?? null,
      },
      receive: (message) => {
        const size = message.bytes.length;
        if (message.kind === "lines") output.writeBatch(message.bytes, message.lines);
        else traces?.relay.take(message);
        post({ kind: "taken", of: message.kind, bytes: size });
      },
      detach: () => {
        if (this.#workers.delete(block)) this.#base.fold(block);
      },
    };
  }

  /**
   * These hosts are about to change: gives their routes slots. Comes before the workers get the
   * change itself.
   */
  hostsChange(hosts: readonly HostChange[]): void {
    if (hosts.length === 0) return;
    const come = hosts.flatMap(({ routes }) => routes.map(({ id }) => id));
    const gone = hosts.flatMap(({ before }) => before.map(({ id }) => id));
    const change = this.#slots.update(come, gone, (slot) => this.#clear(slot));
    this.#chunks = Math.ceil(this.#slots.used / SLOTS_PER_CHUNK);
    for (const [block, post] of this.#workers) {
      const chunks: SharedArrayBuffer[] = [];
      while (block.chunkCount < this.#chunks) chunks.push(block.addChunk());
      if (chunks.length + change.added.length + change.removed.length === 0) continue;
      post({ kind: "slots", chunks, ...change });
    }
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

  /** The text of `/metrics`, in pieces, for `streamPieces`. */
  scrape(about: ScrapedProcess): Iterator<string> {
    return scrape({
      blocks: [this.#base, ...this.#workers.keys()],
      slots: this.#slots,
      inForce: this.inForce,
      certificates: this.#certificates,
      loads: { applied: this.#applied, refused: this.#refused },
      workers: { running: this.#workers.size, restarts: this.#restarts, stalls: this.#stalls },
      stream: this.#options.stream?.() ?? null,
      linesDropped: this.#options.output.dropped,
      spans: this.#options.traces?.relay.scraped ?? null,
      about,
    });
  }

  /** Makes a slot count from nothing: what all workers have counted in it is taken off. */
  #clear(slot: number): void {
    while (this.#base.chunkOf(slot) === undefined) this.#base.addChunk();
    const base = this.#base.chunkOf(slot)!;
    const index = indexInChunk(slot);
    const counted = [...this.#workers.keys()].flatMap((block) => block.chunkOf(slot) ?? []);
    for (let cell = 0; cell < ROUTE_CELLS; cell++) {
      const place = cellAt(index, cell);
      base[place] = 0;
      for (const cells of counted) base[place] -= cells[place];
    }
  }
}
