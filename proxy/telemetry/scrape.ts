/**
 * One scrape. In: the blocks of all workers, and what the main thread knows. Out: the text of
 * `/metrics` in pieces, each metric's samples together as the format asks.
 */
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { type ScrapedStream, UPDATE_KINDS, UPDATE_RESULTS } from "../config/stream/stream_stats.ts";
import {
  EJECTION_TOTALS,
  ERROR_CODES,
  HOLD_TOTALS,
  HTTP2_END_TOTALS,
  placeOf,
  placeOfError,
  placeOfReply,
  placeOfState,
  SHED_TOTALS,
  STATUS_CLASSES,
  type Total,
  type WorkerState,
} from "./block.ts";
import { REQUEST_ORDER } from "../filters/filter_order.ts";
import type { MetricName } from "./catalogue.ts";
import { Exposition, type Format, labelsText, sample } from "./exposition.ts";
import {
  inPieces,
  routeMetrics,
  type ScrapedSeries,
  type ScrapedWorker,
  SERIES_PER_PIECE,
  serviceMetrics,
} from "./series_samples.ts";
import type { SeriesSlots } from "./series_slots.ts";
import type { ScrapedSpans } from "./traces/span_relay.ts";

/** A certificate in use. */
export interface CertificateTerm {
  readonly hosts: readonly string[];
  /** Whether names that no other covers get it. */
  readonly isDefault: boolean;
  /** The Secret or file that it comes from. */
  readonly name: string;
  /** In ms since the epoch. */
  readonly validTo: number;
}

/** What no block holds. */
export interface ScrapedProcess {
  readonly version: string;
  readonly deno: string;
  /** In ms since the epoch. */
  readonly startedAt: number;
  readonly now: number;
  /** In bytes. */
  readonly memory: number;
  /** CPU time since its start, in seconds. */
  readonly cpu: number;
  /** By name; those that are 0 are none. */
  readonly limits: Readonly<Record<string, number>>;
}

export interface Scraped extends ScrapedSeries {
  readonly inForce: { readonly snapshot: Snapshot; readonly age: number } | null;
  readonly certificates: {
    readonly usable: readonly CertificateTerm[];
    readonly refused: number;
  };
  readonly loads: { readonly applied: number; readonly refused: number };
  /** Whether the newest configuration was rejected, by its source. */
  readonly refused: Readonly<Record<string, boolean>>;
  readonly restarts: number;
  readonly stalls: number;
  readonly scrapesAborted: number;
  /** Null without `--controller`. */
  readonly stream: ScrapedStream | null;
  readonly linesDropped: number;
  /** Null without `--otlp-endpoint`. */
  readonly spans: ScrapedSpans | null;
  readonly about: ScrapedProcess;
}

const DAY = 24 * 60 * 60 * 1000;
/** Hosts that a certificate's label names. */
const MAX_HOSTS = 10;

export function* scrape(scraped: Scraped, format: Format = "text"): Generator<string> {
  const out = new Exposition(format);
  yield* processMetrics(scraped, out);
  yield* workerMetrics(scraped, out);
  yield* streamMetrics(scraped, out);
  yield* snapshotMetrics(scraped, out);
  yield* trafficMetrics(scraped, out);
  yield* serviceMetrics(scraped, out);
  yield* spanMetrics(scraped, out);
  yield* routeMetrics(scraped, out);
  yield entryMetrics(scraped, out) + out.end;
}

function* processMetrics(
  { about, loads, refused, scrapesAborted }: Scraped,
  out: Exposition,
): Generator<string> {
  const limits = Object.entries(about.limits).filter(([, limit]) => limit !== 0);
  yield out.single("process_start_time_seconds", about.startedAt / 1000) +
    out.single("process_cpu_seconds_total", about.cpu) +
    out.single("process_resident_memory_bytes", about.memory) +
    out.metric("pingress_build_info", [[{ version: about.version, deno: about.deno }, 1]]) +
    out.metric("pingress_limit", limits.map(([name, limit]) => [{ name }, limit])) +
    out.single("pingress_scrapes_aborted_total", scrapesAborted) +
    out.metric("pingress_snapshot_loads_total", [
      [{ result: "applied" }, loads.applied],
      [{ result: "refused" }, loads.refused],
    ]) +
    out.metric(
      "pingress_snapshot_refused",
      Object.entries(refused).map(([source, is]) => [{ source }, Number(is)]),
    );
}

