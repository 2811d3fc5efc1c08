/**
 * Samples of what has series of its own. In: the blocks of all workers, and labels with their slots.
 * Out: the metrics of Services, and those of hosts or routes, in pieces of some series each.
 */
import {
  type Block,
  cellAt,
  CELLS,
  DURATION_BOUNDS,
  durationCell,
  METHODS,
  requestCell,
  STATUS_CLASSES,
} from "./block.ts";
import type { MetricName } from "./catalogue.ts";
import { type Chunks, indexInChunk } from "./chunks.ts";
import type { EndpointCounts } from "./endpoint_counts.ts";
import type { ExemplarStore } from "./exemplars.ts";
import { type Exposition, labelsText, sample } from "./exposition.ts";
import type { HistogramTexts } from "./histogram_texts.ts";
import type { RouteSeries, ServiceSeries } from "./series.ts";
import {
  responseCell,
  SERVICE_DURATION_SUM,
  SERVICE_EJECTED,
  serviceCellAt,
  serviceDurationCell,
} from "./service_cells.ts";

/** By method, and for each by class of status; and their labels. */
const REQUEST_CELLS = METHODS.flatMap((_, method) =>
  STATUS_CLASSES.map((_, status) => requestCell(method, status))
);
const REQUEST_LABELS = METHODS.flatMap((method) =>
  STATUS_CLASSES.map((status) => labelsText({ method, status }))
);
/** By bucket; the last one is of what is beyond all bounds. */
const DURATION_CELLS = [...DURATION_BOUNDS, Infinity].map((_, bucket) => durationCell(bucket));

const RESPONSE_CELLS = STATUS_CLASSES.map((_, status) => responseCell(status));
const RESPONSE_LABELS = STATUS_CLASSES.map((status) => labelsText({ status }));
const SERVICE_DURATION_CELLS = DURATION_CELLS.map((_, bucket) => serviceDurationCell(bucket));

/** In a second. */
const MICROSECONDS = 1e6;

/** Series looked at in one piece, whether they have traffic or not. */
export const SERIES_PER_PIECE = 64;

export interface ScrapedWorker {
  /** From 0. */
  readonly place: number;
  readonly block: Block;
  /** CPU time of it and those that it has replaced, in seconds. */
  readonly cpu: number;
}

export interface ScrapedSeries {
  /**
   * What workers have counted, and those that they have replaced. As they are now: one that is replaced
   * while a scrape is being written would count twice.
   */
  readonly blocks: () => readonly Block[];
  readonly workers: readonly ScrapedWorker[];
  readonly routes: RouteSeries;
  readonly services: ServiceSeries;
  readonly endpoints: EndpointCounts;
  /** Of requests by host or route; null without traces. */
  readonly exemplars: ExemplarStore | null;
  /** Of the last scrapes. */
  readonly texts: { readonly routes: HistogramTexts; readonly services: HistogramTexts };
}

/** What has been counted for Services, and how many endpoints they have. */
export function* serviceMetrics(
  { services, workers, blocks, endpoints, texts }: ScrapedSeries,
  out: Exposition,
): Generator<string> {
  const all = [...services.entries()];
  const cells = new SlotReader(blocks, ({ services }) => services, serviceCellAt);
  yield* counterMetric(
    out,
    "pingress_upstream_requests_total",
    all,
    cells.sums(RESPONSE_CELLS),
    RESPONSE_LABELS,
  );
  yield* histogramMetric(
    out,
    "pingress_upstream_duration_seconds",
    all,
    cells.sums(SERVICE_DURATION_CELLS),
    cells.sums([SERVICE_DURATION_SUM]),
    texts.services,
  );
  const { slots } = services;
  const listed = Array.from(
    endpoints.labels(),
    (labels) => [labels, slots.slotOf(labels)] as const,
  );
  yield* inPieces(out, "pingress_endpoints", listed, (labels, slot) => {
    const count = endpoints.of(labels);
    const ejected = Math.min(count, mostEjected(workers, slot));
    const ready = sample("pingress_endpoints", `${labels},state="ready"`, count - ejected);
    return ejected === 0
      ? ready
      : ready + sample("pingress_endpoints", `${labels},state="ejected"`, ejected);
  });
}

/** Workers eject on their own: most of them mostly the same endpoints. */
function mostEjected(workers: readonly ScrapedWorker[], slot: number): number {
  const place = serviceCellAt(indexInChunk(slot), SERVICE_EJECTED);
  let most = 0;
  for (const { block: { services } } of workers) {
    most = Math.max(most, services.of(slot)?.[place] ?? 0);
  }
  return most;
}

