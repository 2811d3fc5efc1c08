/** Exemplars of a real proxy, stored by a real Prometheus. */
import assert from "node:assert/strict";
import { eventually } from "../cluster/support/condition.ts";
import { Backend, Peer, statusOf } from "../support/backend.ts";
import { OtlpCollector } from "../support/otlp_collector.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { Prometheus } from "./prometheus.ts";

const TEST = "Prometheus stores the traces of requests beside their durations";
const SERVER = 2;
const REQUESTS = 20;

interface ShownExemplars {
  readonly seriesLabels: Readonly<Record<string, string>>;
  readonly exemplars: readonly {
    readonly labels: Readonly<Record<string, string>>;
    /** In seconds, as text. */
    readonly value: string;
    readonly timestamp: number;
  }[];
}

Deno.test(TEST, async () => {
  await using prometheus = await Prometheus.start(TEST, {
    flags: ["--enable-feature=exemplar-storage"],
  });
  if (prometheus === null) return;
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
  await prometheus.scrape([{ job: "proxy", port: proxy.adminPort }]);
  for (let i = 0; i < REQUESTS; i++) {
    using client = await Peer.connect(proxy.httpPort);
    assert.equal(statusOf(await client.ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n")), 200);
  }
  const query = new URLSearchParams({
    query: "pingress_request_duration_seconds_bucket",
    start: String(Date.now() / 1000 - 3600),
    end: String(Date.now() / 1000 + 3600),
  });
  const shown = await eventually("exemplars in Prometheus", async () => {
    const shown = await prometheus.get<readonly ShownExemplars[]>(`query_exemplars?${query}`);
    return shown.length > 0 ? shown : null;
  });
  const traces = await eventually("exported spans", () => {
    const spans = collector.ofKind(SERVER);
    return spans.length === REQUESTS ? new Set(spans.map(({ traceId }) => traceId)) : null;
  });
  for (const { seriesLabels: { host, le }, exemplars } of shown) {
    assert.equal(host, "*");
    for (const { labels, value } of exemplars) {
      assert.deepEqual(Object.keys(labels), ["trace_id"]);
      assert.ok(traces.has(labels.trace_id), labels.trace_id);
      assert.ok(Number(value) <= Number(le.replace("+Inf", "Infinity")), `${value} in ${le}`);
    }
  }
  // Prometheus would count those that it cannot take, and say that the target is down.
  assert.deepEqual((await prometheus.query("up")).map(({ value }) => value), [1]);
  // Counters have the same names as in the text format.
  const counted = await prometheus.query("sum(pingress_requests_total)");
  assert.deepEqual(counted.map(({ value }) => value), [REQUESTS]);
});
