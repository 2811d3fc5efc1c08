/** Exemplars of durations, as a scraper of OpenMetrics reads them. */
import assert from "node:assert/strict";
import { eventually } from "../cluster/support/condition.ts";
import { Backend, Peer, statusOf } from "../support/backend.ts";
import { parseExposition, parseOpenMetrics } from "../support/exposition_parser.ts";
import { ObservedProxy, textOf } from "../support/observed_proxy.ts";
import { OtlpCollector } from "../support/otlp_collector.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";

const SERVER = 2;
const REQUEST = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
const OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";

Deno.test("the bucket of a sampled request names its trace, in OpenMetrics alone", async () => {
  await using backend = new Backend();
  await using collector = await OtlpCollector.start();
  using observed = new ObservedProxy([backend.port], { traces: { url: collector.url } });
  using client = await Peer.connect(observed.port);
  const before = Date.now() / 1000;
  assert.equal(statusOf(await client.ask(REQUEST)), 200);
  const { values, exemplars } = await observed.openMetrics();
  const text = await textOf(observed.hub);
  await observed.spansSent();
  const [{ traceId }] = collector.ofKind(SERVER);
  assert.equal(exemplars.size, 1);
  const [[bucket, { labels, value, time }]] = exemplars;
  assert.match(bucket, /^pingress_request_duration_seconds_bucket\{namespace="test",host="\*",le=/);
  assert.equal(labels, `trace_id="${traceId}"`);
  const sum = values.get('pingress_request_duration_seconds_sum{namespace="test",host="*"}');
  // Sums are of whole microseconds.
  assert.equal(Math.round(value * 1e6) / 1e6, sum);
  assert.ok(time >= before - 1 && time <= Date.now() / 1000 + 1, String(time));
  assert.doesNotMatch(text, /trace_id|# EOF|le="1\.0"/);
  assert.match(text, /le="1"\} /);
});

Deno.test("both formats have the same samples, but for the notation of bounds", async () => {
  await using backend = new Backend();
  await using collector = await OtlpCollector.start();
  using observed = new ObservedProxy([backend.port], { traces: { url: collector.url } });
  using client = await Peer.connect(observed.port);
  for (let i = 0; i < 3; i++) await client.ask(REQUEST);
  await client.ask("GET /none HTTP/1.1\r\nHost: a\r\n\r\n");
  const { values } = await observed.openMetrics();
  const text = parseExposition(await textOf(observed.hub));
  const renamed = [...text.keys()].map((key) => key.replace(/le="(\d+)"/, 'le="$1.0"'));
  assert.deepEqual([...values.keys()], renamed);
});

Deno.test("requests that are not sampled are no exemplars, even if they failed and have spans", async () => {
  await using collector = await OtlpCollector.start();
  const traces = { url: collector.url, ratio: 0 };
  using observed = new ObservedProxy([], { traces });
  using client = await Peer.connect(observed.port);
  assert.equal(statusOf(await client.ask(REQUEST)), 503);
  assert.equal((await observed.openMetrics()).exemplars.size, 0);
});

Deno.test("exemplars of workers are in a scrape, for scrapers that accept OpenMetrics", async () => {
  await using backend = new Backend();
  await using collector = await OtlpCollector.start();
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotOf([backend.port]),
    args: [
      "--allow-loopback-upstreams",
      "--workers=2",
      ...collector.flags,
    ],
  });
  for (let i = 0; i < 8; i++) {
    using client = await Peer.connect(proxy.httpPort);
    await client.ask(REQUEST);
  }
  const scrape = async (accept: string) =>
    await fetch(`http://127.0.0.1:${proxy.adminPort}/metrics`, { headers: { accept } });
  await eventually("exemplar", async () => {
    const response = await scrape(OPENMETRICS);
    assert.match(
      response.headers.get("content-type")!,
      /^application\/openmetrics-text; version=1\.0\.0/,
    );
    return parseOpenMetrics(await response.text()).exemplars.size > 0;
  });
  const plain = await scrape("text/plain");
  assert.match(plain.headers.get("content-type")!, /^text\/plain; version=0\.0\.4/);
  parseExposition(await plain.text());
});

Deno.test("without traces, metrics are in the text format, whatever a scraper accepts", async () => {
  await using backend = new Backend();
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotOf([backend.port]),
    args: ["--allow-loopback-upstreams"],
  });
  const response = await fetch(`http://127.0.0.1:${proxy.adminPort}/metrics`, {
    headers: { accept: OPENMETRICS },
  });
  assert.match(response.headers.get("content-type")!, /^text\/plain; version=0\.0\.4/);
  parseExposition(await response.text());
});