/** Each host, or route, with what has been counted for it; those without traffic have no series. */
export function* routeMetrics(
  { routes, blocks, exemplars, texts }: ScrapedSeries,
  out: Exposition,
): Generator<string> {
  const all = [...routes.entries()];
  const cells = new SlotReader(blocks, ({ routes }) => routes, cellAt);
  const sumOf = (name: MetricName, cell: number) =>
    counterMetric(out, name, all, cells.sums([cell]), [""]);
  yield* counterMetric(
    out,
    "pingress_requests_total",
    all,
    cells.sums(REQUEST_CELLS),
    REQUEST_LABELS,
  );
  yield* histogramMetric(
    out,
    "pingress_request_duration_seconds",
    all,
    cells.sums(DURATION_CELLS),
    cells.sums([CELLS.durationSum]),
    texts.routes,
    out.hasExemplars ? exemplars : null,
  );
  yield* sumOf("pingress_request_bytes_total", CELLS.bytesIn);
  yield* sumOf("pingress_response_bytes_total", CELLS.bytesOut);
  yield* sumOf("pingress_upstream_retries_total", CELLS.retries);
  yield* inPieces(
    out,
    "pingress_route_info",
    [...routes.info()].map((labels) => [labels, 1]),
    (labels) => sample("pingress_route_info", labels, 1),
  );
}

/** Sums of some cells of a slot, over all blocks; valid until the next call. */
type Sums = (slot: number) => Float64Array;

/** Adds up what all blocks have counted in a slot. */
class SlotReader {
  readonly #blocks: () => readonly Block[];
  readonly #chunksOf: (block: Block) => Chunks;
  readonly #cellAt: (index: number, cell: number) => number;

  constructor(
    blocks: () => readonly Block[],
    chunksOf: (block: Block) => Chunks,
    cellAt: (index: number, cell: number) => number,
  ) {
    this.#blocks = blocks;
    this.#chunksOf = chunksOf;
    this.#cellAt = cellAt;
  }

  sums(cells: readonly number[]): Sums {
    const into = new Float64Array(cells.length);
    // A cell's places in the slots of a chunk are equally far apart: no call for each of a million.
    const first = Int32Array.from(cells, (cell) => this.#cellAt(0, cell));
    const step = Int32Array.from(cells, (cell, i) => this.#cellAt(1, cell) - first[i]);
    return (slot) => {
      const index = indexInChunk(slot);
      into.fill(0);
      for (const block of this.#blocks()) {
        const counted = this.#chunksOf(block).of(slot);
        if (counted === undefined) continue;
        for (let i = 0; i < into.length; i++) into[i] += counted[first[i] + index * step[i]];
      }
      return into;
    };
  }
}

/** A line for each sum that is not 0. @param more labels of each; "" for none. */
function counterMetric(
  out: Exposition,
  name: MetricName,
  entries: readonly (readonly [string, number])[],
  sums: Sums,
  more: readonly string[],
): Generator<string> {
  const ends = more.map((labels) => labels === "" ? "" : `,${labels}`);
  return inPieces(out, name, entries, (labels, slot) => {
    const counts = sums(slot);
    let lines = "";
    for (let i = 0; i < counts.length; i++) {
      if (counts[i] !== 0) lines += sample(name, labels + ends[i], counts[i]);
    }
    return lines;
  });
}

/** @param sumOf durations in microseconds. */
function histogramMetric(
  out: Exposition,
  name: MetricName,
  entries: readonly (readonly [string, number])[],
  sums: Sums,
  sumOf: Sums,
  texts: HistogramTexts,
  exemplars: ExemplarStore | null = null,
): Generator<string> {
  const writer = out.histogram(name, DURATION_BOUNDS);
  return inPieces(out, name, entries, (labels, slot) => {
    const counts = sums(slot);
    if (counts.every((count) => count === 0)) return "";
    const sum = sumOf(slot)[0] / MICROSECONDS;
    const shown = exemplars?.of(slot);
    if (shown !== undefined) return writer.lines(labels, counts, sum, shown);
    const make = () => writer.lines(labels, counts, sum);
    return texts.linesOf(slot, labels, out.format, counts, sum, make);
  });
}

/** A metric with the lines of each entry, some entries at a time; nothing where none has a line. */
export function* inPieces(
  out: Exposition,
  name: MetricName,
  entries: readonly (readonly [string, number])[],
  linesOf: (labels: string, entry: number) => string,
): Generator<string> {
  let piece = "";
  let begun = false;
  for (let i = 0; i < entries.length; i++) {
    piece += linesOf(entries[i][0], entries[i][1]);
    if (i % SERIES_PER_PIECE !== SERIES_PER_PIECE - 1 && i !== entries.length - 1) continue;
    yield begun || piece === "" ? piece : out.head(name) + piece;
    begun ||= piece !== "";
    piece = "";
  }
}
