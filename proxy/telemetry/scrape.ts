/**
 * One scrape. In: the blocks of all workers, and what the main thread knows. Out: the text of
 * `/metrics` in pieces, each metric's samples together as the format asks.
 */
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { type ScrapedStream, UPDATE_KINDS, UPDATE_RESULTS } from "../config/stream/stream_stats.ts";
import {
  type Block,
  cellAt,
  CELLS,
  DURATION_BOUNDS,
  durationCell,
  EJECTION_TOTALS,
  ERROR_CODES,
  HOLD_TOTALS,
  HTTP2_END_TOTALS,
  indexInChunk,
  METHODS,
  placeOf,
  placeOfError,
  requestCell,
  SHED_TOTALS,
  STATUS_CLASSES,
  type Total,
} from "./block.ts";
import type { MetricName } from "./catalogue.ts";
import { histogram, type Labels, metric, metricHead, sample } from "./exposition.ts";
import type { ScrapedSpans } from "./traces/span_relay.ts";
import { OTHER_SLOT, RESERVED_SLOTS, type RouteSlots } from "./route_slots.ts";

/** By method, and for each by class of status. */
const REQUEST_CELLS = METHODS.flatMap((_, method) =>
  STATUS_CLASSES.map((_, status) => requestCell(method, status))
);
/** By bucket; the last one is of what is beyond all bounds. */
const DURATION_CELLS = [...DURATION_BOUNDS, Infinity].map((_, bucket) => durationCell(bucket));

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
}

export interface Scraped {
  readonly blocks: readonly Block[];
  readonly slots: RouteSlots;
  readonly inForce: { readonly snapshot: Snapshot; readonly age: number } | null;
  readonly certificates: {
    readonly usable: readonly CertificateTerm[];
    readonly refused: number;
  };
  readonly loads: { readonly applied: number; readonly refused: number };
  readonly workers: {
    readonly running: number;
    readonly restarts: number;
    readonly stalls: number;
  };
  /** Null without `--controller`. */
  readonly stream: ScrapedStream | null;
  readonly linesDropped: number;
  /** Null without `--otlp-endpoint`. */
  readonly spans: ScrapedSpans | null;
  readonly about: ScrapedProcess;
}

/** Routes looked at in one piece, whether they have traffic or not. */
const ROUTES_PER_PIECE = 64;
const DAY = 24 * 60 * 60 * 1000;
/** Hosts that a certificate's label names. */
const MAX_HOSTS = 10;

export function* scrape(scraped: Scraped): Generator<string> {
  yield* processMetrics(scraped);
  yield* streamMetrics(scraped);
  yield* snapshotMetrics(scraped);
  yield* trafficMetrics(scraped);
  yield* spanMetrics(scraped);
  yield* routeMetrics(scraped);
}

function* processMetrics({ about, workers, loads }: Scraped): Generator<string> {
  yield single("process_start_time_seconds", about.startedAt / 1000) +
    single("process_resident_memory_bytes", about.memory) +
    metric("pingress_build_info", [[{ version: about.version, deno: about.deno }, 1]]) +
    single("pingress_workers", workers.running) +
    single("pingress_worker_restarts_total", workers.restarts) +
    single("pingress_worker_stalls_total", workers.stalls) +
    metric("pingress_snapshot_loads_total", [
      [{ result: "applied" }, loads.applied],
      [{ result: "refused" }, loads.refused],
    ]);
}

function* streamMetrics({ stream }: Scraped): Generator<string> {
  if (stream === null) return;
  yield single("pingress_stream_connected", stream.isConnected ? 1 : 0) +
    metric("pingress_stream_connects_total", [
      [{ result: "ok" }, stream.opened],
      [{ result: "failed" }, stream.failed],
    ]) +
    metric(
      "pingress_stream_updates_total",
      UPDATE_KINDS.flatMap((kind) =>
        UPDATE_RESULTS.map((result) => [{ kind, result }, stream.updates[kind][result]] as const)
      ),
    );
  if (stream.syncAge !== null) {
    yield single("pingress_stream_sync_age_seconds", Math.max(0, stream.syncAge) / 1000);
  }
}

function* snapshotMetrics({ inForce, certificates, about }: Scraped): Generator<string> {
  if (inForce === null) return;
  const { version, routes, upstreams } = inForce.snapshot;
  yield single("pingress_snapshot_age_seconds", Math.max(0, inForce.age) / 1000) +
    metric("pingress_snapshot_info", [[{ epoch: version.epoch }, 1]]) +
    metric(
      "pingress_snapshot_resource_version",
      Object.entries(version.seen).map(([kind, seen]) => [{ kind }, seen]),
    ) +
    single("pingress_snapshot_routes", routes.length) +
    single("pingress_snapshot_upstreams", upstreams.length) +
    single("pingress_certificates_refused", certificates.refused);
  // Of two with the same labels the one that expires first is the one to know of.
  const terms = new Map<string, { labels: Labels; validTo: number }>();
  for (const term of certificates.usable) {
    const labels = { hosts: showHosts(term), certificate: term.name };
    const key = JSON.stringify(labels);
    terms.set(key, {
      labels,
      validTo: Math.min(term.validTo, terms.get(key)?.validTo ?? Infinity),
    });
  }
  let first = true;
  for (const { labels, validTo } of terms.values()) {
    if (first) yield metricHead("pingress_certificate_days_left");
    first = false;
    const days = Math.floor((validTo - about.now) / DAY * 1000) / 1000;
    yield sample("pingress_certificate_days_left", labels, days);
  }
}