function* workerMetrics(
  { workers, restarts, stalls }: Scraped,
  out: Exposition,
): Generator<string> {
  const each = (name: MetricName, valueOf: (worker: ScrapedWorker) => number) =>
    out.metric(name, workers.map((worker) => [{ worker: String(worker.place) }, valueOf(worker)]));
  const state = (name: WorkerState) => ({ block }: ScrapedWorker) =>
    block.totals[placeOfState(name)];
  yield out.single("pingress_workers", workers.length) +
    out.single("pingress_worker_restarts_total", restarts) +
    out.single("pingress_worker_stalls_total", stalls) +
    each("pingress_worker_cpu_seconds_total", ({ cpu }) => cpu) +
    each("pingress_worker_delay_seconds", state("delaySeconds")) +
    each("pingress_worker_heap_bytes", state("heapBytes"));
}

function* streamMetrics({ stream }: Scraped, out: Exposition): Generator<string> {
  if (stream === null) return;
  yield out.single("pingress_stream_connected", stream.isConnected ? 1 : 0) +
    out.metric("pingress_stream_connects_total", [
      [{ result: "ok" }, stream.opened],
      [{ result: "failed" }, stream.failed],
    ]) +
    out.metric(
      "pingress_stream_updates_total",
      UPDATE_KINDS.flatMap((kind) =>
        UPDATE_RESULTS.map((result) => [{ kind, result }, stream.updates[kind][result]] as const)
      ),
    );
  if (stream.syncAge !== null) {
    yield out.single("pingress_stream_sync_age_seconds", Math.max(0, stream.syncAge) / 1000);
  }
}

function* snapshotMetrics(
  { inForce, certificates, stream, about }: Scraped,
  out: Exposition,
): Generator<string> {
  if (inForce === null) return;
  const { version, routes, upstreams } = inForce.snapshot;
  if (stream === null) {
    yield out.single("pingress_files_applied_age_seconds", Math.max(0, inForce.age) / 1000);
  }
  yield out.single("pingress_snapshot_age_seconds", Math.max(0, inForce.age) / 1000) +
    out.metric("pingress_snapshot_info", [[{ epoch: version.epoch }, 1]]) +
    out.metric(
      "pingress_snapshot_resource_version",
      Object.entries(version.seen).map(([kind, seen]) => [{ kind }, seen]),
    ) +
    out.single("pingress_snapshot_routes", routes.length) +
    out.single("pingress_snapshot_upstreams", upstreams.length) +
    out.single("pingress_certificates_refused", certificates.refused);
  yield* certificateMetrics(certificates.usable, about.now, out);
}

/** Of two with the same labels the one that expires first is the one to know of. */
function* certificateMetrics(
  terms: readonly CertificateTerm[],
  now: number,
  out: Exposition,
): Generator<string> {
  const ends = new Map<string, number>();
  for (let i = 0; i < terms.length; i++) {
    const { name, validTo } = terms[i];
    const labels = labelsText({ hosts: showHosts(terms[i]), certificate: name });
    ends.set(labels, Math.min(validTo, ends.get(labels) ?? Infinity));
    // Others have their turn: a cluster may have ten thousand.
    if (i % SERIES_PER_PIECE === SERIES_PER_PIECE - 1) yield "";
  }
  const all = [...ends];
  const expiration = "pingress_certificate_expiration_timestamp_seconds";
  yield* inPieces(out, expiration, all, (labels, validTo) => {
    return sample(expiration, labels, validTo / 1000);
  });
  const left = "pingress_certificate_days_left";
  yield* inPieces(out, left, all, (labels, validTo) => {
    return sample(left, labels, Math.floor((validTo - now) / DAY * 1000) / 1000);
  });
}

