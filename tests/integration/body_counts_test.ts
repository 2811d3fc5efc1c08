/** How many request bodies one address may have under way: --bodies-per-address. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { ConnectionCounts } from "../../proxy/listen/connection_counts.ts";
import { CidrList } from "../../shared/net/cidr.ts";
import { Random } from "../fuzz/random.ts";
import { Backend, Peer, refusingPort, reply, signal, statusOf, until } from "../support/backend.ts";
import { data, headers, post, rstStream } from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf, TestProxy } from "../support/test_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const LIMITS = { bodiesPerAddress: 3 };

/** A request with the first byte of its body of two. */
const BEGUN = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\n1";
const WHOLE = `${BEGUN}2`;

/** Clients whose bodies have begun and are counted. */
async function uploads(proxy: TestProxy, count: number): Promise<Peer[]> {
  const before = proxy.server.bodyCount;
  const peers = [];
  for (let i = 0; i < count; i++) {
    const peer = await Peer.connect(proxy.port);
    await peer.send(BEGUN);
    peers.push(peer);
  }
  await until("bodies are under way", () => proxy.server.bodyCount === before + count);
  return peers;
}

function close(peers: Iterable<Peer>): void {
  for (const peer of peers) peer.close();
}

/** The status of a whole request from another address of this machine. */
function statusFrom(localAddress: string, port: number, request: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let text = "";
  const socket = connect({ host: "127.0.0.1", port, localAddress });
  socket.on("error", reject);
  socket.on("data", (bytes) => {
    text += bytes;
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(text);
    if (status === null) return;
    resolve(Number(status[1]));
    socket.destroy();
  });
  socket.write(request);
  return promise;
}

Deno.test("an address gets 429 for one body over its limit, and others are served", async () => {
  await using backend = new Backend();
  using observed = new ObservedProxy([backend.port], { limits: LIMITS });
  const { proxy } = observed;
  const peers = await uploads(proxy, 3);
  using refused = await Peer.connect(proxy.port);
  const answer = await refused.ask(BEGUN);
  assert.equal(statusOf(answer), 429);
  assert.match(answer.body, /Too many request bodies from this address are under way/);
  // What has no body to wait for is served on.
  using client = await Peer.connect(proxy.port);
  assert.equal(statusOf(await client.ask(GET)), 200);
  assert.equal(statusOf(await client.ask(WHOLE)), 200);
  // So is everybody else.
  const other = BEGUN.replace("Content-Length: 2", "Content-Length: 1");
  assert.equal(await statusFrom("127.0.0.2", proxy.port, other), 200);
  const [first, ...rest] = peers;
  assert.equal(statusOf(await first.ask("2")), 200);
  assert.equal(proxy.server.bodyCount, 2);
  const [next] = await uploads(proxy, 1);
  close([first, next, ...rest]);
  await until("all are gone", () => proxy.server.bodyCount === 0);
  const series = await observed.series();
  assert.equal(series.get('pingress_request_errors_total{code="too_many_bodies"}'), 1);
  const lines = await observed.lines();
  const { status, upstream } = lines.find(({ error }) => error === "too_many_bodies") ?? {};
  assert.deepEqual([status, upstream], [429, undefined]);
});

Deno.test("a body counts until its end, not until its response", async () => {
  const going = signal();
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await going.promise;
    await peer.send(reply("ok"));
  });
  using proxy = new TestProxy([backend.port], LIMITS);
  const peers = await uploads(proxy, 3);
  for (const peer of peers) await peer.send("2");
  await until("their bodies have ended", () => proxy.server.bodyCount === 0);
  await using h2 = await H2Peer.connect(proxy.port);
  const stream = h2.nextStream();
  await h2.send(headers(stream, post("/"), { end: false }));
  await until("one is under way over HTTP/2", () => proxy.server.bodyCount === 1);
  await h2.send(data(stream, "12", { end: true }));
  await until("it has ended too", () => proxy.server.bodyCount === 0);
  assert.equal(h2.stream(stream).status, 0);
  peers.push(...await uploads(proxy, 1));
  going.resolve();
  assert.equal((await h2.answer(stream)).status, 200);
  for (const peer of peers.slice(0, 3)) assert.equal(statusOf(await peer.answer()), 200);
  close(peers);
});

Deno.test("aborted bodies, and those that no backend reads, stop counting", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.read();
    await peer.send(
      "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    );
  });
  using proxy = new TestProxy([backend.port], LIMITS);
  using without = new TestProxy([refusingPort()], LIMITS);
  using silent = new TestProxy([], LIMITS);
  for (let i = 0; i < 5; i++) {
    for (const [server, status] of [[proxy, 413], [without, 502], [silent, 503]] as const) {
      using peer = await Peer.connect(server.port);
      assert.equal(statusOf(await peer.ask(BEGUN)), status);
    }
  }
  for (const { server } of [proxy, without, silent]) {
    await until("none is under way", () => server.bodyCount === 0);
  }
});

