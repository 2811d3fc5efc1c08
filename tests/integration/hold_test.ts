/** Requests to a Service without endpoints that wait for one: `--hold-timeout`. */
import assert from "node:assert/strict";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { Backend, Peer, playOk, refusingPort, reply, statusOf, until } from "../support/backend.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { SlowConnect } from "../support/slow_connect.ts";
import { snapshotOf, TestProxy } from "../support/test_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const WAITS = { holdTimeout: 60_000 };

/** A Service that has no endpoint, with as many clients whose requests wait for one. */
async function heldClients(proxy: TestProxy, count: number): Promise<Peer[]> {
  const clients: Peer[] = [];
  for (let i = 0; i < count; i++) {
    const client = await Peer.connect(proxy.port);
    clients.push(client);
    await client.send(GET);
  }
  await until("the requests wait", () => proxy.server.heldCount === count);
  return clients;
}

Deno.test("requests to a Service that scales from zero wait, and each is served once", async () => {
  const seen: string[] = [];
  await using backend = new Backend(async (peer) => {
    for (let request = await peer.request(); request !== null; request = await peer.request()) {
      seen.push(request.body);
      await peer.send(reply(`got ${request.body}`));
    }
  });
  using observed = new ObservedProxy([], { limits: WAITS });
  const { server } = observed.proxy;
  const clients = await Promise.all(
    Array.from({ length: 20 }, () => Peer.connect(observed.port)),
  );
  const answers = clients.map((client, i) =>
    client.ask(`POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\n${i + 10}`)
  );
  await until("the requests wait", () => server.heldCount === 20);
  assert.equal((await observed.series()).get("pingress_requests_held"), 20);
  server.apply(snapshotOf([backend.port]));
  for (const [i, answer] of answers.entries()) {
    assert.deepEqual([statusOf(await answer), (await answer).body], [200, `got ${i + 10}`]);
  }
  assert.deepEqual(seen.sort(), Array.from({ length: 20 }, (_, i) => `${i + 10}`));
  for (const client of clients) client.close();
  const series = await observed.series();
  assert.equal(series.get("pingress_requests_held"), undefined);
  assert.equal(series.get('pingress_holds_total{outcome="served"}'), 20);
  assert.equal(server.upstreamRequestCount, 0);
});

Deno.test("a body is not read while its request waits, and arrives completely", async () => {
  const length = 64 * 1024 * 1024;
  let received = 0;
  await using backend = new Backend(async (peer) => {
    // Not kept: only counted, head and all.
    while (peer.received < length && await peer.read() !== null);
    received = peer.received;
    await peer.send(reply("all"));
  });
  using proxy = new TestProxy([], WAITS);
  using client = await Peer.connect(proxy.port);
  const head = `PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${length}\r\n\r\n`;
  let sent = 0;
  const sending = (async () => {
    await client.send(head);
    const piece = new Uint8Array(1024 * 1024);
    while (sent < length && await client.send(piece)) sent += piece.length;
  })();
  await until("the request waits", () => proxy.server.heldCount === 1);
  let before = -1;
  while (before !== sent) {
    before = sent;
    await new Promise((resume) => setTimeout(resume, 100));
  }
  assert.ok(sent < length, `${sent} of ${length} bytes went into the system's buffers`);
  proxy.server.apply(snapshotOf([backend.port]));
  assert.equal((await client.answer()).body, "all");
  await sending;
  assert.ok(received >= length);
});

Deno.test("at the timeout, 503 is sent with Retry-After in whole seconds", async () => {
  using observed = new ObservedProxy([], { limits: { holdTimeout: 30 } });
  using client = await Peer.connect(observed.port);
  const answer = await client.ask(GET);
  assert.equal(statusOf(answer), 503);
  assert.match(answer.head, /\r\nretry-after: [1-9]\d*\r\n/i);
  assert.equal((await observed.series()).get('pingress_holds_total{outcome="timeout"}'), 1);
  await using backend = new Backend();
  observed.proxy.server.apply(snapshotOf([backend.port]));
  assert.equal((await client.ask(GET)).body, "ok");
});

Deno.test("a client that leaves stops waiting, and its request is never sent", async () => {
  using observed = new ObservedProxy([], { limits: WAITS });
  const { server } = observed.proxy;
  const clients = await heldClients(observed.proxy, 3);
  for (const client of clients) client.close();
  // A client that has only ended its half may still take an answer: it is asked in a while.
  await until("nobody waits", () => server.heldCount === 0, 20_000);
  assert.equal((await observed.series()).get('pingress_holds_total{outcome="client_gone"}'), 3);
  await using backend = new Backend();
  server.apply(snapshotOf([backend.port]));
  using client = await Peer.connect(observed.port);
  assert.equal((await client.ask(GET)).body, "ok");
  assert.equal(backend.accepted, 1);
});

Deno.test("one request over --hold-limit gets 503 at once", async () => {
  using observed = new ObservedProxy([], { limits: { ...WAITS, holdLimit: 2 } });
  const clients = await heldClients(observed.proxy, 2);
  using third = await Peer.connect(observed.port);
  assert.equal(statusOf(await third.ask(GET)), 503);
  assert.equal((await observed.series()).get('pingress_holds_total{outcome="no_room"}'), 1);
  await using backend = new Backend();
  observed.proxy.server.apply(snapshotOf([backend.port]));
  for (const client of clients) {
    assert.equal(statusOf(await client.answer()), 200);
    client.close();
  }
});

