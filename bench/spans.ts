/**
 * What spans cost a worker: CPU of the thread that serves, for one request with one attempt, and the bytes
 * of its spans.
 *
 * `deno task bench:spans`. In: nothing. Out: a table, medians of several runs. Compare with the CPU of a
 * whole request (`deno task bench --case h1-small`).
 */
import process from "node:process";
import { fieldsOf } from "../proxy/http/fields.ts";
import { prepareRequest } from "../proxy/http/forwarded_headers.ts";
import { type Exchange, ExchangeRecord, RequestHead } from "../proxy/http/message.ts";
import { hasSpan, Tracer } from "../proxy/telemetry/traces/tracer.ts";
import { CidrList } from "../shared/net/cidr.ts";
import { taskOptions } from "../tools/task_options.ts";

taskOptions(
  { name: "deno task bench:spans", summary: "Measures what spans cost a worker." },
  {},
  Deno.args,
);

const RUNS = 9;
const REQUESTS = 100_000;

const ENDPOINT = { address: "10.0.0.7", port: 8080, protocol: "http" };

function newExchange(): Exchange {
  const request = new RequestHead(
    fieldsOf([["Accept", "*/*"], ["User-Agent", "curl/8.5.0"], ["Cookie", "a=b"]]),
  );
  request.method = "GET";
  request.host = request.authority = "app.example.com";
  request.path = request.received = "/api/v1/items";
  const client = {
    ...{ address: "192.0.2.7", port: 40_000, localPort: 80, listener: "http" },
    ...{ secure: false, certificate: null, trusted: false, isExempt: false },
  };
  // As far as a tracer looks at it.
  return { request, client, record: new ExchangeRecord(), added: null } as unknown as Exchange;
}

/** Serves `REQUESTS` requests; CPU of each in ns, and bytes of spans in all. */
function run(ratio: number | null): { readonly cpu: number; readonly bytes: number } {
  let bytes = 0;
  const tracer = ratio === null ? null : new Tracer({ ratio, query: false }, (batch) => {
    bytes += batch.bytes.length;
    tracer?.taken(batch.bytes.length);
  });
  const exchange = newExchange();
  const { record } = exchange;
  const before = process.cpuUsage();
  for (let i = 0; i < REQUESTS; i++) {
    record.begin();
    record.startedAt = i;
    record.method = "GET";
    record.hasHead = true;
    prepareRequest(exchange, CidrList.empty, "pingress-0123456789abcdef", tracer !== null);
    record.prepared = true;
    tracer?.begin(exchange);
    record.route = "app.example.com Prefix /api";
    record.upstream = "default/web:80";
    record.endpoint = ENDPOINT;
    record.tries = 1;
    record.triedAt = i;
    record.status = 200;
    record.duration = 1.5;
    // As `Telemetry` does.
    if (tracer === null || !hasSpan(record.tracing, record.status, null)) continue;
    tracer.attemptBegins(exchange);
    tracer.attemptEnded(exchange, record.status, null);
    tracer.exchangeEnded(exchange, 1_795_000_000_000 + i);
  }
  tracer?.flush();
  const { user, system } = process.cpuUsage(before);
  return { cpu: (user + system) * 1000 / REQUESTS, bytes };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}

const RATIOS: Readonly<Record<string, number | null>> = {
  "off": null,
  "0": 0,
  "0.01": 0.01,
  "1": 1,
};
const runs: Record<string, { cpu: number; bytes: number }[]> = {};
for (let i = 0; i <= RUNS; i++) {
  for (const [name, ratio] of Object.entries(RATIOS)) {
    const result = run(ratio);
    // The first one compiles.
    if (i > 0) (runs[name] ??= []).push(result);
  }
}
const base = median(runs.off.map(({ cpu }) => cpu));
console.log("--trace-ratio    ns of CPU per request    bytes of spans per request");
for (const [name, results] of Object.entries(runs)) {
  const cpu = median(results.map((result) => result.cpu)) - base;
  const bytes = results[0].bytes / REQUESTS;
  console.log(`${name.padEnd(17)}${cpu.toFixed(0).padStart(22)}${bytes.toFixed(0).padStart(30)}`);
}