Deno.test("an internal error leaves no body counted", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.read();
    await peer.send("nonsense\r\n\r\n");
  });
  const quiet = () => {};
  const warn = () => {
    throw new Error("a mistake");
  };
  const log = { debug: quiet, info: quiet, warn, error: quiet };
  using proxy = new TestProxy([backend.port], LIMITS, { log });
  using client = await Peer.connect(proxy.port);
  await client.send(BEGUN);
  assert.notEqual(await client.ended(), "");
  await using peer = await H2Peer.connect(proxy.port);
  const stream = peer.nextStream();
  await peer.send(headers(stream, post("/"), { end: false }), data(stream, "1", { end: false }));
  await peer.answer(stream);
  await until("none is under way", () => proxy.server.bodyCount === 0);
});

Deno.test("HTTP/2 streams count each, until END_STREAM, a reset or the connection's end", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port], LIMITS);
  const count = (bodies: number) => until("it counts", () => proxy.server.bodyCount === bodies);
  await using peer = await H2Peer.connect(proxy.port);
  const begin = async () => {
    const stream = peer.nextStream();
    await peer.send(headers(stream, post("/"), { end: false }), data(stream, "1", { end: false }));
    return stream;
  };
  const [first, second] = [await begin(), await begin(), await begin()];
  await count(3);
  const refused = await peer.answer(await begin());
  assert.equal(refused.status, 429);
  assert.equal((await peer.ask("/")).status, 200, "the connection goes on");
  await peer.send(data(first, "2", { end: true }));
  assert.equal((await peer.answer(first)).status, 200);
  await count(2);
  await peer.send(rstStream(second));
  await count(1);
  await begin();
  await begin();
  await count(3);
  peer.close();
  await count(0);
});

Deno.test("trusted proxies are not limited, and with 0 nobody is", async () => {
  await using backend = new Backend();
  const trustedProxies = CidrList.parse("127.0.0.1") as CidrList;
  using trusting = new TestProxy([backend.port], LIMITS, { trustedProxies });
  using open = new TestProxy([backend.port], { bodiesPerAddress: 0 });
  for (const proxy of [trusting, open]) {
    const peers = [];
    for (let i = 0; i < 5; i++) {
      const peer = await Peer.connect(proxy.port);
      await peer.send(BEGUN);
      peers.push(peer);
    }
    for (const peer of peers) assert.equal(statusOf(await peer.ask("2")), 200);
    close(peers);
  }
});

Deno.test("workers that share their counts share the limit", async () => {
  await using backend = new Backend();
  const cells = ConnectionCounts.cellsFor(2);
  const proxies = [0, 1].map((worker) =>
    new TestProxy([backend.port], LIMITS, { bodies: new ConnectionCounts(cells, worker) })
  );
  const peers = [...await uploads(proxies[0], 2), ...await uploads(proxies[1], 1)];
  for (const proxy of proxies) {
    using refused = await Peer.connect(proxy.port);
    assert.equal(statusOf(await refused.ask(BEGUN)), 429);
  }
  close(peers);
  for (const proxy of proxies) {
    await until("none is under way", () => proxy.server.bodyCount === 0);
    proxy[Symbol.dispose]();
  }
});

Deno.test("workers of one process share the limit", async () => {
  await using backend = new Backend();
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotOf([backend.port]),
    args: ["--workers=2", "--bodies-per-address=3", "--allow-loopback-upstreams"],
  });
  const peers = await Promise.all(Array.from({ length: 20 }, () => Peer.connect(proxy.httpPort)));
  const [admitted, others] = [peers.slice(0, 3), peers.slice(3)];
  for (const [index, peer] of admitted.entries()) {
    await peer.send(BEGUN);
    await until("it is forwarded", () => backend.open.size === index + 1);
  }
  const refused = await Promise.all(others.map((peer) => peer.ask(BEGUN)));
  assert.deepEqual(new Set(refused.map(statusOf)), new Set([429]));
  for (const peer of admitted) assert.equal(statusOf(await peer.ask("2")), 200);
  close(peers);
});

Deno.test("after a thousand bodies that ended in every way none is counted", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port], { bodiesPerAddress: 1000, http2Resets: 100_000 });
  const random = new Random(1);
  await using peer = await H2Peer.connect(proxy.port);
  let refused = 0;
  for (let round = 0; round < 1_000; round++) {
    const isEnded = random.oneIn(2);
    if (random.oneIn(2)) {
      const stream = peer.nextStream();
      await peer.send(headers(stream, post("/"), { end: false }));
      if (random.oneIn(2)) await peer.send(data(stream, "1", { end: false }));
      await peer.send(isEnded ? data(stream, "2", { end: true }) : rstStream(stream));
      if (isEnded && (await peer.answer(stream)).status !== 200) refused++;
    } else {
      using client = await Peer.connect(proxy.port);
      await client.send(BEGUN);
      if (isEnded && statusOf(await client.ask("2")) !== 200) refused++;
    }
  }
  assert.equal(refused, 0);
  await until("none is under way", () => proxy.server.bodyCount === 0);
});
