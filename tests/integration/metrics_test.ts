/** Metrics after known traffic over real sockets: each number is exact. */
import assert from "node:assert/strict";
import { Backend, Peer, refusingPort, signal, statusOf, until } from "../support/backend.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { snapshotOf } from "../support/test_proxy.ts";

const ROUTE = 'namespace="test",host="*"';

function get(path = "/", host = "app.example.com"): string {
  return `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
}

function requests(method: string, status: string, route = ROUTE): string {
  return `pingress_requests_total{${route},method="${method}",status="${status}"}`;
}

function errors(code: string): string {
  return `pingress_request_errors_total{code="${code}"}`;
}

Deno.test("requests, bytes and connections are counted exactly", async () => {
  await using backend = new Backend();
  using observed = new ObservedProxy([backend.port]);
  const client = await Peer.connect(observed.port);
  const sent: string[] = [get(), get("/b"), get("/c")];
  for (const text of sent) assert.equal(statusOf(await client.ask(text)), 200);
  const post = "POST / HTTP/1.1\r\nHost: app.example.com\r\nContent-Length: 5\r\n\r\nhello";
  assert.equal(statusOf(await client.ask(post)), 200);
  await until("all are counted", () => backend.accepted === 1);
  const series = await observed.series();
  assert.equal(series.get(requests("GET", "2xx")), 3);
  assert.equal(series.get(requests("POST", "2xx")), 1);
  const bytesIn = [...sent, post].reduce((sum, text) => sum + text.length, 0);
  assert.equal(series.get(`pingress_request_bytes_total{${ROUTE}}`), bytesIn);
  assert.equal(series.get(`pingress_response_bytes_total{${ROUTE}}`), client.received);
  assert.equal(series.get(`pingress_request_duration_seconds_count{${ROUTE}}`), 4);
  assert.equal(series.get("pingress_connections_total"), 1);
  assert.equal(series.get("pingress_connections_open"), 1);
  assert.equal(series.get('pingress_upstream_connects_total{result="ok"}'), 1);
  assert.equal(series.get("pingress_upstream_connections_reused_total"), 3);
  assert.deepEqual([...series.keys()].filter((key) => key.includes("error")), []);
  client.close();
  const open = async () => (await observed.series()).get("pingress_connections_open") ?? 0;
  while (await open() > 0) await new Promise((resume) => setTimeout(resume, 5));
});

Deno.test("the duration of a request rejected at its first byte is no longer than its client waited", async () => {
  using observed = new ObservedProxy([]);
  const start = performance.now();
  for (const byte of ["\x00", "\x16"]) {
    const client = await Peer.connect(observed.port);
    assert.equal(statusOf(await client.ask(byte)), 400);
    client.close();
  }
  const waited = performance.now() - start;
  const lines = await observed.lines();
  assert.equal(lines.length, 2);
  for (const { durationMs, bytesOut } of lines) {
    assert.ok(Number(durationMs) <= waited, `${durationMs} of ${waited} ms`);
    assert.ok(Number(bytesOut) > 0);
  }
});

Deno.test("an exchange that a drain cuts is logged and counted", async () => {
  const arrived = signal();
  await using backend = new Backend(async (peer) => {
    await peer.reader.head("request");
    arrived.resolve();
    await peer.ended();
  });
  using observed = new ObservedProxy([backend.port]);
  const client = await Peer.connect(observed.port);
  await client.send(get());
  await arrived.promise;
  await observed.proxy.server.drain({ delay: 0, timeout: 50 });
  const counted = [...(await observed.series()).keys()].filter((key) =>
    key.startsWith("pingress_requests_total")
  );
  assert.deepEqual(counted, [requests("GET", "none")]);
  assert.equal((await observed.lines()).length, 1);
  client.close();
});

Deno.test("chunked bodies count without framing when received, and as sent when sent", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    await peer.request();
  });
  using observed = new ObservedProxy([backend.port]);
  const client = await Peer.connect(observed.port);
  const head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  assert.equal(statusOf(await client.ask(`${head}5\r\nhello\r\n0\r\n\r\n`)), 200);
  const series = await observed.series();
  assert.equal(series.get(`pingress_request_bytes_total{${ROUTE}}`), head.length + 5);
  assert.equal(series.get(`pingress_response_bytes_total{${ROUTE}}`), client.received);
  client.close();
});

Deno.test("a backend that refuses counts as failed connects, a retry, and an error of its code", async () => {
  await using backend = new Backend();
  using observed = new ObservedProxy([refusingPort(), refusingPort()]);
  const client = await Peer.connect(observed.port);
  assert.equal(statusOf(await client.ask(get())), 502);
  const series = await observed.series();
  assert.equal(series.get(requests("GET", "5xx")), 1);
  assert.equal(series.get('pingress_upstream_connects_total{result="failed"}'), 2);
  assert.equal(series.get(`pingress_upstream_retries_total{${ROUTE}}`), 1);
  assert.equal(series.get(errors("connect_failed")), 1);
  client.close();
  assert.equal(backend.accepted, 0);
});

Deno.test("requests rejected before they become exchanges count, each with its status", async () => {
  using observed = new ObservedProxy([refusingPort()], {
    limits: { requestHeadTimeout: 50 },
  });
  const NONE = 'namespace="",host="none"';
  for (
    const [text, status] of [
      ["GET / HTTP/1.1\r\n\r\n", 400],
      ["nonsense\r\n\r\n", 400],
      ["TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", 405],
      [`GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(40_000)}\r\n\r\n`, 431],
      ["GET / HTTP/1.1\r\nHo", 408],
    ] as const
  ) {
    const client = await Peer.connect(observed.port);
    assert.equal(statusOf(await client.ask(text)), status, text.slice(0, 40));
    client.close();
  }
  const series = await observed.series();
  assert.equal(series.get(requests("GET", "4xx", NONE)), 3);
  assert.equal(series.get(requests("OTHER", "4xx", NONE)), 2);
  for (
    const [code, count] of [
      ["bad_host", 1],
      ["bad_request", 1],
      ["method_refused", 1],
      ["head_too_large", 1],
      ["head_timeout", 1],
    ] as const
  ) assert.equal(series.get(errors(code)), count, code);
});

Deno.test("a body over its route's limit counts for that route", async () => {
  using observed = new ObservedProxy([refusingPort()], { limits: { bodyBytes: 10 } });
  using client = await Peer.connect(observed.port);
  const text = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n";
  assert.equal(statusOf(await client.ask(text)), 413);
  const series = await observed.series();
  assert.equal(series.get(requests("PUT", "4xx")), 1);
  assert.equal(series.get(errors("body_too_large")), 1);
});

Deno.test("a redirect to HTTPS counts for the route that its request matches", async () => {
  using observed = new ObservedProxy([refusingPort()]);
  const snapshot = snapshotOf([refusingPort()]);
  observed.apply({
    ...snapshot,
    policies: [{ id: "redirected", httpsRedirect: { when: "always" } }],
    routes: snapshot.routes.map((route) => ({ ...route, policy: "redirected" })),
  });
  using client = await Peer.connect(observed.port);
  assert.equal(statusOf(await client.ask(get())), 308);
  assert.equal((await observed.series()).get(requests("GET", "3xx")), 1);
  assert.deepEqual((await observed.lines()).map(({ route }) => route), ["* Prefix /"]);
});

Deno.test("a client that leaves before its response counts once, without a status", async () => {
  const asked = signal();
  await using backend = new Backend(async (peer) => {
    await peer.request();
    asked.resolve();
    await peer.request();
  });
  using observed = new ObservedProxy([backend.port]);
  const client = await Peer.connect(observed.port);
  await client.send(get());
  await asked.promise;
  client.close();
  await until("the backend is let go", () => backend.open.size === 0);
  let series = await observed.series();
  while (series.get("pingress_connections_open") !== undefined) series = await observed.series();
  assert.equal(series.get(requests("GET", "none")), 1);
  assert.equal(series.get(errors("client_gone")), 1);
  assert.equal(series.get(`pingress_request_duration_seconds_count{${ROUTE}}`), 1);
});

Deno.test("a tunnel counts while it is open and when it ends, and not as a slow response", async () => {
  const messages = 4;
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send("HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n");
    for (let i = 0; i < messages; i++) await peer.send((await peer.read())!.slice());
  });

  using observed = new ObservedProxy([backend.port]);
  const client = await Peer.connect(observed.port);
  const head = "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n";
  await client.send(head);
  while (client.received === 0) await client.read();
  let series = await observed.series();
  assert.equal(series.get("pingress_tunnels_open"), 1);
  assert.equal(series.get(requests("GET", "1xx")), undefined);
  for (let i = 0; i < messages; i++) {
    await client.send("hello");
    const whole = client.received + 5;
    while (client.received < whole) await client.read();
  }
  assert.equal(await client.ended(), "closes");
  client.close();
  // The tunnel and the exchange that it was end a moment apart.
  const isOver = () =>
    series.get("pingress_tunnels_open") === undefined &&
    series.get(requests("GET", "1xx")) !== undefined;
  while (!isOver()) series = await observed.series();
  assert.equal(series.get(requests("GET", "1xx")), 1);
  assert.equal(series.get("pingress_tunnels_total"), 1);
  assert.equal(series.get(`pingress_request_bytes_total{${ROUTE}}`), head.length + 5 * messages);
  assert.equal(series.get(`pingress_response_bytes_total{${ROUTE}}`), client.received);
  assert.equal(series.get(`pingress_request_duration_seconds_count{${ROUTE}}`), undefined);
});

Deno.test("no client can add series: ten thousand hosts, paths and methods add none", async () => {
  await using backend = new Backend();
  using observed = new ObservedProxy([backend.port], { accessLog: null });
  const any = snapshotOf([backend.port]);
  const known = { ...any.routes[0], id: "known.example.com Prefix /", host: "known.example.com" };
  const snapshot = { ...any, routes: [known] };
  observed.apply(snapshot);
  const send = async (count: number) => {
    const client = await Peer.connect(observed.port);
    for (let i = 0; i < count; i++) {
      const host = i % 2 === 0 ? "known.example.com" : `host-${i}.example.com`;
      const method = i % 3 === 0 ? `M${i}` : "GET";
      const status = statusOf(
        await client.ask(`${method} /path-${i} HTTP/1.1\r\nHost: ${host}\r\n\r\n`),
      );
      assert.equal(status, i % 2 === 0 ? 200 : 404);
    }
    client.close();
    await until("its connection is forgotten", () => observed.proxy.server.connectionCount === 0);
  };
  await send(12);
  const before = [...(await observed.series()).keys()].filter((key) => !key.includes("_bucket"));
  await send(9_990);
  const after = [...(await observed.series()).keys()].filter((key) => !key.includes("_bucket"));
  assert.deepEqual(after, before);
  const series = await observed.series();
  const total = [...series].filter(([key]) => key.startsWith("pingress_requests_total"))
    .reduce((sum, [, count]) => sum + count, 0);
  assert.equal(total, 10_002);
  assert.equal(series.get(errors("no_route")), 5_001);
});

Deno.test("connections over the limit are counted as shed", async () => {
  await using backend = new Backend();
  using observed = new ObservedProxy([backend.port], { limits: { connections: 1 } });
  const first = await Peer.connect(observed.port);
  assert.equal(statusOf(await first.ask(get())), 200);
  const second = await Peer.connect(observed.port);
  assert.equal(await second.read(), null);
  const series = await observed.series();
  assert.equal(series.get('pingress_connections_shed_total{reason="connection_limit"}'), 1);
  assert.equal(series.get("pingress_connections_total"), 1);
  first.close();
  second.close();
});
