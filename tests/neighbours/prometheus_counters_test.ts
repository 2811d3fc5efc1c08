/**
 * Metrics of proxies as a real Prometheus sees them, while configurations change, workers are replaced and
 * a rollout replaces a proxy: no counter is reset but by a new process, and no rate is below zero. And
 * labels of any text.
 */
import assert from "node:assert/strict";
import { SnapshotDiffer } from "../../proxy/config/diff.ts";
import { TelemetryHub } from "../../proxy/telemetry/hub.ts";
import { LineOutput } from "../../shared/log.ts";
import { eventually } from "../cluster/support/condition.ts";
import { freePort } from "../support/ports.ts";
import { Backend } from "../support/backend.ts";
import { snapshotOf as fleetSnapshot, startFleet } from "../support/fleet.ts";
import { ObservedProxy, textOf } from "../support/observed_proxy.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { statusAt } from "../support/request_load.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { Prometheus } from "./prometheus.ts";

/** What no test is longer than. */
const RANGE = "[30m]";

/** Names of our counters, the parts of histograms among them, and of all of our metrics. */
async function namesIn(prometheus: Prometheus): Promise<{ counters: string[]; all: string[] }> {
  const names = await prometheus.get<string[]>("label/__name__/values");
  const all = names.filter((name) => name.startsWith("pingress_"));
  return { all, counters: all.filter((name) => /_(total|count|sum|bucket)$/.test(name)) };
}

/** Series of our counters that have been reset, each as often as that. */
async function resetsIn(prometheus: Prometheus): Promise<string[]> {
  const { counters } = await namesIn(prometheus);
  assert.ok(counters.includes("pingress_requests_total") && counters.length > 10);
  const found: string[] = [];
  for (const name of counters) {
    for (const { labels, value } of await prometheus.query(`resets(${name}${RANGE}) > 0`)) {
      found.push(`${name} ${JSON.stringify(labels)} ${value}`);
    }
  }
  return found;
}

/** Our metrics that have been below zero. */
async function negativesIn(prometheus: Prometheus): Promise<string[]> {
  const { all } = await namesIn(prometheus);
  const found: string[] = [];
  for (const name of all) {
    const below = await prometheus.query(`min_over_time(${name}${RANGE}) < 0`);
    if (below.length > 0) found.push(name);
  }
  return found;
}

/** `/metrics`, as the admin port serves it. */
function metricsOf(hub: TelemetryHub): Deno.HttpServer<Deno.NetAddr> {
  const headers = { "content-type": "text/plain; version=0.0.4; charset=utf-8" };
  return Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async () => new Response(await textOf(hub), { headers }),
  );
}

async function requestsIn(prometheus: Prometheus): Promise<number> {
  const [sample] = await prometheus.query("sum(pingress_requests_total)");
  return sample?.value ?? 0;
}

Deno.test("Prometheus sees no counter reset while routes change and workers are replaced", async () => {
  const test = "counters over reloads";
  const backend = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(),
  );
  const output = new LineOutput({ write: (bytes) => Promise.resolve(bytes.length) });
  const hub = new TelemetryHub({ accessLog: null, output });
  const fleet = startFleet(2, { hub });
  const admin = metricsOf(hub);
  try {
    const differ = new SnapshotDiffer();
    const apply = (epoch: string, count: number) => {
      const any = fleetSnapshot(backend.addr.port, epoch);
      const [route] = snapshotOf([]).routes;
      const action = any.defaultAction!;
      const routes = Array.from({ length: count }, (_, i) => {
        const host = `host-${i}.example.com`;
        return { ...route, id: `${host} Prefix /`, host, action };
      });
      const snapshot = { ...any, routes };
      hub.changes(differ.diff(snapshot, []));
      fleet.serve(snapshot, []);
      hub.snapshotApplied(snapshot, [], 0);
    };
    apply("file", 50);
    const { http: [{ port }] } = await fleet.listen({
      http: [{ hostname: "127.0.0.1", port: 0 }],
      https: [],
    });
    await using prometheus = await Prometheus.start(test, {
      targets: [{ job: "proxies", port: admin.addr.port }],
    });
    if (prometheus === null) return;
    await prometheus.scraped(1);
    let answered = 0;
    const load = async (count: number) => {
      for (let i = 0; i < count; i++) {
        if (await statusAt(port, { host: `host-${i % 50}.example.com` }) !== 0) answered++;
      }
    };
    /** Each has been counted, and scraped. */
    const seen = () =>
      eventually(`${answered} requests`, async () => await requestsIn(prometheus) >= answered);
    await load(200);
    await seen();
    for (let i = 1; i <= 3; i++) {
      apply("file", 50 + i);
      await load(100);
      await seen();
    }
    apply("throw", 54);
    while (fleet.restarts < 2) await load(2);
    apply("file", 50);
    await load(200);
    await seen();
    assert.deepEqual(await resetsIn(prometheus), []);
    assert.deepEqual(await negativesIn(prometheus), []);
    console.log(`${answered} requests, ${fleet.restarts} workers replaced: no reset`);
  } finally {
    fleet.close();
    await Promise.all([backend.shutdown(), admin.shutdown()]);
  }
});

