import assert from "node:assert/strict";
import { REQUEST_ORDER } from "../filters/filter_order.ts";
import {
  Block,
  cellAt,
  durationCell,
  placeOf,
  placeOfReply,
  ROUTE_CELLS,
  TOTALS,
} from "./block.ts";
import { METRICS } from "./catalogue.ts";
import { EndpointCounts } from "./endpoint_counts.ts";
import { HistogramTexts } from "./histogram_texts.ts";
import { RouteSeries, ServiceSeries } from "./series.ts";
import { DEFAULT_SERIES } from "./series_options.ts";
import { NONE_SLOT, OTHER_SLOT } from "./series_slots.ts";
import { SERVICE_CELLS, serviceCellAt } from "./service_cells.ts";
import { scrape, type Scraped } from "./scrape.ts";
import { StreamStats } from "../config/stream/stream_stats.ts";
import { type Route, SNAPSHOT_FORMAT } from "../../shared/snapshot/types.ts";

const ROUTE: Route = {
  id: "a.example.com Prefix /",
  host: "a.example.com",
  match: { path: { type: "Prefix", value: "/" } },
  action: { kind: "forward", backends: [{ upstream: "default/a:80" }] },
  origin: { kind: "Ingress", namespace: "default", name: "a", field: "" },
};

/** With one of everything that is shown only where it is there. */
function scraped(block: Block): Scraped {
  const stats = new StreamStats(() => 0);
  const routes = new RouteSeries({ ...DEFAULT_SERIES, by: "route" }, () => 0);
  routes.update([{ host: ROUTE.host, before: [], routes: [ROUTE] }], () => {});
  return {
    blocks: () => [block],
    workers: [{ place: 0, block, cpu: 0 }],
    routes,
    services: new ServiceSeries(DEFAULT_SERIES, () => 0),
    exemplars: null,
    texts: { routes: new HistogramTexts(), services: new HistogramTexts() },
    endpoints: new EndpointCounts(
      new Map([['namespace="default",service="a"', [[{ address: "10.0.0.1", port: 80 }]]]]),
    ),
    inForce: {
      snapshot: {
        format: SNAPSHOT_FORMAT,
        version: { epoch: "test", seen: { Ingress: "1" } },
        routes: [],
        defaultAction: null,
        upstreams: [],
        certificates: [],
        defaultCertificate: null,
      },
      age: 0,
    },
    certificates: {
      usable: [{ hosts: ["a.example.com"], isDefault: false, name: "default/a", validTo: 0 }],
      refused: 0,
    },
    loads: { applied: 0, refused: 0 },
    refused: { file: false, stream: true },
    restarts: 0,
    stalls: 0,
    scrapesAborted: 0,
    stream: { ...stats.scraped, syncAge: 0 },
    spans: {
      exported: 1,
      dropped: { error_limit: 1, queue_full: 1, rejected: 1, unavailable: 1 },
    },
    linesDropped: 0,
    about: {
      version: "0",
      deno: "0",
      startedAt: 0,
      now: 0,
      memory: 0,
      cpu: 0,
      limits: { connections: 1 },
    },
  };
}

function textOf(block: Block): string {
  return [...scrape(scraped(block))].join("");
}

/** Of a proxy that reads files, in place of a stream. */
function textOfFiles(): string {
  return [...scrape({ ...scraped(new Block()), stream: null })].join("");
}

/** In which all of a route and a Service without slots of their own has been counted once. */
function busyBlock(): Block {
  const block = new Block();
  const route = block.routes.grownFor(NONE_SLOT);
  for (let cell = 0; cell < ROUTE_CELLS; cell++) route[cellAt(NONE_SLOT, cell)] = 1;
  const service = block.services.grownFor(OTHER_SLOT);
  for (let cell = 0; cell < SERVICE_CELLS; cell++) service[serviceCellAt(OTHER_SLOT, cell)] = 1;
  block.totals[placeOfReply("redirect", 3)] = 1;
  return block;
}

Deno.test("every metric of the catalogue is exposed, and no other", () => {
  const texts = [textOf(busyBlock()), textOfFiles()];
  const types = texts.map((text) =>
    new Set(Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name))
  );
  assert.deepEqual([...types[0].union(types[1])].sort(), Object.keys(METRICS).sort());
  const ofFiles = types[1].difference(types[0]);
  assert.deepEqual([...ofFiles], ["pingress_files_applied_age_seconds"]);
});

Deno.test("everything that workers count is exposed", () => {
  const before = textOf(new Block());
  for (const total of TOTALS) {
    const block = new Block();
    block.totals[placeOf(total)] = 7;
    assert.notEqual(textOf(block), before, total);
  }
});

Deno.test("each filter's replies are exposed under its own name", () => {
  for (const filter of REQUEST_ORDER) {
    const block = new Block();
    block.totals[placeOfReply(filter, 4)] = 7;
    const line = `pingress_filter_replies_total{filter="${filter}",status="4xx"} 7\n`;
    assert.ok(textOf(block).includes(line), filter);
  }
});

Deno.test("a second scrape has what was counted meanwhile, in either format", () => {
  const block = busyBlock();
  const kept = scraped(block);
  const buckets = (format: "text" | "openmetrics") =>
    [...scrape(kept, format)].join("").split("\n")
      .filter((line) => line.startsWith("pingress_request_duration_seconds_"));
  const first = buckets("text");
  assert.deepEqual(buckets("text"), first);
  const open = buckets("openmetrics");
  assert.ok(open.some((line) => line.includes('le="1.0"')));
  assert.ok(first.some((line) => line.includes('le="1"')));
  assert.deepEqual(buckets("text"), first);
  block.routes.grownFor(NONE_SLOT)[cellAt(NONE_SLOT, durationCell(0))]++;
  const second = buckets("text");
  assert.match(first[0], / 1$/);
  assert.match(second[0], / 2$/);
  assert.deepEqual(second, buckets("text"));
});

Deno.test("a thousand certificates are read and written some at a time", () => {
  let read = 0;
  const usable = Array.from({ length: 1000 }, (_, i) => ({
    get hosts() {
      read++;
      return [`${i}.test`];
    },
    ...{ isDefault: false, name: `default/${i}`, validTo: 86_400_000 * i },
  }));
  const all = scraped(new Block());
  let before = 0;
  const pieces: string[] = [];
  for (const piece of scrape({ ...all, certificates: { usable, refused: 0 } })) {
    assert.ok(read - before <= 256, `${read - before} of them at once`);
    assert.ok(piece.length < 64 * 1024, `${piece.length} characters at once`);
    before = read;
    pieces.push(piece);
  }
  const text = pieces.join("");
  const last = '{hosts="999.test",certificate="default/999"}';
  assert.ok(text.includes(`pingress_certificate_expiration_timestamp_seconds${last} 86313600\n`));
  assert.ok(text.includes(`pingress_certificate_days_left${last} 999\n`));
  assert.equal(text.match(/^pingress_certificate_days_left/gm)!.length, 1000);
});
