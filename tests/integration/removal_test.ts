/**
 * What becomes of an endpoint that is taken off the list: no request goes to it from the moment at
 * which that was applied, and what it has already it finishes.
 */
import assert from "node:assert/strict";
import { Backend, Peer, playOk, reply, signal, statusOf, until } from "../support/backend.ts";
import { SlowConnect } from "../support/slow_connect.ts";
import { snapshotOf, TestProxy } from "../support/test_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const UPGRADE = "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";

/** Answers with its name. */
function named(name: string, seen: string[] = []): Backend {
  return new Backend(async (peer) => {
    for (;;) {
      const request = await peer.request();
      if (request === null) return;
      seen.push(request.head.split(" ")[0]);
      await peer.send(reply(name));
    }
  });
}

Deno.test("a removed endpoint's idle connections close, and the next request uses another endpoint", async () => {
  await using a = named("a");
  await using b = named("b");
  using proxy = new TestProxy([a.port]);
  using client = await Peer.connect(proxy.port);
  assert.equal((await client.ask(GET)).body, "a");
  proxy.server.apply(snapshotOf([b.port]));
  for (let i = 0; i < 5; i++) assert.equal((await client.ask(GET)).body, "b");
  await until("the idle connection closes", () => a.open.size === 0);
  assert.equal(a.accepted, 1);
});

Deno.test("a request that waits for a connection to a removed endpoint uses another one, once", async () => {
  const seen: string[] = [];
  await using a = named("a", seen);
  await using b = named("b");
  using proxy = new TestProxy([a.port]);
  using slow = new SlowConnect(a.port);
  using client = await Peer.connect(proxy.port);
  const answer = client.ask("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabc");
  await until("the proxy dials", () => slow.dialled === 1);
  proxy.server.apply(snapshotOf([b.port]));
  slow.open();
  assert.equal((await answer).body, "b");
  await until(
    "the connection that was made late closes",
    () => a.accepted === 1 && a.open.size === 0,
  );
  assert.deepEqual(seen, []);
  assert.deepEqual([b.accepted, proxy.server.upstreamRequestCount], [1, 0]);
});

Deno.test("when the last endpoint is removed during a connect, 503 is sent", async () => {
  const seen: string[] = [];
  await using a = named("a", seen);
  using proxy = new TestProxy([a.port]);
  using slow = new SlowConnect(a.port);
  using client = await Peer.connect(proxy.port);
  const answer = client.ask(GET);
  await until("the proxy dials", () => slow.dialled === 1);
  proxy.server.apply(snapshotOf([]));
  slow.open();
  assert.equal(statusOf(await answer), 503);
  assert.deepEqual(seen, []);
});

Deno.test("a retry does not return to a removed endpoint", async () => {
  const seen: string[] = [];
  const second = signal();
  const close = signal();
  await using a = new Backend(async (peer) => {
    for (let n = 0;; n++) {
      if (await peer.request() === null) return;
      seen.push("a");
      if (n === 1) {
        second.resolve();
        return await close.promise;
      }
      await peer.send(reply("a"));
    }
  });
  await using b = named("b");
  using proxy = new TestProxy([a.port]);
  using client = await Peer.connect(proxy.port);
  assert.equal((await client.ask(GET)).body, "a");
  const answer = client.ask(GET);
  await second.promise;
  proxy.server.apply(snapshotOf([b.port]));
  close.resolve();
  assert.equal((await answer).body, "b");
  assert.deepEqual(seen, ["a", "a"]);
});

Deno.test("a response in progress from a removed endpoint is completed, and its connection not reused", async () => {
  const finish = signal();
  await using a = new Backend(async (peer) => {
    while (await peer.request() !== null) {
      await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
      await finish.promise;
      await peer.send("def");
    }
  });
  await using b = named("b");
  using proxy = new TestProxy([a.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(GET);
  const answer = (await client.reader.head("response"))!;
  proxy.server.apply(snapshotOf([b.port]));
  using other = await Peer.connect(proxy.port);
  assert.equal((await other.ask(GET)).body, "b");
  finish.resolve();
  await client.reader.body(answer);
  assert.equal(answer.body, "abcdef");
  await until("its connection closes", () => a.open.size === 0);
  assert.equal((await client.ask(GET)).body, "b");
  assert.equal(a.accepted, 1);
});

Deno.test("a tunnel stays open after its endpoint, or its whole Service, was removed", async () => {
  await using a = new Backend(async (peer) => {
    if (await peer.request() === null) return;
    await peer.send(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n",
    );
    for (let bytes = await peer.read(); bytes !== null; bytes = await peer.read()) {
      await peer.send(bytes.slice());
    }
  });
  using proxy = new TestProxy([a.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(UPGRADE);
  await client.reader.head("response");
  const echo = async (text: string) => {
    await client.send(text);
    return new TextDecoder().decode((await client.read())!);
  };
  assert.equal(await echo("one"), "one");
  proxy.server.apply(snapshotOf([]));
  assert.equal(await echo("two"), "two");
  assert.equal(proxy.server.upstreamRequestCount, 1);
  proxy.server.apply({ ...snapshotOf([]), routes: [], upstreams: [] });
  assert.equal(await echo("three"), "three");
  client.close();
  await until("the tunnel ends", () => a.open.size === 0);
  await until("nobody is asked", () => proxy.server.upstreamRequestCount === 0);
});

Deno.test("a request that waited uses only endpoints of the newest list", async () => {
  const seen: string[] = [];
  await using a = named("a", seen);
  await using b = named("b");
  using proxy = new TestProxy([], { holdTimeout: 60_000 });
  using client = await Peer.connect(proxy.port);
  for (let i = 0; i < 5; i++) {
    proxy.server.apply(snapshotOf([]));
    const answer = client.ask(GET);
    await until("the request waits", () => proxy.server.heldCount === 1);
    proxy.server.apply(snapshotOf([a.port]));
    proxy.server.apply(snapshotOf([b.port]));
    assert.equal((await answer).body, "b");
  }
  assert.deepEqual(seen, []);
});

Deno.test("a list that is replaced before a pending request can use it leaves the request waiting", async () => {
  await using a = new Backend(playOk);
  using proxy = new TestProxy([], { holdTimeout: 60_000 });
  using client = await Peer.connect(proxy.port);
  const answer = client.ask(GET);
  await until("the request waits", () => proxy.server.heldCount === 1);
  proxy.server.apply(snapshotOf([a.port]));
  proxy.server.apply(snapshotOf([]));
  // What was told of the first list has its turn before any socket has.
  await new Promise((resume) => setTimeout(resume));
  assert.equal(proxy.server.heldCount, 1);
  assert.equal(a.accepted, 0);
  proxy.server.apply(snapshotOf([a.port]));
  assert.equal((await answer).body, "ok");
});
