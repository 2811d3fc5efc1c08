/** What the proxy does when too much is asked of it: whom it refuses, whom it lets go, who stays. */
import assert from "node:assert/strict";
import { ConnectionCounts } from "../../proxy/listen/connection_counts.ts";
import { CidrList } from "../../shared/net/cidr.ts";
import { Backend, Peer, reply, signal, statusOf, until } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf, TestProxy } from "../support/test_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

/** A client with one answered request, idle since. */
async function idleClient(proxy: TestProxy): Promise<Peer> {
  const client = await Peer.connect(proxy.port);
  assert.equal(statusOf(await client.ask(GET)), 200);
  return client;
}

Deno.test("one connection over the limit is closed at once, and the others are still served", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port], { connections: 3 });
  const clients = await Promise.all([1, 2, 3].map(() => idleClient(proxy)));
  using refused = await Peer.connect(proxy.port);
  assert.notEqual(await refused.ended(), "");
  for (const client of clients) assert.equal(statusOf(await client.ask(GET)), 200);
  clients[0].close();
  await until("there is room", () => proxy.server.connectionCount === 2);
  using admitted = await idleClient(proxy);
  assert.equal(statusOf(await admitted.ask(GET)), 200);
  for (const client of clients) client.close();
});

Deno.test("idle connections are closed for new ones, those with a request in progress stay", async () => {
  const going = signal();
  await using backend = new Backend(async (peer) => {
    for (;;) {
      const request = await peer.request();
      if (request === null) return;
      if (request.head.startsWith("GET /slow")) await going.promise;
      await peer.send(reply("ok"));
    }
  });
  using proxy = new TestProxy([backend.port], { connections: 10 });
  using busy = await Peer.connect(proxy.port);
  await busy.send("GET /slow HTTP/1.1\r\nHost: a.test\r\n\r\n");
  const idle: Peer[] = [];
  for (let i = 0; i < 7; i++) idle.push(await idleClient(proxy));
  // What has been idle for less than a second may be about to send.
  await new Promise((resume) => setTimeout(resume, 1_200));
  const late: Peer[] = [];
  for (let i = 0; i < 4; i++) late.push(await idleClient(proxy));
  assert.equal(await idle[0].ended(), "closes", "the first to be idle is the first to go");
  assert.equal(statusOf(await idle[6].ask(GET)), 200);
  for (const client of late) assert.equal(statusOf(await client.ask(GET)), 200);
  going.resolve();
  assert.equal(statusOf(await busy.answer()), 200);
  for (const client of [...idle, ...late]) client.close();
});

Deno.test("one address gets its share of connections, a trusted proxy is not limited", async () => {
  await using backend = new Backend();
  const limits = { connectionsPerAddress: 2 };
  using proxy = new TestProxy([backend.port], limits);
  const clients = [await idleClient(proxy), await idleClient(proxy)];
  using refused = await Peer.connect(proxy.port);
  assert.notEqual(await refused.ended(), "");
  clients[0].close();
  await until("it is gone", () => proxy.server.connectionCount === 1);
  clients.push(await idleClient(proxy));

  const trustedProxies = CidrList.parse("127.0.0.1") as CidrList;
  using open = new TestProxy([backend.port], limits, { trustedProxies });
  for (let i = 0; i < 5; i++) clients.push(await idleClient(open));
  for (const client of clients) client.close();
});

Deno.test("servers that share their counts share the limit", async () => {
  await using backend = new Backend();
  const cells = ConnectionCounts.cellsFor(2);
  const proxies = [0, 1].map((worker) =>
    new TestProxy([backend.port], { connections: 4 }, {
      counts: new ConnectionCounts(cells, worker),
    })
  );
  const clients = [];
  for (let i = 0; i < 4; i++) clients.push(await idleClient(proxies[i % 2]));
  for (const proxy of proxies) {
    using refused = await Peer.connect(proxy.port);
    assert.notEqual(await refused.ended(), "");
  }
  for (const client of clients) client.close();
  for (const proxy of proxies) proxy[Symbol.dispose]();
});