Deno.test("Prometheus reads labels of 253 characters, with quotes, newlines and what is no text", async () => {
  const test = "odd labels";
  await using backend = new Backend();
  const long = `${"a".repeat(61)}.`.repeat(4) + "tests";
  assert.equal(long.length, 253);
  const routes = [
    { id: long, host: long },
    { id: 'a"b\\c\nd\r\u2028\u0000é{}=,', host: "quotes.test" },
    { id: "\ud800", host: "surrogate.test" },
  ];
  using observed = new ObservedProxy([backend.port], { series: { by: "route" } });
  const snapshot = snapshotOf([backend.port]);
  const [route] = snapshot.routes;
  observed.apply({ ...snapshot, routes: routes.map((each) => ({ ...route, ...each })) });
  for (const { host } of routes) assert.equal(await statusAt(observed.port, { host }), 200);
  const admin = metricsOf(observed.hub);
  try {
    await using prometheus = await Prometheus.start(test, {
      targets: [{ job: "proxies", port: admin.addr.port }],
    });
    if (prometheus === null) return;
    await prometheus.scraped(1);
    const samples = await prometheus.query("pingress_requests_total > 0");
    const shown = samples.map(({ labels: { host, route }, value }) => [host, route, value]);
    const expected = routes.map(({ host, id }) => [host, id.toWellFormed(), 1]);
    assert.deepEqual(shown.sort(), expected.sort());
  } finally {
    await admin.shutdown();
  }
});

Deno.test("a proxy that is replaced at its address is one reset, and no rate is below zero", async () => {
  const test = "counters over a rollout";
  await using backend = new Backend();
  const adminPort = freePort();
  const start = () =>
    ProxyProcess.start({
      snapshot: snapshotOf([backend.port]),
      args: ["--allow-loopback-upstreams", "--workers=2", `--admin=127.0.0.1:${adminPort}`],
    });
  await using prometheus = await Prometheus.start(test, {
    targets: [{ job: "proxies", port: adminPort }],
  });
  if (prometheus === null) return;
  const requests = async (port: number, count: number) => {
    for (let i = 0; i < count; i++) assert.equal(await statusAt(port), 200);
  };
  {
    await using first = await start();
    await requests(first.httpPort, 100);
    await eventually("100 requests", async () => await requestsIn(prometheus) === 100);
    first.signal("SIGTERM");
    assert.equal(await first.ended, 0);
  }
  await using second = await start();
  await requests(second.httpPort, 10);
  await eventually("10 requests", async () => await requestsIn(prometheus) === 10);
  await requests(second.httpPort, 10);
  await eventually("20 requests", async () => await requestsIn(prometheus) === 20);
  const resets = await prometheus.query(`resets(pingress_requests_total${RANGE})`);
  assert.deepEqual(resets.map(({ value }) => value), [1]);
  const rates = await prometheus.query(
    "min(min_over_time((sum(rate(pingress_requests_total[10s])))[10m:1s]))",
  );
  assert.ok(rates.length === 1 && rates[0].value >= 0, JSON.stringify(rates));
  assert.deepEqual(await negativesIn(prometheus), []);
});
