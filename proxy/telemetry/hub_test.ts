import assert from "node:assert/strict";
import { parseExposition } from "../../tests/support/exposition_parser.ts";
import { textOf } from "../../tests/support/observed_proxy.ts";
import { Random } from "../../tests/fuzz/random.ts";
import { LineOutput } from "../../shared/log.ts";
import {
  type Route,
  type Snapshot,
  SNAPSHOT_FORMAT,
  type Upstream,
} from "../../shared/snapshot/types.ts";
import { ExchangeRecord } from "../http/message.ts";
import { SnapshotDiffer } from "../config/diff.ts";
import { DEFAULT_SERIES, type SeriesOptions } from "./series_options.ts";
import { TelemetryHub, type WorkerTelemetry } from "./hub.ts";
import { type HubMessage, Telemetry } from "./telemetry.ts";

function snapshotWith(hosts: readonly string[]): Snapshot {
  const routes: Route[] = hosts.map((host) => ({
    id: host,
    host: "app.example.com",
    match: { path: { type: "Prefix", value: "/" } },
    action: { kind: "reply", status: 404, reason: "" },
    origin: { kind: "Ingress", namespace: "default", name: "web", field: "" },
  }));
  return {
    format: SNAPSHOT_FORMAT,
    version: { epoch: "file", seen: { Ingress: "90071992547409931" } },
    routes,
    defaultAction: null,
    upstreams: [],
    certificates: [],
    defaultCertificate: null,
  };
}

/** A hub with a clock, and workers whose messages pass as posted ones do: copied, and later. */
class Process {
  readonly #differ = new SnapshotDiffer();
  #places = 0;
  now = 0;
  readonly output = new LineOutput({ write: (bytes) => Promise.resolve(bytes.length) });
  readonly hub: TelemetryHub;

  constructor(series: Partial<SeriesOptions> = { by: "route" }) {
    this.hub = new TelemetryHub({
      accessLog: null,
      series: { ...DEFAULT_SERIES, ...series },
      output: this.output,
      now: () => this.now,
    });
  }

