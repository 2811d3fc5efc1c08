/** Time-outs, tries and body limits of a route, in place of those of the process. */
import assert from "node:assert/strict";
import { Backend, Peer, reply, signal, statusOf, until } from "../support/backend.ts";
import { filteredSnapshot, type RouteSpec, upstreamTo, WEB } from "../support/filtered_routes.ts";
import { data, headers, post } from "../support/h2_frames.ts";
import { H2Server } from "../support/h2_backend.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { TestProxy } from "../support/test_proxy.ts";

const request = (path: string, more = "") => `GET ${path} HTTP/1.1\r\nHost: a.test\r\n${more}\r\n`;

async function statusFor(port: number, text: string): Promise<number> {
  using client = await Peer.connect(port);
  return statusOf(await client.ask(text));
}

const TIMES: RouteSpec = { policy: { timeouts: { responseHead: 100, responseBody: 100 } } };

Deno.test("an HTTP/1.1 backend that does not respond within the route's timeout gives 504", async () => {
  await using backend = new Backend(async (peer) => {
    const asked = await peer.request();
    if (asked?.head.startsWith("GET /plain")) await peer.send(reply("ok"));
    await peer.ended();
  });
  using proxy = new TestProxy([]);
  proxy.server.apply(
    filteredSnapshot({ short: TIMES, plain: {} }, [upstreamTo(WEB, [backend.port])]),
  );
  assert.equal(await statusFor(proxy.port, request("/short")), 504);
  assert.equal(await statusFor(proxy.port, request("/plain")), 200);
});

Deno.test("an HTTP/2 backend that does not respond within the route's timeout gives 504", async () => {
  await using backend = await H2Server.start((stream, head) => {
    if (head[":path"] === "/short") return;
    stream.respond({ ":status": 200 });
    stream.end("ok");
  });
  using proxy = new TestProxy([]);
  proxy.server.apply(
    filteredSnapshot({ short: TIMES, plain: {} }, [upstreamTo(WEB, [backend.port], "h2c")]),
  );
  assert.equal(await statusFor(proxy.port, request("/short")), 504);
  assert.equal(await statusFor(proxy.port, request("/plain")), 200);
});

Deno.test("an endpoint that does not connect within the route's timeout gives 502", async () => {
  // A connection of HTTP/2 is there once the backend's SETTINGS have come.
  await using silent = new Backend(async (peer) => {
    await peer.ended();
  });
  using proxy = new TestProxy([], { connectTimeout: 0 });
  const route = { policy: { timeouts: { connect: 100 } } };
  proxy.server.apply(
    filteredSnapshot({ short: route }, [upstreamTo(WEB, [silent.port], "h2c")]),
  );
  assert.equal(await statusFor(proxy.port, request("/short")), 502);
});

Deno.test("a response whose body stops for longer than the route's timeout is cut", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
    await peer.ended();
  });
  await using other = await H2Server.start((stream) => {
    stream.respond({ ":status": 200, "content-length": "9" });
    stream.write("abc");
  });
  using proxy = new TestProxy([]);
  for (
    const upstream of [
      upstreamTo(WEB, [backend.port]),
      upstreamTo(WEB, [other.port], "h2c"),
    ]
  ) {
    proxy.server.apply(filteredSnapshot({ short: TIMES }, [upstream]));
    using client = await Peer.connect(proxy.port);
    const answer = await client.ask(request("/short"));
    assert.equal(answer.complete, false, upstream.protocol);
    assert.equal(answer.body, "abc");
  }
});

Deno.test("a backend that stops reading for longer than the route's timeout gives 504", async () => {
  const end = signal();
  await using backend = new Backend(() => end.promise);
  await using other = await H2Server.start(() => {});
  using proxy = new TestProxy([], { writeTimeout: 0, responseHeadTimeout: 0 });
  const route = { policy: { timeouts: { send: 100 } } };
  for (
    const upstream of [
      upstreamTo(WEB, [backend.port]),
      upstreamTo(WEB, [other.port], "h2c"),
    ]
  ) {
    proxy.server.apply(filteredSnapshot({ short: route }, [upstream]));
    using client = await Peer.connect(proxy.port);
    await client.send(PUT("/short", "Content-Length: 1000000000\r\n\r\n"));
    const uploading = (async () => {
      const part = new Uint8Array(1 << 20);
      while (await client.send(part));
    })();
    assert.equal(statusOf(await client.answer()), 504, upstream.protocol);
    client.close();
    await uploading;
  }
  end.resolve();
});

