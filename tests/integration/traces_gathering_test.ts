/** Spans of several batches, which share a request to the collector. */
import assert from "node:assert/strict";
import { Exporter } from "../../proxy/telemetry/traces/exporter.ts";
import type { Settled } from "../../proxy/telemetry/traces/messages.ts";
import { OtlpCollector } from "../support/otlp_collector.ts";

/** Nothing is sent before it, in ms. */
const NEVER = 3_600_000;
const TIMES = { request: 5_000, backoff: 5, longest: 50, gather: NEVER };

const encoder = new TextEncoder();

/** As a worker sends it; with as much beside the span itself as `filling` says. */
function batch(name: string, filling = 0): Uint8Array<ArrayBuffer> {
  const span = { traceId: "", spanId: "", name, kind: 2, attributes: [] };
  return encoder.encode(`,${JSON.stringify({ ...span, traceState: "x".repeat(filling) })}`);
}

function exporterTo({ url }: OtlpCollector, gather = NEVER) {
  const settled: Settled[] = [];
  const all = Promise.withResolvers<void>();
  const exporter = new Exporter({ url, serviceName: "test" }, {
    settled: (each) => {
      settled.push(each);
      if (settled.reduce((sum, { exported }) => sum + exported, 0) === 3) all.resolve();
    },
    failing: () => {},
  }, { ...TIMES, gather });
  return { exporter, settled, all: all.promise };
}

const names = ({ spans }: OtlpCollector) => spans.map(({ name }) => name);

Deno.test("spans wait for others, and leave in one request", async () => {
  await using collector = await OtlpCollector.start();
  const { exporter, settled, all } = exporterTo(collector, 200);
  for (const name of ["a", "b", "c"]) exporter.take(batch(name), 1);
  await all;
  assert.deepEqual(names(collector), ["a", "b", "c"]);
  assert.deepEqual([collector.requests, settled.length], [1, 1]);
  await exporter.close(1000);
});

Deno.test("spans do not wait when the exporter is closed, nor after that", async () => {
  await using collector = await OtlpCollector.start();
  const { exporter, all } = exporterTo(collector);
  for (const name of ["a", "b"]) exporter.take(batch(name), 1);
  await exporter.close(5_000);
  assert.deepEqual(names(collector), ["a", "b"]);
  exporter.take(batch("c"), 1);
  await all;
});

Deno.test("an exporter that has nothing to send is closed at once", async () => {
  await using collector = await OtlpCollector.start();
  const { exporter, all } = exporterTo(collector);
  await exporter.close(NEVER);
  exporter.take(batch("late"), 3);
  await all;
});

Deno.test("half a mebibyte of spans waits for no others", async () => {
  await using collector = await OtlpCollector.start();
  const { exporter, all } = exporterTo(collector);
  exporter.take(batch("a", 300 * 1024), 1);
  exporter.take(batch("b", 300 * 1024), 2);
  await all;
  assert.deepEqual(names(collector), ["a", "b"]);
  await exporter.close(1000);
});