Deno.test("clients of a Service without endpoints leave --hold-limit to those of another", async () => {
  using proxy = new TestProxy([], { ...WAITS, holdLimit: 4 });
  await using backend = new Backend();
  const both = (ports: readonly number[]): Snapshot => {
    const { routes: [route], upstreams: [upstream], ...rest } = snapshotOf([]);
    const id = "other/web:80";
    const action = { kind: "forward", backends: [{ upstream: id }] } as const;
    return {
      ...rest,
      routes: [route, { ...route, id: "b.test Prefix /", host: "b.test", action }],
      upstreams: [upstream, { ...snapshotOf(ports).upstreams[0], id }],
    };
  };
  proxy.server.apply(both([]));
  const clients = await heldClients(proxy, 4);
  using client = await Peer.connect(proxy.port);
  await client.send("GET / HTTP/1.1\r\nHost: b.test\r\n\r\n");
  assert.equal(statusOf(await clients[3].answer()), 503);
  proxy.server.apply(both([backend.port]));
  assert.equal((await client.answer()).body, "ok");
  assert.equal(proxy.server.heldCount, 3);
  for (const held of clients) held.close();
});

Deno.test("requests do not wait for a missing Service, nor for a deleted one", async () => {
  using proxy = new TestProxy([], WAITS);
  const [client] = await heldClients(proxy, 1);
  const snapshot = snapshotOf([]);
  const action = { kind: "reply", status: 503, reason: "no Service" } as const;
  const routes = snapshot.routes.map((route) => ({ ...route, action }));
  proxy.server.apply({ ...snapshot, routes, upstreams: [] });
  assert.equal(statusOf(await client.answer()), 503);
  assert.equal(statusOf(await client.ask(GET)), 503);
  client.close();
});

Deno.test("a request whose only endpoint refuses and is removed waits for the next one", async () => {
  const port = refusingPort();
  using proxy = new TestProxy([port], WAITS);
  using slow = new SlowConnect(port);
  using client = await Peer.connect(proxy.port);
  const answer = client.ask(GET);
  await until("the proxy dials", () => slow.dialled === 1);
  proxy.server.apply(snapshotOf([]));
  slow.open();
  await until("the request waits", () => proxy.server.heldCount === 1);
  await using backend = new Backend();
  proxy.server.apply(snapshotOf([backend.port]));
  assert.equal((await answer).body, "ok");
});

Deno.test("a request whose endpoints all refuse waits for others: pods end before the list changes", async () => {
  const seen: string[] = [];
  await using backend = new Backend(async (peer) => {
    for (let request = await peer.request(); request !== null; request = await peer.request()) {
      seen.push(request.body);
      await peer.send(reply("ok"));
    }
  });
  const gone = [refusingPort(), refusingPort()];
  for (const tries of [2, 3]) {
    using proxy = new TestProxy(gone, { ...WAITS, tries });
    using client = await Peer.connect(proxy.port);
    const answer = client.ask(
      `POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n\r\n${tries}`,
    );
    await until("the request waits", () => proxy.server.heldCount === 1);
    // One of them is still in the list, and refuses as before.
    proxy.server.apply(snapshotOf([gone[1]]));
    proxy.server.apply(snapshotOf([]));
    proxy.server.apply(snapshotOf([backend.port]));
    assert.equal(statusOf(await answer), 200);
  }
  assert.deepEqual(seen, ["2", "3"]);
});

Deno.test("a request whose endpoint keeps refusing gets 502 at the timeout", async () => {
  using observed = new ObservedProxy([refusingPort()], { limits: { holdTimeout: 50, tries: 1 } });
  using client = await Peer.connect(observed.port);
  assert.equal(statusOf(await client.ask(GET)), 502);
  assert.equal((await observed.series()).get('pingress_holds_total{outcome="timeout"}'), 1);
});

Deno.test("a request that has used up its tries does not wait while there are other endpoints", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([refusingPort(), backend.port], { ...WAITS, tries: 1 });
  const statuses = new Set<number>();
  for (let i = 0; i < 4; i++) {
    using client = await Peer.connect(proxy.port);
    statuses.add(statusOf(await client.ask(GET)));
  }
  assert.deepEqual([...statuses].sort(), [200, 502]);
});

Deno.test("requests waiting when a drain begins are served by a new endpoint", async () => {
  await using backend = new Backend(playOk);
  using proxy = new TestProxy([], WAITS);
  const [client] = await heldClients(proxy, 1);
  const draining = proxy.server.drain({ delay: 0, timeout: 60_000 });
  proxy.server.apply(snapshotOf([backend.port]));
  assert.equal(statusOf(await client.answer()), 200);
  assert.equal(await client.ended(), "closes");
  await draining;
  client.close();
});

Deno.test("requests still waiting when a drain ends get 503, and are not cut", async () => {
  using observed = new ObservedProxy([], { limits: WAITS });
  const clients = await heldClients(observed.proxy, 3);
  const draining = observed.proxy.server.drain({ delay: 0, timeout: 100 });
  for (const client of clients) {
    const answer = await client.answer();
    assert.equal(statusOf(answer), 503);
    assert.match(answer.head, /\r\nconnection: close\r\n/i);
    assert.equal(await client.ended(), "closes");
    client.close();
  }
  await draining;
  assert.equal((await observed.series()).get('pingress_holds_total{outcome="ended"}'), 3);
});