  comes(snapshot: Snapshot): void {
    this.hub.changes(this.#differ.diff(snapshot, []));
  }

  start(
    place = this.#places++,
  ): { telemetry: Telemetry; attached: WorkerTelemetry; deliver: () => void } {
    const waiting: HubMessage[] = [];
    const attached = this.hub.attach(
      (message) => waiting.push(structuredClone(message)),
      place,
    );
    const telemetry = new Telemetry(structuredClone(attached.setup), () => {});
    const deliver = () => waiting.splice(0).forEach((message) => telemetry.receive(message));
    return { telemetry, attached, deliver };
  }

  async series(): Promise<Map<string, number>> {
    return parseExposition(await textOf(this.hub));
  }
}

/** Routes follow their slots at once. */
function routed({ metrics }: Telemetry, record: ExchangeRecord, id: string | null): void {
  metrics.routesInForce();
  metrics.routed(record, metrics.countersOf(id));
}

function end(telemetry: Telemetry, id: string | null, more: Partial<ExchangeRecord> = {}): void {
  const record = new ExchangeRecord();
  routed(telemetry, record, id);
  Object.assign(record, {
    status: 200,
    duration: 3,
    bytesIn: 10,
    bytesOut: 100,
    tries: 1,
    ...more,
  });
  telemetry.metrics.exchangeEnded(record, "GET");
}

/** Labels of a route's series. */
function labels(route: string): string {
  return `namespace="default",host="app.example.com",route="${route}"`;
}

/** Labels of a series that is no route's. */
function reserved(word: string): string {
  return `namespace="",host="",route="${word}"`;
}

function gets(labels: string): string {
  return `pingress_requests_total{${labels},method="GET",status="2xx"}`;
}

const GET_A = gets(labels("a"));
const GET_B = gets(labels("b"));
const GET_OTHER = gets(reserved("other"));

Deno.test("counters are summed over workers, and survive the replacement of a worker", async () => {
  const process = new Process();
  process.comes(snapshotWith(["a"]));
  const one = process.start();
  const two = process.start();
  for (const { telemetry } of [one, two]) {
    end(telemetry, "a", { error: "client_gone" });
    telemetry.metrics.connectionOpened();
    telemetry.metrics.tunnelOpened();
  }
  const before = await process.series();
  assert.equal(before.get(GET_A), 2);
  assert.equal(before.get("pingress_connections_open"), 2);
  assert.equal(before.get("pingress_workers"), 2);
  one.attached.detach();
  one.attached.detach();
  process.hub.workerRestarted();
  const three = process.start();
  end(three.telemetry, "a");
  const after = await process.series();
  assert.equal(after.get(GET_A), 3);
  assert.equal(after.get('pingress_request_errors_total{code="client_gone"}'), 2);
  assert.equal(after.get(`pingress_request_duration_seconds_count{${labels("a")}}`), 3);
  assert.equal(after.get(`pingress_response_bytes_total{${labels("a")}}`), 300);
  assert.equal(after.get("pingress_connections_total"), 2);
  assert.equal(after.get("pingress_connections_open"), 1);
  assert.equal(after.get("pingress_tunnels_open"), 1);
  assert.equal(after.get("pingress_worker_restarts_total"), 1);
});

Deno.test("closed HTTP/2 connections are counted by reason", async () => {
  const process = new Process();
  const { telemetry } = process.start();
  telemetry.metrics.http2Ended("resets");
  telemetry.metrics.http2Ended("resets");
  telemetry.metrics.http2Ended("compression_error");
  const ends = [...await process.series()]
    .filter(([key, value]) => key.startsWith("pingress_http2_connections_ended") && value !== 0);
  assert.deepEqual(ends, [
    ['pingress_http2_connections_ended_total{reason="resets"}', 2],
    ['pingress_http2_connections_ended_total{reason="compression_error"}', 1],
  ]);
});

Deno.test("a route that reuses a slot counts from zero, in every worker", async () => {
  const process = new Process();
  process.comes(snapshotWith(["a"]));
  const workers = [process.start(), process.start(), process.start()];
  for (const { telemetry } of workers) end(telemetry, "a");
  workers[2].attached.detach();
  process.comes(snapshotWith([]));
  process.now += 60_000;
  process.comes(snapshotWith(["b"]));
  for (const { deliver } of workers) deliver();
  const cleared = await process.series();
  assert.deepEqual([...cleared.keys()].filter((key) => key.includes("_requests_total{")), []);
  end(workers[0].telemetry, "b");
  end(workers[1].telemetry, "b");
  const series = await process.series();
  assert.equal(series.get(GET_A), undefined);
  assert.equal(series.get(GET_B), 2);
  assert.equal(series.get(`pingress_request_bytes_total{${labels("b")}}`), 20);
});

Deno.test("an exchange that outlives its route counts as other, never for another route", async () => {
  const process = new Process();
  process.comes(snapshotWith(["a"]));
  const { telemetry, deliver } = process.start();
  const record = new ExchangeRecord();
  routed(telemetry, record, "a");
  process.comes(snapshotWith([]));
  process.now += 60_000;
  process.comes(snapshotWith(["b"]));
  deliver();
  record.status = 200;
  telemetry.metrics.exchangeEnded(record, "GET");
  const series = await process.series();
  assert.equal(series.get(GET_OTHER), 1);
  assert.equal(series.get(GET_B), undefined);
});

Deno.test("a hundred thousand routes are distinguished, whenever a worker starts", async () => {
  const process = new Process({ by: "route", limit: 100_000 });
  const early = process.start();
  const ids = Array.from({ length: 100_000 }, (_, i) => `host-${i}.example.com Prefix /`);
  process.comes(snapshotWith(ids));
  early.deliver();
  const late = process.start();
  for (const { telemetry } of [early, late]) {
    end(telemetry, ids[0]);
    end(telemetry, ids[99_999]);
  }
  const series = await process.series();
  for (const id of [ids[0], ids[99_999]]) {
    assert.equal(series.get(gets(labels(id))), 2);
  }
  assert.equal(
    [...series.keys()].filter((key) => key.startsWith("pingress_requests_total")).length,
    2,
  );
});

Deno.test("methods, statuses and durations are counted under the right labels", async () => {
  const process = new Process();
  process.comes(snapshotWith(["a"]));
  const { telemetry } = process.start();
  const record = new ExchangeRecord();
  routed(telemetry, record, "a");
  for (
    const [method, status, label] of [["BREW", 418, "4xx"], ["", 0, "none"], ["PUT", 599, "5xx"]]
  ) {
    record.status = status as number;
    telemetry.metrics.exchangeEnded(record, method as string);
    const key = `method="${method === "PUT" ? "PUT" : "OTHER"}",status="${label}"`;
    assert.equal((await process.series()).get(`pingress_requests_total{${labels("a")},${key}}`), 1);
  }
  for (const duration of [1, 1.001, 10_000, 10_001]) {
    end(telemetry, null, { duration });
  }
  const series = await process.series();
  const bucket = (le: string) =>
    series.get(`pingress_request_duration_seconds_bucket{${reserved("default")},le="${le}"}`);
  assert.deepEqual(["0.001", "0.005", "10", "+Inf"].map(bucket), [1, 2, 3, 4]);
});

Deno.test("names of routes and hosts cannot break out of their labels", async () => {
  const process = new Process();
  const id = 'a"} 1\nevil_total{x="\\';
  process.comes(snapshotWith([id]));
  const { telemetry } = process.start();
  end(telemetry, id);
  process.hub.snapshotApplied(snapshotWith([id]), [
    { hosts: ['"\n\\'], isDefault: false, name: "\n", validTo: 0 },
  ], 0);
  const keys = [...(await process.series()).keys()];
  assert.ok(!keys.some((key) => key.startsWith("evil")));
  assert.ok(keys.some((key) => key.includes('route="a\\"} 1\\nevil_total{x=\\"\\\\"')));
});

Deno.test("the active snapshot, its loads and its certificates have metrics", async () => {
  const process = new Process();
  process.hub.snapshotRefused();
  assert.equal((await process.series()).get("pingress_snapshot_age_seconds"), undefined);
  const snapshot = snapshotWith(["a", "b"]);
  process.comes(snapshot);
  const day = 24 * 60 * 60 * 1000;
  const term = { isDefault: false, name: "test/web" };
  process.hub.snapshotApplied(snapshot, [
    { ...term, hosts: ["a.example.com", "*.b.example.com"], validTo: 100 * day },
    { ...term, hosts: ["late.example.com"], validTo: 9 * day },
    { name: "/etc/default.crt", isDefault: true, hosts: [], validTo: 13 * day },
    { ...term, isDefault: true, hosts: ["both.example.com"], validTo: 14 * day },
    { ...term, hosts: [], validTo: 12 * day },
    { ...term, hosts: [], validTo: 11 * day },
    { ...term, name: "test/other", hosts: [], validTo: 15 * day },
  ], 3);
  process.now += 1500;
  const text = await textOf(process.hub, 10 * day);
  // A number would have lost its last digit.
  assert.match(text, /pingress_snapshot_resource_version\{kind="Ingress"\} 90071992547409931\n/);
  const series = parseExposition(text);
  assert.equal(series.get("pingress_snapshot_age_seconds"), 1.5);
  assert.equal(series.get("pingress_files_applied_age_seconds"), 1.5);
  assert.equal(series.get('pingress_snapshot_info{epoch="file"}'), 1);
  assert.equal(series.get("pingress_snapshot_routes"), 2);
  assert.equal(series.get('pingress_snapshot_loads_total{result="applied"}'), 1);
  assert.equal(series.get('pingress_snapshot_loads_total{result="refused"}'), 1);
  assert.equal(series.get("pingress_certificates_refused"), 3);
  const left = (hosts: string, certificate = "test/web") =>
    series.get(
      `pingress_certificate_days_left{hosts="${hosts}",certificate="${certificate}"}`,
    );
  assert.equal(left("a.example.com,*.b.example.com"), 90);
  assert.equal(left("late.example.com"), -1);
  assert.equal(left("*", "/etc/default.crt"), 3);
  assert.equal(left("*,both.example.com"), 4);
  assert.equal(left(""), 1, "the one that expires first");
  assert.equal(left("", "test/other"), 5);
});

/** Routes of this namespace, `<host> <path>` each, to Services of the same names as the hosts. */
function webSnapshot(ids: readonly string[], namespace = "shop"): Snapshot {
  const routes: Route[] = ids.map((id) => {
    const host = id.split(" ")[0];
    return {
      id,
      host,
      match: { path: { type: "Prefix", value: "/" } },
      action: { kind: "forward", backends: [{ upstream: `${namespace}/${host}:80` }] },
      origin: { kind: "Ingress", namespace, name: "web", field: "" },
    };
  });
  const hosts = [...new Set(routes.map(({ host }) => host))];
  const upstreams: Upstream[] = hosts.map((host, i) => ({
    id: `${namespace}/${host}:80`,
    protocol: "http",
    addresses: {
      kind: "endpoints",
      endpoints: [1, 2].map((last) => ({
        address: `10.0.${i >> 8}.${last}`,
        port: 8000 + i % 256,
      })),
    },
  }));
  return { ...snapshotWith([]), routes, upstreams };
}

const SHOP = 'namespace="shop",host="a.test"';

Deno.test("by default the routes of a host count together, and their number adds no series", async () => {
  const process = new Process({});
  process.comes(webSnapshot(["a.test /x", "a.test /y", "b.test /"]));
  const { telemetry, deliver } = process.start();
  end(telemetry, "a.test /x");
  end(telemetry, "a.test /y");
  end(telemetry, "b.test /");
  const few = await process.series();
  assert.equal(few.get(gets(SHOP)), 2);
  assert.equal(few.get(gets('namespace="shop",host="b.test"')), 1);
  const more = Array.from({ length: 1_000 }, (_, i) => `a.test /path-${i}`);
  process.comes(webSnapshot(["a.test /y", "b.test /", ...more]));
  deliver();
  for (const id of more) end(telemetry, id);
  const many = await process.series();
  assert.equal(many.get(gets(SHOP)), 1_002);
  assert.deepEqual([...many.keys()], [...few.keys()]);
  for (const id of ["a.test /y", more[0]]) {
    assert.equal(telemetry.metrics.idOf(telemetry.metrics.countersOf(id)), id);
  }
});

Deno.test("the series of a host go with its last route, and those of a Service with its last port", async () => {
  const process = new Process({});
  const both = webSnapshot(["a.test /", "b.test /"]);
  const [a] = both.upstreams;
  process.comes({ ...both, upstreams: [...both.upstreams, { ...a, id: "shop/a.test:81" }] });
  const { telemetry, deliver } = process.start();
  const ofService = (id: string) =>
    telemetry.metrics.upstreamResponded(telemetry.metrics.countersOfUpstream(id), 200, 3);
  end(telemetry, "a.test /");
  ofService("shop/a.test:80");
  ofService("shop/a.test:81");
  const service =
    'pingress_upstream_requests_total{namespace="shop",service="a.test",status="2xx"}';
  assert.equal((await process.series()).get(service), 2);
  process.comes({ ...both, upstreams: [{ ...a, id: "shop/a.test:81" }] });
  deliver();
  ofService("shop/a.test:81");
  assert.equal((await process.series()).get(service), 3);
  process.comes(webSnapshot(["b.test /"]));
  deliver();
  const left = [...(await process.series()).keys()];
  assert.deepEqual(left.filter((key) => key.includes("a.test")), []);
});

Deno.test("a route that another namespace takes over counts from zero there", async () => {
  for (const by of ["host", "route"] as const) {
    const process = new Process({ by });
    process.comes(webSnapshot(["a.test /"]));
    const { telemetry, deliver } = process.start();
    end(telemetry, "a.test /");
    process.comes(webSnapshot(["a.test /"], "other"));
    deliver();
    telemetry.metrics.routesInForce();
    end(telemetry, "a.test /");
    const counted = [...await process.series()]
      .filter(([key]) => key.startsWith("pingress_requests_total"));
    const route = by === "route" ? ',route="a.test /"' : "";
    assert.deepEqual(counted, [[gets(`namespace="other",host="a.test"${route}`), 1]]);
  }
});

Deno.test("hosts and Services beyond --metrics-limit count as other, and a metric says how many", async () => {
  const process = new Process({ limit: 2 });
  const hosts = ["a.test", "b.test", "c.test", "d.test"];
  process.comes(webSnapshot(hosts.map((host) => `${host} /`)));
  const { telemetry, deliver } = process.start();
  const count = () => {
    for (const host of hosts) {
      end(telemetry, `${host} /`);
      const counters = telemetry.metrics.countersOfUpstream(`shop/${host}:80`);
      telemetry.metrics.upstreamResponded(counters, 200, 3);
    }
  };
  count();
  const series = await process.series();
  const service = (labels: string) => `pingress_upstream_requests_total{${labels},status="2xx"}`;
  const entries = (kind: string, state: string) =>
    `pingress_metrics_entries{of="${kind}",state="${state}"}`;
  assert.equal(series.get(gets(SHOP)), 1);
  assert.equal(series.get(gets('namespace="",host="other"')), 2);
  assert.equal(series.get(service('namespace="shop",service="a.test"')), 1);
  assert.equal(series.get(service('namespace="",service="other"')), 2);
  for (const kind of ["host", "service"]) {
    assert.deepEqual([series.get(entries(kind, "own")), series.get(entries(kind, "other"))], [
      2,
      2,
    ]);
  }
  // With room, those that are there already get series, without a change of their own.
  process.comes(webSnapshot(["c.test /", "d.test /"]));
  process.now += 60_000;
  process.comes(webSnapshot(["c.test /", "d.test /", "d.test /new"]));
  deliver();
  telemetry.metrics.routesInForce();
  end(telemetry, "c.test /");
  const later = await process.series();
  assert.equal(later.get(gets('namespace="shop",host="c.test"')), 1);
  assert.equal(later.get(entries("host", "other")), 0);
});

Deno.test("a hundred thousand routes with series of their own take no more than --metrics-limit", async () => {
  const process = new Process({ by: "route", limit: 1_000 });
  const ids = Array.from({ length: 100_000 }, (_, i) => `host-${i % 500}.test /${i}`);
  process.comes({ ...webSnapshot(ids), upstreams: [] });
  const { telemetry } = process.start();
  for (const id of ids) end(telemetry, id);
  const series = await process.series();
  const counted = [...series].filter(([key]) => key.startsWith("pingress_requests_total"));
  assert.equal(counted.length, 1_001);
  assert.equal(counted.reduce((sum, [, count]) => sum + count, 0), 100_000);
  assert.equal(series.get('pingress_metrics_entries{of="route",state="other"}'), 99_000);
  assert.equal(
    [...series.keys()].filter((key) => key.startsWith("pingress_route_info")).length,
    1_000,
  );
});

Deno.test("pingress_route_info says what a route is, also after it has changed", async () => {
  const process = new Process({ by: "route" });
  const first = webSnapshot(["a.test /"]);
  const [route] = first.routes;
  const info = async () =>
    [...(await process.series()).keys()].filter((key) => key.startsWith("pingress_route_info"));
  const labels = 'namespace="shop",host="a.test",route="a.test /"';
  process.comes(first);
  assert.deepEqual(await info(), [
    `pingress_route_info{${labels},kind="Ingress",name="web",service="a.test"}`,
  ]);
  process.comes({
    ...first,
    routes: [{
      ...route,
      origin: { ...route.origin, kind: "HTTPRoute", name: "split" },
      action: {
        kind: "forward",
        backends: [{ upstream: "shop/a.test:80", weight: 9 }, { upstream: "shop/canary:80" }],
      },
    }],
  });
  assert.deepEqual(await info(), [
    `pingress_route_info{${labels},kind="HTTPRoute",name="split",service="a.test,canary"}`,
  ]);
  process.comes(webSnapshot([]));
  assert.deepEqual(await info(), []);
});

Deno.test("endpoints of a Service are ready or ejected, by the worker that has ejected most", async () => {
  const process = new Process({});
  const web = webSnapshot(["a.test /"]);
  const [a] = web.upstreams;
  const named = { kind: "dns", name: "example.com", port: 80 } as const;
  const snapshot: Snapshot = {
    ...web,
    upstreams: [
      a,
      // The same endpoints, spoken to in another way.
      { ...a, id: "shop/a.test:80+https", protocol: "https" },
      { id: "shop/empty:80", protocol: "http", addresses: { kind: "endpoints", endpoints: [] } },
      { id: "shop/named:80", protocol: "http", addresses: named },
    ],
  };
  process.comes(snapshot);
  process.hub.snapshotApplied(snapshot, [], 0);
  const workers = [process.start(0), process.start(1)];
  const eject = (worker: number, more: number) => {
    const { metrics } = workers[worker].telemetry;
    metrics.endpointsEjected(metrics.countersOfUpstream("shop/a.test:80"), more);
  };
  const states = async () =>
    [...await process.series()].filter(([key]) => key.startsWith("pingress_endpoints"))
      .map(([key, count]) => `${/service="([^"]*)",state="([^"]*)"/.exec(key)!.slice(1)} ${count}`);
  assert.deepEqual(await states(), ["a.test,ready 2", "empty,ready 0"]);
  eject(0, 1);
  eject(1, 1);
  assert.deepEqual(await states(), ["a.test,ready 1", "a.test,ejected 1", "empty,ready 0"]);
  eject(0, -1);
  assert.deepEqual(await states(), ["a.test,ready 1", "a.test,ejected 1", "empty,ready 0"]);
  workers[1].attached.detach();
  assert.deepEqual(await states(), ["a.test,ready 2", "empty,ready 0"]);
});

Deno.test("endpoints are counted some Services at a time, and once for each snapshot", () => {
  const process = new Process({});
  let counted = 0;
  const web = webSnapshot(Array.from({ length: 1000 }, (_, i) => `${i}.test /`));
  const snapshot = {
    ...web,
    upstreams: web.upstreams.map((upstream) => ({
      ...upstream,
      addresses: {
        kind: "endpoints" as const,
        endpoints: new Proxy([{ address: "10.0.0.1", port: 80 }], {
          get(list, key) {
            if (key === Symbol.iterator) counted++;
            return Reflect.get(list, key);
          },
        }),
      },
    })),
  };
  process.comes(web);
  process.hub.snapshotApplied(snapshot, [], 0);
  const longestTurn = (): number => {
    let longest = 0;
    let before = counted;
    const pieces = process.hub.scrape({
      ...{ version: "1", deno: "2", startedAt: 0, now: 0, memory: 1, cpu: 1, limits: {} },
    });
    for (let done: boolean | undefined = false; !done;) {
      done = pieces.next().done;
      longest = Math.max(longest, counted - before);
      before = counted;
    }
    return longest;
  };
  assert.ok(longestTurn() <= 64);
  assert.equal(counted, 1000);
  longestTurn();
  assert.equal(counted, 1000);
});

Deno.test("ejected endpoints of a Service that gets series of its own are shown there", async () => {
  const process = new Process({ limit: 1 });
  const both = webSnapshot(["a.test /", "b.test /"]);
  process.comes(both);
  const { telemetry: { metrics }, deliver } = process.start();
  metrics.endpointsEjected(metrics.countersOfUpstream("shop/b.test:80"), 1);
  const later = webSnapshot(["b.test /"]);
  process.comes(later);
  process.now += 60_000;
  process.comes({
    ...later,
    upstreams: [...later.upstreams, { ...later.upstreams[0], id: "shop/b.test:81" }],
  });
  deliver();
  process.hub.snapshotApplied(later, [], 0);
  const ejected = 'pingress_endpoints{namespace="shop",service="b.test",state="ejected"}';
  assert.equal((await process.series()).get(ejected), 1);
  metrics.endpointsEjected(metrics.countersOfUpstream("shop/b.test:80"), -1);
  assert.equal((await process.series()).get(ejected), undefined);
});

Deno.test("no counter goes down while a worker is replaced in the middle of a scrape", async () => {
  const process = new Process({});
  const hosts = Array.from({ length: 200 }, (_, i) => `host-${i}.test`);
  process.comes(webSnapshot(hosts.map((host) => `${host} /`)));
  const worker = process.start();
  process.start(1);
  for (const host of hosts) end(worker.telemetry, `${host} /`);
  const before = await process.series();
  const about = { version: "", deno: "", startedAt: 0, now: 0, memory: 0, cpu: 0, limits: {} };
  let text = "";
  const pieces = process.hub.scrape(about);
  for (let next = pieces.next(); !next.done; next = pieces.next()) {
    text += next.value;
    if (text.includes("pingress_requests_total{")) worker.attached.detach();
  }
  const during = parseExposition(text);
  const after = await process.series();
  for (const [key, count] of before) {
    if (/^(process|pingress_worker)_/.test(key) || !/_(total|count|sum|bucket)\b/.test(key)) {
      continue;
    }
    assert.equal(during.get(key), count, key);
    assert.equal(after.get(key), count, key);
  }
});

Deno.test("no sum goes down in its last digit when one of several workers is replaced", async () => {
  const process = new Process({});
  const hosts = Array.from({ length: 200 }, (_, i) => `host-${i}.test`);
  process.comes(webSnapshot(hosts.map((host) => `${host} /`)));
  const workers = Array.from({ length: 4 }, () => process.start());
  const random = new Random(4);
  for (const { telemetry } of workers) {
    for (const host of hosts) {
      const duration = random.below(5_000_000) / 997;
      end(telemetry, `${host} /`, { duration });
      const counters = telemetry.metrics.countersOfUpstream(`shop/${host}:80`);
      telemetry.metrics.upstreamResponded(counters, 200, duration);
    }
  }
  const sums = async () => [...await process.series()].filter(([key]) => key.includes("_sum{"));
  const before = await sums();
  assert.equal(before.length, 2 * hosts.length);
  workers[2].attached.detach();
  assert.deepEqual(await sums(), before);
});

Deno.test("a worker's CPU time continues from that of the worker that it replaces", async () => {
  const process = new Process({});
  const first = process.start(3);
  first.telemetry.metrics.state("cpuSeconds", 5);
  first.telemetry.metrics.state("heapBytes", 1_000);
  first.attached.detach();
  const second = process.start(3);
  second.telemetry.metrics.state("cpuSeconds", 2);
  const series = await process.series();
  assert.equal(series.get('pingress_worker_cpu_seconds_total{worker="3"}'), 7);
  assert.equal(series.get('pingress_worker_heap_bytes{worker="3"}'), 0);
});

Deno.test("a clock that jumps changes the days left of certificates, and nothing else", async () => {
  const process = new Process({});
  const snapshot = webSnapshot(["a.test /"]);
  process.comes(snapshot);
  const { telemetry } = process.start();
  const day = 24 * 60 * 60 * 1000;
  const term = { hosts: ["a.test"], isDefault: false, name: "shop/a", validTo: 100 * day };
  process.hub.snapshotApplied(snapshot, [term], 0);
  end(telemetry, "a.test /");
  const at = async (now: number) => parseExposition(await textOf(process.hub, now));
  const [before, back] = [await at(50 * day), await at(-50 * day)];
  const changed = [...back].filter(([key, value]) => before.get(key) !== value);
  const labels = '{hosts="a.test",certificate="shop/a"}';
  assert.deepEqual(changed, [[`pingress_certificate_days_left${labels}`, 150]]);
  const end_ = before.get(`pingress_certificate_expiration_timestamp_seconds${labels}`);
  assert.equal(end_, 100 * day / 1000);
});

Deno.test("labels of 253 characters, with quotes, newlines and half surrogates are read as they are", async () => {
  const long = `${"a".repeat(59)}.`.repeat(4).slice(0, 248) + ".test";
  const odd = 'a"b\\c\nd\r\u2028\u0000é';
  const process = new Process({ by: "route" });
  const snapshot = webSnapshot([`${long} /`, `a.test ${odd}`, "a.test \ud800", "a.test \udbff"]);
  process.comes(snapshot);
  const { telemetry } = process.start();
  for (const { id } of snapshot.routes) end(telemetry, id);
  const bytes = new Uint8Array(
    await new Response(await textOf(process.hub)).arrayBuffer(),
  );
  const series = parseExposition(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  const requests = [...series].filter(([key]) => key.startsWith("pingress_requests_total"));
  const texts = requests.map(([key]) => /route="((?:[^"\\]|\\.)*)"/s.exec(key)![1]);
  assert.deepEqual(texts, [
    `${long} /`,
    'a.test a\\"b\\\\c\\nd\r\u2028\u0000é',
    // Whatever has no UTF-8 is the same to a scraper, so it is one series.
    "a.test \ufffd",
  ]);
  assert.deepEqual(requests.map(([, count]) => count), [1, 1, 2]);
});

Deno.test("hosts and backends that are called none or other have series of their own", async () => {
  const process = new Process({});
  const snapshot = webSnapshot(["none /", "other /"], "");
  process.comes({
    ...snapshot,
    upstreams: snapshot.upstreams.map((upstream, i) => ({ ...upstream, id: ["none", "other"][i] })),
  });
  const { telemetry } = process.start();
  const { metrics } = telemetry;
  for (const id of ["none /", "other /", "unknown"]) end(telemetry, id);
  for (const id of ["other", "unknown"]) {
    metrics.upstreamResponded(metrics.countersOfUpstream(id), 200, 3);
  }
  const counted = [...await process.series()]
    .filter(([key]) => /^pingress_(upstream_)?requests_total/.test(key))
    .map(([key, count]) => [/(?:host|service)="([^"]*)"/.exec(key)![1], count]);
  assert.deepEqual(counted, [
    ["other", 1],
    ["other.", 1],
    ["other", 1],
    ["none.", 1],
    ["other.", 1],
  ]);
});