Deno.test("workers of one process share the limit", async () => {
  await using backend = new Backend();
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotOf([backend.port]),
    args: ["--workers=2", "--connection-limit=10", "--allow-loopback-upstreams"],
  });
  // Each has begun a request, so it is not idle and does not make way.
  const clients = await Promise.all(Array.from({ length: 40 }, async () => {
    const client = await Peer.connect(proxy.httpPort);
    await client.send("GET / HTTP/1.1\r\n");
    return client;
  }));
  const answers = await Promise.all(clients.map((client) => client.ask("Host: a.test\r\n\r\n")));
  assert.equal(answers.filter((answer) => statusOf(answer) === 200).length, 10);
  for (const client of clients) client.close();
});

Deno.test("under memory pressure, keep-alive ends first, then requests are rejected, then all recovers", async () => {
  await using backend = new Backend();
  let used = 0;
  using proxy = new TestProxy([backend.port], { memoryBytes: 1_000 }, { memoryInUse: () => used });
  const closes = /^connection: close\r$/im;
  const pause = () => new Promise((resume) => setTimeout(resume, 250));
  const once = async () => {
    using client = await Peer.connect(proxy.port);
    const answer = await client.ask(GET);
    if (closes.test(answer.head)) assert.equal(await client.ended(), "closes");
    return answer;
  };

  assert.doesNotMatch((await once()).head, closes);
  using idle = await idleClient(proxy);
  await new Promise((resume) => setTimeout(resume, 1_000));
  used = 930;
  assert.equal(await idle.ended(), "closes", "who is idle makes way");
  let answer = await once();
  assert.equal(statusOf(answer), 200);
  assert.match(answer.head, closes);

  used = 960;
  await pause();
  const asked = backend.accepted;
  answer = await once();
  assert.equal(statusOf(answer), 503);
  assert.match(answer.head, closes);
  assert.match(answer.head, /^retry-after: \d+\r$/im);
  assert.equal(backend.accepted, asked, "the backend is left alone");
  using upload = await Peer.connect(proxy.port);
  answer = await upload.ask("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000\r\n\r\nabc");
  assert.equal(statusOf(answer), 503, "also for who has more to send");

  used = 500;
  await pause();
  answer = await once();
  assert.equal(statusOf(answer), 200);
  assert.doesNotMatch(answer.head, closes);
});

Deno.test("a body below the minimum rate gets 408, a slow one above it continues", async () => {
  await using backend = new Backend(async (peer) => {
    const request = await peer.request();
    await peer.send(reply(`${request?.body.length}`));
  });
  using proxy = new TestProxy([backend.port], { bodyTimeout: 1_000, bodyRate: 100 });
  const upload = async (piece: number) => {
    using client = await Peer.connect(proxy.port);
    const length = piece * 25;
    const answering = client.ask(
      `POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${length}\r\n\r\n`,
    );
    for (let i = 0; i < 25 && await client.send("x".repeat(piece)); i++) {
      await new Promise((resume) => setTimeout(resume, 100));
    }
    return await answering;
  };
  const [trickle, slow] = await Promise.all([upload(1), upload(50)]);
  assert.equal(statusOf(trickle), 408);
  assert.equal(slow.body, "1250");
});

Deno.test("a reader that trickles is closed, although each write progresses", async () => {
  const sent = signal();
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
    const piece = new Uint8Array(1024 * 1024);
    while (await peer.send(piece));
    sent.resolve();
  });
  // A gigabyte a second is a rate that a reader with pauses does not keep up.
  const limits = { writeTimeout: 1_000, writeRate: 1024 ** 3 };
  using proxy = new TestProxy([backend.port], limits);
  using client = await Peer.connect(proxy.port);
  await client.send(GET);
  let ended = false;
  sent.promise.then(() => ended = true);
  while (!ended && await client.read() !== null) {
    await new Promise((resume) => setTimeout(resume, 5));
  }
  await sent.promise;
  assert.ok(proxy.codes.includes("client_stalled"));
});