/** Whom a client asks for to be shown it; `*` is any name that no other certificate covers. */
function showHosts({ hosts, isDefault }: CertificateTerm): string {
  const more = hosts.length > MAX_HOSTS ? ` and ${hosts.length - MAX_HOSTS} more` : "";
  return [...isDefault ? ["*"] : [], ...hosts.slice(0, MAX_HOSTS)].join(",") + more;
}

function* spanMetrics({ spans }: Scraped, out: Exposition): Generator<string> {
  if (spans === null) return;
  yield out.single("pingress_spans_exported_total", spans.exported) +
    out.metric(
      "pingress_spans_dropped_total",
      Object.entries(spans.dropped).map(([reason, count]) => [{ reason }, count]),
    );
}

function* trafficMetrics({ blocks, linesDropped }: Scraped, out: Exposition): Generator<string> {
  const all = blocks();
  const at = (place: number) => all.reduce((sum, { totals }) => sum + totals[place], 0);
  const total = (name: Total) => at(placeOf(name));
  yield out.single("pingress_connections_total", total("connections")) +
    out.single("pingress_connections_open", total("connectionsOpen")) +
    out.single("pingress_requests_active", total("requestsActive")) +
    out.single("pingress_descriptors_exhausted_total", total("descriptorsExhausted")) +
    out.metric(
      "pingress_connections_shed_total",
      Object.entries(SHED_TOTALS).map(([reason, name]) => [{ reason }, total(name)]),
    ) +
    out.metric(
      "pingress_http2_connections_ended_total",
      Object.entries(HTTP2_END_TOTALS).map(([reason, name]) => [{ reason }, total(name)]),
    ) +
    out.single("pingress_accept_errors_total", total("acceptsFailed")) +
    out.single("pingress_tls_handshake_errors_total", total("handshakesFailed")) +
    out.single("pingress_tunnels_total", total("tunnels")) +
    out.single("pingress_tunnels_open", total("tunnelsOpen")) +
    out.metric("pingress_upstream_connects_total", [
      [{ result: "ok" }, total("upstreamConnects")],
      [{ result: "failed" }, total("upstreamConnectsFailed")],
    ]) +
    out.single("pingress_upstream_connections_reused_total", total("upstreamReuses")) +
    out.metric(
      "pingress_upstream_ejections_total",
      Object.entries(EJECTION_TOTALS).map(([reason, name]) => [{ reason }, total(name)]),
    ) +
    out.single("pingress_requests_held", total("requestsHeld")) +
    out.metric(
      "pingress_holds_total",
      Object.entries(HOLD_TOTALS).map(([outcome, name]) => [{ outcome }, total(name)]),
    ) +
    out.single("pingress_upstream_retries_denied_total", total("upstreamRetriesDenied")) +
    out.single("pingress_log_lines_dropped_total", total("logLinesDropped") + linesDropped) +
    out.metric(
      "pingress_request_errors_total",
      ERROR_CODES.map((code) => [{ code }, at(placeOfError(code))]),
    ) +
    out.metric(
      "pingress_filter_replies_total",
      REQUEST_ORDER.flatMap((filter) =>
        STATUS_CLASSES
          .map((status, index) => [{ filter, status }, at(placeOfReply(filter, index))] as const)
          // Most filters reply to nobody.
          .filter(([, count]) => count !== 0)
      ),
    );
}

/** How many there are, so that somebody learns of a limit that is too low. */
function entryMetrics({ routes, services }: Scraped, out: Exposition): string {
  const samples = ([of, { own, waiting }]: readonly [string, SeriesSlots]) =>
    [[{ of, state: "own" }, own], [{ of, state: "other" }, waiting]] as const;
  const all = [[routes.by, routes.slots], ["service", services.slots]] as const;
  return out.metric("pingress_metrics_entries", all.flatMap(samples));
}