/** Whom a client asks for to be shown it; `*` is any name that no other certificate covers. */
function showHosts({ hosts, isDefault }: CertificateTerm): string {
  const more = hosts.length > MAX_HOSTS ? ` and ${hosts.length - MAX_HOSTS} more` : "";
  return [...isDefault ? ["*"] : [], ...hosts.slice(0, MAX_HOSTS)].join(",") + more;
}

function* spanMetrics({ spans }: Scraped): Generator<string> {
  if (spans === null) return;
  yield single("pingress_spans_exported_total", spans.exported) +
    metric(
      "pingress_spans_dropped_total",
      Object.entries(spans.dropped).map(([reason, count]) => [{ reason }, count]),
    );
}

function* trafficMetrics({ blocks, linesDropped }: Scraped): Generator<string> {
  const at = (place: number) => blocks.reduce((sum, { totals }) => sum + totals[place], 0);
  const total = (name: Total) => at(placeOf(name));
  yield single("pingress_connections_total", total("connections")) +
    single("pingress_connections_open", total("connectionsOpen")) +
    metric(
      "pingress_connections_shed_total",
      Object.entries(SHED_TOTALS).map(([reason, name]) => [{ reason }, total(name)]),
    ) +
    metric(
      "pingress_http2_connections_ended_total",
      Object.entries(HTTP2_END_TOTALS).map(([reason, name]) => [{ reason }, total(name)]),
    ) +
    single("pingress_accept_errors_total", total("acceptsFailed")) +
    single("pingress_tls_handshake_errors_total", total("handshakesFailed")) +
    single("pingress_tunnels_total", total("tunnels")) +
    single("pingress_tunnels_open", total("tunnelsOpen")) +
    metric("pingress_upstream_connects_total", [
      [{ result: "ok" }, total("upstreamConnects")],
      [{ result: "failed" }, total("upstreamConnectsFailed")],
    ]) +
    single("pingress_upstream_connections_reused_total", total("upstreamReuses")) +
    metric(
      "pingress_upstream_ejections_total",
      Object.entries(EJECTION_TOTALS).map(([reason, name]) => [{ reason }, total(name)]),
    ) +
    single("pingress_requests_held", total("requestsHeld")) +
    metric(
      "pingress_holds_total",
      Object.entries(HOLD_TOTALS).map(([outcome, name]) => [{ outcome }, total(name)]),
    ) +
    single("pingress_upstream_retries_denied_total", total("upstreamRetriesDenied")) +
    single("pingress_log_lines_dropped_total", total("logLinesDropped") + linesDropped) +
    metric(
      "pingress_request_errors_total",
      ERROR_CODES.map((code) => [{ code }, at(placeOfError(code))]),
    );
}

/** Each route with what has been counted for it; routes without traffic have no series. */
function* routeMetrics({ blocks, slots }: Scraped): Generator<string> {
  const read = (slot: number, wanted: readonly number[]): number[] | null => {
    const sums: number[] = new Array(wanted.length).fill(0);
    const index = indexInChunk(slot);
    let any = false;
    for (const block of blocks) {
      const cells = block.chunkOf(slot);
      if (cells === undefined) continue;
      for (let i = 0; i < wanted.length; i++) {
        const counted = cells[cellAt(index, wanted[i])];
        sums[i] += counted;
        if (counted !== 0) any = true;
      }
    }
    return any ? sums : null;
  };
  const each = function* (
    name: MetricName,
    lines: (slot: number, labels: Labels) => string,
  ): Generator<string> {
    let piece = "";
    let looked = 0;
    let first = true;
    for (const [route, slot] of labelled(slots)) {
      piece += lines(slot, { route });
      if (++looked % ROUTES_PER_PIECE !== 0) continue;
      yield first && piece !== "" ? metricHead(name) + piece : piece;
      first &&= piece === "";
      piece = "";
    }
    if (piece !== "") yield first ? metricHead(name) + piece : piece;
  };
  const sumOf = (name: MetricName, cell: number) => {
    const wanted = [cell];
    return each(name, (slot, labels) => {
      const sums = read(slot, wanted);
      return sums === null || sums[0] === 0 ? "" : sample(name, labels, sums[0]);
    });
  };
  yield* each("pingress_requests_total", (slot, { route }) => {
    const counts = read(slot, REQUEST_CELLS);
    if (counts === null) return "";
    let lines = "";
    for (const [index, count] of counts.entries()) {
      if (count === 0) continue;
      const method = METHODS[Math.floor(index / STATUS_CLASSES.length)];
      const status = STATUS_CLASSES[index % STATUS_CLASSES.length];
      lines += sample("pingress_requests_total", { route, method, status }, count);
    }
    return lines;
  });
  yield* each("pingress_request_duration_seconds", (slot, labels) => {
    const counts = read(slot, DURATION_CELLS);
    // Of a slot that was another route's the cells are there, and come to nothing.
    if (counts === null || counts.every((count) => count === 0)) return "";
    const sum = Math.max(0, read(slot, [CELLS.durationSum])?.[0] ?? 0);
    return histogram("pingress_request_duration_seconds", labels, DURATION_BOUNDS, counts, sum);
  });
  yield* sumOf("pingress_request_bytes_total", CELLS.bytesIn);
  yield* sumOf("pingress_response_bytes_total", CELLS.bytesOut);
  yield* sumOf("pingress_upstream_retries_total", CELLS.retries);
}

/** Label and slot: the reserved ones, then each route that has a slot of its own. */
function* labelled(slots: RouteSlots): Generator<readonly [string, number]> {
  for (const [slot, label] of RESERVED_SLOTS.entries()) yield [label, slot];
  for (const entry of slots.entries()) if (entry[1] !== OTHER_SLOT) yield entry;
}

function single(name: MetricName, value: number): string {
  return metric(name, [[{}, value]]);
}
