/** Which connections to a backend are used again, and which endpoint gets the next request. */
import assert from "node:assert/strict";
import { Backend, Peer, playOk, refusingPort, reply, statusOf, until } from "../support/backend.ts";
import { snapshotOf, TestProxy } from "../support/test_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

/** `count` requests, one after another, each on its own connection. */
async function askAlone(port: number, count: number): Promise<string[]> {
  const bodies: string[] = [];
  for (let i = 0; i < count; i++) {
    using client = await Peer.connect(port);
    bodies.push((await client.ask(GET)).body);
  }
  return bodies;
}

Deno.test("requests of many clients share one connection to the backend", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port]);
  assert.deepEqual(await askAlone(proxy.port, 50), Array(50).fill("ok"));
  assert.equal(backend.accepted, 1);
  assert.equal(proxy.server.idleUpstreamCount, 1);
});

for (
  const [name, answer, kept] of [
    ["with a length", reply("ok"), true],
    ["chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true],
    ["empty", "HTTP/1.1 204 No Content\r\n\r\n", true],
    ["that says close", reply("ok", "Connection: close\r\n"), false],
    ["in HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false],
    [
      "in HTTP/1.0 with keep-alive",
      "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
      true,
    ],
    ["with bytes behind it", `${reply("ok")}x`, false],
  ] as const
) {
  Deno.test(`after a response ${name} the connection is ${kept ? "kept" : "closed"}`, async () => {
    await using backend = new Backend(async (peer) => {
      while (await peer.request() !== null) await peer.send(answer);
    });
    using proxy = new TestProxy([backend.port]);
    using client = await Peer.connect(proxy.port);
    for (let i = 0; i < 3; i++) {
      const { body, complete } = await client.ask(GET);
      assert.ok(complete && (body === "ok" || body === ""));
      // One that has answered without a body is looked at for a moment.
      if (kept) await until("it is kept", () => proxy.server.idleUpstreamCount === 1);
    }
    await until("closed ones end", () => backend.open.size === proxy.server.idleUpstreamCount);
    assert.equal(backend.accepted, kept ? 1 : 3);
    assert.equal(proxy.server.idleUpstreamCount, kept ? 1 : 0);
  });
}

Deno.test("the number of idle connections is limited", async () => {
  await using backend = new Backend(async (peer) => {
    while (await peer.request() !== null) {
      await until("all requests are here", () => backend.accepted === 5);
      await peer.send(reply("ok"));
    }
  });
  using proxy = new TestProxy([backend.port], { upstreamIdleConnections: 2 });
  await Promise.all(Array.from({ length: 5 }, () => askAlone(proxy.port, 1)));
  await until("three have been closed", () => backend.open.size === 2);
  assert.equal(proxy.server.idleUpstreamCount, 2);
});

Deno.test("an idle connection is closed after its timeout, and a new one is used", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port], { upstreamIdleTimeout: 100 });
  await askAlone(proxy.port, 1);
  await until("the idle connection ends", () => backend.open.size === 0);
  assert.equal(proxy.server.idleUpstreamCount, 0);
  assert.deepEqual(await askAlone(proxy.port, 1), ["ok"]);
  assert.equal(backend.accepted, 2);
});

Deno.test("a connection past its maximum age is not reused, even if it is always in use", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port], { upstreamConnectionAge: 200 });
  using client = await Peer.connect(proxy.port);
  assert.equal((await client.ask(GET)).body, "ok");
  const end = performance.now() + 10_000;
  while (backend.accepted === 1 && performance.now() < end) {
    assert.equal((await client.ask(GET)).body, "ok");
  }
  assert.equal(backend.accepted, 2);
});

Deno.test("a backend that closes an idle connection fails no request", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send(reply("ok"));
  });
  using proxy = new TestProxy([backend.port]);
  for (let i = 0; i < 10; i++) {
    assert.deepEqual(await askAlone(proxy.port, 1), ["ok"]);
    await until("the pool has noticed", () => proxy.server.idleUpstreamCount === 0);
  }
  assert.equal(backend.accepted, 10);
});

Deno.test("three endpoints get equal shares", async () => {
  await using a = named("a");
  await using b = named("b");
  await using c = named("c");
  using proxy = new TestProxy([a.port, b.port, c.port]);
  assert.equal((await askAlone(proxy.port, 30)).sort().join(""), shares({ a: 10, b: 10, c: 10 }));
});

Deno.test("with one of three endpoints down the others share its part evenly", async () => {
  await using a = named("a");
  await using c = named("c");
  // It stays in turn: every request of its share is tried again.
  using proxy = new TestProxy([a.port, refusingPort(), c.port], { ejectionFailures: 0 });
  const bodies = await askAlone(proxy.port, 30);
  assert.equal(bodies.sort().join(""), shares({ a: 15, c: 15 }));
});

Deno.test("a new snapshot keeps the connections to remaining endpoints, and closes the others", async () => {
  await using a = named("a");
  await using b = named("b");
  using proxy = new TestProxy([a.port, b.port]);
  await askAlone(proxy.port, 4);
  assert.equal(proxy.server.idleUpstreamCount, 2);
  proxy.server.apply(snapshotOf([a.port]));
  await until("the connection to the one that left ends", () => b.open.size === 0);
  assert.equal((await askAlone(proxy.port, 4)).join(""), "aaaa");
  assert.equal(a.accepted, 1);
});

Deno.test("an exchange in progress survives the snapshot that removed its endpoint", async () => {
  let released = false;
  await using backend = new Backend(async (peer) => {
    while (await peer.request() !== null) {
      await until("the snapshot is in force", () => released);
      await peer.send(reply("old"));
    }
  });
  await using next = named("new");
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  const old = client.ask(GET);
  await until("the request has come", () => backend.accepted === 1);
  proxy.server.apply(snapshotOf([next.port]));
  assert.deepEqual(await askAlone(proxy.port, 1), ["new"]);
  released = true;
  assert.equal((await old).body, "old");
  assert.equal((await client.ask(GET)).body, "new");
  await until("the old connection is not kept", () => backend.open.size === 0);
});

Deno.test("an endpoint on IPv6 is reached", async () => {
  await using backend = new Backend(playOk, "::1");
  using proxy = new TestProxy([{ address: "::1", port: backend.port }]);
  assert.deepEqual(await askAlone(proxy.port, 2), ["ok", "ok"]);
});

Deno.test("without an endpoint the response is 503 with Retry-After, as JSON if accepted", async () => {
  using proxy = new TestProxy([]);
  using client = await Peer.connect(proxy.port);
  const plain = await client.ask(GET);
  assert.equal(statusOf(plain), 503);
  assert.match(plain.head, /^retry-after: [1-9]\d*\r$/im);
  assert.match(plain.head, /^content-type: text\/plain/im);
  const json = await client.ask(GET.replace("\r\n\r\n", "\r\nAccept: application/json\r\n\r\n"));
  const id = /^x-request-id: (.*)\r$/im.exec(json.head)?.[1];
  const { status, requestId } = JSON.parse(json.body);
  assert.deepEqual({ status, requestId }, { status: 503, requestId: id });
});

function named(name: string): Backend {
  return new Backend(async (peer) => {
    while (await peer.request() !== null) await peer.send(reply(name));
  });
}

function shares(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts).map(([name, count]) => name.repeat(count)).join("");
}
