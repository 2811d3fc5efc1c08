/** `/metrics` of a whole proxy: its workers, its limits, and those who scrape it badly. */
import assert from "node:assert/strict";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { Backend, Peer, reply, signal, statusOf, until } from "../support/backend.ts";
import { parseExposition } from "../support/exposition_parser.ts";
import { snapshotOf as fleetSnapshot, startFleet } from "../support/fleet.ts";
import { textOf } from "../support/observed_proxy.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { statusAt } from "../support/request_load.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import type { WireMessage } from "../support/wire_message.ts";
import { SnapshotDiffer } from "../../proxy/config/diff.ts";
import { TelemetryHub } from "../../proxy/telemetry/hub.ts";
import { LineOutput } from "../../shared/log.ts";

/** So many hosts with a route each, to one backend. */
function manyHosts(count: number, port: number, suffix: string): Snapshot {
  const snapshot = snapshotOf([port]);
  const [route] = snapshot.routes;
  const routes = Array.from({ length: count }, (_, i) => {
    const host = `host-${i}${suffix}.test`;
    return { ...route, id: `${host} Prefix /`, host };
  });
  return { ...snapshot, routes };
}

async function seriesOf(proxy: ProxyProcess): Promise<Map<string, number>> {
  return parseExposition((await proxy.admin("/metrics")).text);
}

Deno.test("a proxy shows its CPU time, its limits, and CPU time, heap and delay of each worker", async () => {
  await using backend = new Backend();
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotOf([backend.port]),
    args: [
      "--allow-loopback-upstreams",
      "--workers=2",
      "--connection-limit=1000",
      "--memory-limit=512MiB",
    ],
  });
  let series = await seriesOf(proxy);
  const cpu = (worker: number) =>
    series.get(`pingress_worker_cpu_seconds_total{worker="${worker}"}`);
  // Each looks at itself once a second.
  while (!(cpu(0)! > 0 && cpu(1)! > 0)) series = await seriesOf(proxy);
  assert.equal(series.get('pingress_limit{name="connections"}'), 1000);
  assert.equal(series.get('pingress_limit{name="memory_bytes"}'), 512 * 1024 * 1024);
  assert.ok(series.get("process_cpu_seconds_total")! > 0);
  for (const worker of [0, 1]) {
    assert.ok(series.get(`pingress_worker_heap_bytes{worker="${worker}"}`)! > 0);
    assert.ok(series.get(`pingress_worker_delay_seconds{worker="${worker}"}`)! >= 0);
  }
});

Deno.test("a proxy with one worker shows that one too, and with --metrics-by=route its routes", async () => {
  await using backend = new Backend();
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotOf([backend.port]),
    args: ["--allow-loopback-upstreams", "--workers=1", "--metrics-by=route"],
  });
  assert.equal(await statusAt(proxy.httpPort), 200);
  let series = await seriesOf(proxy);
  while (!(series.get('pingress_worker_cpu_seconds_total{worker="0"}')! > 0)) {
    series = await seriesOf(proxy);
  }
  const labels = 'namespace="test",host="*",route="* Prefix /"';
  assert.equal(series.get(`pingress_requests_total{${labels},method="GET",status="2xx"}`), 1);
  assert.equal(
    series.get(`pingress_route_info{${labels},kind="Ingress",name="web",service="web"}`),
    1,
  );
  assert.equal(series.get('pingress_limit{name="memory_bytes"}'), undefined);
});

Deno.test("scrapers that stop reading do not stop others, and are counted once they have gone", async () => {
  await using backend = new Backend();
  // More than what the system keeps of what nobody reads.
  const suffix = ["a", "b", "c"].map((letter) => `.${letter.repeat(60)}`).join("");
  await using proxy = await ProxyProcess.start({
    snapshot: manyHosts(5_000, backend.port, suffix),
    args: ["--allow-loopback-upstreams", "--workers=1"],
  });
  using client = await Peer.connect(proxy.httpPort);
  for (let i = 0; i < 5_000; i++) {
    const answer = await client.ask(`GET / HTTP/1.1\r\nHost: host-${i}${suffix}.test\r\n\r\n`);
    assert.equal(statusOf(answer), 200);
  }
  const { length } = (await proxy.admin("/metrics")).text;
  const deaf: Deno.TcpConn[] = [];
  let begun = 0;
  for (let i = 0; i < 12; i++) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: proxy.adminPort });
    await connection.write(new TextEncoder().encode("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"));
    // It has begun, or there was no room.
    const bytes = new Uint8Array(12);
    await connection.read(bytes);
    const status = new TextDecoder().decode(bytes).slice(-3);
    assert.match(status, /^(200|503)$/);
    if (status === "200") begun++;
    deaf.push(connection);
  }
  assert.ok(begun >= 8, `${begun} of ${deaf.length}`);
  // One of them gives way as soon as it has stalled.
  while ((await proxy.admin("/metrics")).status === 503);
  for (let i = 0; i < 3; i++) {
    assert.ok((await proxy.admin("/metrics")).text.length > length / 2);
    assert.equal(
      statusOf(await client.ask(`GET / HTTP/1.1\r\nHost: host-0${suffix}.test\r\n\r\n`)),
      200,
    );
  }
  const aborted = async () => (await seriesOf(proxy)).get("pingress_scrapes_aborted_total");
  assert.equal(await aborted(), begun - 7);
  for (const connection of deaf) connection.close();
  while (await aborted() !== begun);
});