Deno.test("a WebSocket that is silent for longer than the route's timeout is closed", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
    );
    await peer.ended();
  });
  using proxy = new TestProxy([], { tunnelIdleTimeout: 0 });
  const route = { policy: { timeouts: { tunnelIdle: 100 } } };
  proxy.server.apply(filteredSnapshot({ short: route }, [upstreamTo(WEB, [backend.port])]));
  using client = await Peer.connect(proxy.port);
  await client.send(request(
    "/short",
    "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
  ));
  await client.ended();
  assert.ok(client.received > 0);
  assert.ok(proxy.codes.includes("tunnel_idle"));
});

Deno.test("a route that allows one try uses one endpoint, others retry on another", async () => {
  await using closing = new Backend(async (peer) => {
    await peer.request();
  });
  await using backend = new Backend();
  using proxy = new TestProxy([], { ejectionFailures: 0 });
  const endpoints = upstreamTo(WEB, [closing.port, backend.port]);
  proxy.server.apply(filteredSnapshot({ once: { policy: { tries: 1 } }, plain: {} }, [endpoints]));
  const once = [];
  const plain = [];
  for (let i = 0; i < 4; i++) once.push(await statusFor(proxy.port, request("/once")));
  for (let i = 0; i < 4; i++) plain.push(await statusFor(proxy.port, request("/plain")));
  assert.deepEqual(once.sort(), [200, 200, 502, 502]);
  assert.deepEqual(plain, [200, 200, 200, 200]);
});

Deno.test("a route may use each connection to a backend for one request", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([]);
  const routes = { once: { policy: { upstreamKeepAlive: false as const } }, plain: {} };
  proxy.server.apply(filteredSnapshot(routes, [upstreamTo(WEB, [backend.port])]));
  using client = await Peer.connect(proxy.port);
  await using overHttp2 = await H2Peer.connect(proxy.port);
  for (
    const [connections, ask] of [
      [1, async () => statusOf(await client.ask(request("/once")))],
      [2, async () => statusOf(await client.ask(request("/once")))],
      [3, async () => {
        await overHttp2.send(headers(1, post("/once")), data(1, "a", { end: true }));
        return (await overHttp2.answer(1)).status;
      }],
      [4, async () => statusOf(await client.ask(request("/plain")))],
      [4, async () => statusOf(await client.ask(request("/plain")))],
    ] as const
  ) {
    assert.equal(await ask(), 200);
    assert.equal(backend.accepted, connections);
  }
});

const BUFFERED: RouteSpec = { policy: { requestBuffer: 10_000 } };

Deno.test("a route with a request buffer contacts no endpoint before the body is there", async () => {
  const seen: string[] = [];
  await using backend = new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      seen.push(asked.head.split("\r\n").find((line) => /^(content-length|transfer)/i.test(line))!);
      await peer.send(reply(asked.body));
    }
  });
  using proxy = new TestProxy([]);
  const upstreams = [upstreamTo(WEB, [backend.port])];
  proxy.server.apply(filteredSnapshot({ buffered: BUFFERED, plain: {} }, upstreams));
  const body = "0123456789".repeat(900);
  const chunks = ["3\r\nabc\r\n", "2\r\nde\r\n0\r\n\r\n"] as const;
  for (
    const [framing, first, rest, expected] of [
      [`Content-Length: ${body.length}\r\n\r\n`, body.slice(0, 100), body.slice(100), body],
      ["Transfer-Encoding: chunked\r\n\r\n", ...chunks, "abcde"],
    ]
  ) {
    using client = await Peer.connect(proxy.port);
    const before = backend.accepted;
    await client.send(PUT("/buffered", framing) + first);
    // The proxy has read what came before, and has no connection of its own to use again.
    for (let i = 0; i < 3; i++) {
      using other = await Peer.connect(proxy.port);
      await other.ask("GET /none HTTP/1.1\r\nHost: a.test\r\n\r\n");
    }
    assert.equal(backend.accepted, before);
    await client.send(rest);
    const answer = await client.answer();
    assert.deepEqual([statusOf(answer), answer.body], [200, expected]);
    proxy.server.apply(filteredSnapshot({ plain: {} }, []));
    proxy.server.apply(filteredSnapshot({ buffered: BUFFERED, plain: {} }, upstreams));
  }
  assert.deepEqual(seen.map((line) => line.toLowerCase()), [
    `content-length: ${body.length}`,
    "content-length: 5",
  ]);
});

Deno.test("a longer body than the request buffer is streamed, whole, also over HTTP/2", async () => {
  await using backend = new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      await peer.send(reply(asked.body));
    }
  });
  using proxy = new TestProxy([]);
  proxy.server.apply(filteredSnapshot({ buffered: BUFFERED }, [upstreamTo(WEB, [backend.port])]));
  const body = "0123456789".repeat(5_000);
  using client = await Peer.connect(proxy.port);
  await client.send(PUT("/buffered", `Content-Length: ${body.length}\r\n\r\n`));
  for (let at = 0; at < 40_000; at += 8_000) await client.send(body.slice(at, at + 8_000));
  await until("the backend is contacted", () => backend.accepted === 1);
  await client.send(body.slice(40_000));
  assert.equal((await client.answer()).body, body);
  await using overHttp2 = await H2Peer.connect(proxy.port);
  for (const [id, sent] of [[1, "abc"], [3, "x".repeat(15_000)]] as const) {
    await overHttp2.send(headers(id, post("/buffered")), data(id, sent, { end: true }));
    const answer = await overHttp2.answer(id);
    assert.deepEqual([answer.status, answer.body], [200, sent]);
  }
});

