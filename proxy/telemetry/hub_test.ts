import assert from "node:assert/strict";
import { parseExposition } from "../../tests/support/exposition_parser.ts";
import { textOf } from "../../tests/support/observed_proxy.ts";
import { LineOutput } from "../../shared/log.ts";
import { type Route, type Snapshot, SNAPSHOT_FORMAT } from "../../shared/snapshot/types.ts";
import { ExchangeRecord } from "../http/message.ts";
import { RouteDiffer } from "../config/route_diff.ts";
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
  readonly #routes = new RouteDiffer();
  now = 0;
  readonly output = new LineOutput({ write: (bytes) => Promise.resolve(bytes.length) });
  readonly hub = new TelemetryHub({
    accessLog: null,
    output: this.output,
    now: () => this.now,
  });

  comes({ routes }: Snapshot): void {
    this.hub.hostsChange(this.#routes.update(routes));
  }

  start(): { telemetry: Telemetry; attached: WorkerTelemetry; deliver: () => void } {
    const waiting: HubMessage[] = [];
    const attached = this.hub.attach((message) => waiting.push(structuredClone(message)));
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

const GET_A = 'pingress_requests_total{route="a",method="GET",status="2xx"}';
const GET_B = 'pingress_requests_total{route="b",method="GET",status="2xx"}';
const GET_OTHER = 'pingress_requests_total{route="other",method="GET",status="2xx"}';

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
  assert.equal(after.get('pingress_request_duration_seconds_count{route="a"}'), 3);
  assert.equal(after.get('pingress_response_bytes_total{route="a"}'), 300);
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
  assert.deepEqual([...cleared.keys()].filter((key) => key.includes('route="')), []);
  end(workers[0].telemetry, "b");
  end(workers[1].telemetry, "b");
  const series = await process.series();
  assert.equal(series.get(GET_A), undefined);
  assert.equal(series.get(GET_B), 2);
  assert.equal(series.get('pingress_request_bytes_total{route="b"}'), 20);
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
  const process = new Process();
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
    const key = `pingress_requests_total{route="${id}",method="GET",status="2xx"}`;
    assert.equal(series.get(key), 2);
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
    assert.equal((await process.series()).get(`pingress_requests_total{route="a",${key}}`), 1);
  }
  for (const duration of [1, 1.001, 10_000, 10_001]) {
    end(telemetry, null, { duration });
  }
  const series = await process.series();
  const bucket = (le: string) =>
    series.get(`pingress_request_duration_seconds_bucket{route="default",le="${le}"}`);
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