Deno.test("a proxy that drains can be scraped until its last request has ended, and none counts twice", async () => {
  const held = Array.from({ length: 2 }, () => signal());
  const arrived = Array.from({ length: 2 }, () => signal());
  let index = 0;
  await using backend = new Backend(async (peer) => {
    const i = index++;
    await peer.request();
    arrived[i].resolve();
    await held[i].promise;
    await peer.send(reply("ok"));
  });
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotOf([backend.port]),
    args: ["--allow-loopback-upstreams", "--workers=2"],
  });
  const counted = async () =>
    [...await seriesOf(proxy)].filter(([key]) => key.startsWith("pingress_requests_total"))
      .reduce((sum, [, count]) => sum + count, 0);
  const clients = [await Peer.connect(proxy.httpPort), await Peer.connect(proxy.httpPort)];
  const answers: Promise<WireMessage>[] = [];
  for (const [i, client] of clients.entries()) {
    answers.push(client.ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    await arrived[i].promise;
  }
  proxy.signal("SIGTERM");
  while ((await proxy.admin("/readyz")).status !== 503);
  assert.equal(await counted(), 0);
  held[0].resolve();
  while (await counted() === 0);
  assert.equal(await counted(), 1);
  held[1].resolve();
  assert.equal(await proxy.ended, 0);
  for (const answer of await Promise.all(answers)) assert.equal(statusOf(answer), 200);
  for (const client of clients) client.close();
});

Deno.test("counters of 5,000 hosts never go down over reloads and replaced workers, scraped all the time", async () => {
  const backend = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(),
  );
  const output = new LineOutput({ write: (bytes) => Promise.resolve(bytes.length) });
  const hub = new TelemetryHub({ accessLog: null, output });
  const fleet = startFleet(2, { hub });
  const differ = new SnapshotDiffer();
  const apply = (epoch: string, count: number) => {
    const any = fleetSnapshot(backend.addr.port, epoch);
    const [route] = snapshotOf([]).routes;
    const action = any.defaultAction!;
    const routes = Array.from({ length: count }, (_, i) => {
      const host = i === 0 ? "app.example.com" : `host-${i}.example.com`;
      return { ...route, id: `${host} Prefix /`, host, action };
    });
    const snapshot = { ...any, routes };
    hub.changes(differ.diff(snapshot, []));
    fleet.serve(snapshot, []);
    hub.snapshotApplied(snapshot, [], 0);
  };
  try {
    apply("file", 5_000);
    const { http: [{ port }] } = await fleet.listen({
      http: [{ hostname: "127.0.0.1", port: 0 }],
      https: [],
    });
    let last = new Map<string, number>();
    let answered = 0;
    const load = async (count: number) => {
      for (let i = 0; i < count; i++) {
        const host = i % 2 === 0 ? "app.example.com" : `host-${i}.example.com`;
        if (await statusAt(port, { host }) !== 0) answered++;
      }
    };
    const scrape = async () => {
      const now = parseExposition(await textOf(hub));
      for (const [key, before] of last) {
        if (!/_(total|count|sum|bucket)\b/.test(key) || key.startsWith("pingress_worker_cpu")) {
          continue;
        }
        assert.ok((now.get(key) ?? 0) >= before, `${key}: ${before}, then ${now.get(key)}`);
      }
      last = now;
    };
    const counted = () =>
      [...last].filter(([key]) => key.startsWith("pingress_requests_total"))
        .reduce((sum, [, count]) => sum + count, 0);
    const scraping = { isOver: false };
    const scrapes = (async () => {
      while (!scraping.isOver) await scrape();
    })();
    await load(100);
    apply("file", 5_001);
    await load(100);
    // Each is counted a moment after its client has the response.
    await until("all are counted", () => counted() >= answered);
    apply("throw", 5_001);
    while (fleet.restarts < 2) await load(2);
    apply("file", 5_000);
    await load(100);
    scraping.isOver = true;
    await scrapes;
    await scrape();
    assert.ok(counted() >= 200);
  } finally {
    fleet.close();
    await backend.shutdown();
  }
});

Deno.test("metrics say that a file is rejected until a good one comes, or the active one is back", async () => {
  const snapshot = snapshotOf([]);
  await using proxy = await ProxyProcess.start({ snapshot, args: ["--workers=1"] });
  const refused = async () =>
    (await seriesOf(proxy)).get('pingress_snapshot_refused{source="file"}');
  const becomes = async (value: number) => {
    while (await refused() !== value);
  };
  assert.equal(await refused(), 0);
  assert.ok(!(await seriesOf(proxy)).has('pingress_snapshot_refused{source="stream"}'));
  proxy.replaceText("{");
  await becomes(1);
  proxy.replace({ ...snapshot, routes: [] });
  await becomes(0);
  proxy.replaceText("{");
  await becomes(1);
  proxy.replace({ ...snapshot, routes: [] });
  await becomes(0);
});