Deno.test("a body that is too large or never comes is replied to, and no endpoint is contacted", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([], { bodyTimeout: 200 });
  const routes = { buffered: { policy: { requestBuffer: 10_000, bodyLimit: 5 } } };
  proxy.server.apply(filteredSnapshot(routes, [upstreamTo(WEB, [backend.port])]));
  assert.equal(await statusFor(proxy.port, PUT("/buffered", CHUNKED)), 413);
  assert.equal(await statusFor(proxy.port, PUT("/buffered", "Content-Length: 5\r\n\r\nab")), 408);
  assert.equal(backend.accepted, 0);
});

Deno.test("requests of a route without access log have no line, whatever becomes of them", async () => {
  await using backend = new Backend();
  using observed = new ObservedProxy([]);
  const policy = { accessLog: false as const, bodyLimit: 2 };
  const routes = { quiet: { policy }, plain: {} };
  observed.proxy.server.apply(filteredSnapshot(routes, [upstreamTo(WEB, [backend.port])]));
  using client = await Peer.connect(observed.port);
  for (const path of ["/quiet/1", "/plain/2", "/quiet/3", "/none/4"]) {
    await client.ask(request(path));
  }
  assert.equal(statusOf(await client.ask(PUT("/quiet/5", FIVE))), 413);
  await using overHttp2 = await H2Peer.connect(observed.port);
  for (const [id, path] of [[1, "/quiet/6"], [3, "/plain/7"]] as const) {
    await overHttp2.send(headers(id, post(path)), data(id, "a", { end: true }));
    await overHttp2.answer(id);
  }
  await until("the last line is there", () => observed.written.includes("/plain/7"));
  const paths = (await observed.lines()).map(({ path }) => path);
  assert.deepEqual(paths, ["/plain/2", "/none/4", "/plain/7"]);
});

const PUT = (path: string, framing: string) => `PUT ${path} HTTP/1.1\r\nHost: a.test\r\n${framing}`;
const FIVE = "Content-Length: 5\r\n\r\nabcde";
const SIX = "Content-Length: 6\r\n\r\nabcdef";
const CHUNKED = "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\nabc\r\n0\r\n\r\n";

Deno.test("a body is limited by its route, and by the limit of the process", async () => {
  await using backend = new Backend();
  const routes: Record<string, RouteSpec> = {
    five: { policy: { bodyLimit: 5 } },
    any: { policy: { bodyLimit: 0 } },
    plain: {},
  };
  for (const [bodyBytes, five, six] of [[0, 200, 200], [5, 200, 413], [4, 413, 413]] as const) {
    using proxy = new TestProxy([], { bodyBytes });
    proxy.server.apply(filteredSnapshot(routes, [upstreamTo(WEB, [backend.port])]));
    const ask = (path: string, framing: string) => statusFor(proxy.port, PUT(path, framing));
    assert.equal(await ask("/five", FIVE), five);
    assert.equal(await ask("/five", SIX), 413);
    assert.equal(await ask("/five", CHUNKED), 413);
    assert.equal(await ask("/any", SIX), six);
    assert.equal(await ask("/any", CHUNKED), six);
    assert.equal(await ask("/plain", SIX), six);
    assert.equal(await ask("/plain", CHUNKED), six);
  }
});

Deno.test("a body over HTTP/2 is limited by its route", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([]);
  const routes = { five: { policy: { bodyLimit: 5 } }, any: { policy: { bodyLimit: 0 } } };
  proxy.server.apply(filteredSnapshot(routes, [upstreamTo(WEB, [backend.port])]));
  await using client = await H2Peer.connect(proxy.port);
  const bodies = [
    [1, "/five", "abcde", 200],
    [3, "/five", "abcdef", 413],
    [5, "/any", "abcdef", 200],
  ] as const;
  for (const [id, path, body, status] of bodies) {
    await client.send(headers(id, post(path)), data(id, body, { end: true }));
    assert.equal((await client.answer(id)).status, status, `${path} ${body}`);
  }
  await client.send(headers(7, post("/five", [["content-length", "6"]])));
  assert.equal((await client.answer(7)).status, 413);
  await client.send(headers(9, post("/five")), data(9, "abc"), data(9, "abc"));
  assert.equal((await client.answer(9)).status, 413);
});
