/** What reaches a backend of HTTP/2, and what comes back from it, by HTTP/1.1 clients. */
import assert from "node:assert/strict";
import { Peer, statusOf, until } from "../support/backend.ts";
import { answerText, echo, H2Server } from "../support/h2_backend.ts";
import { data, headers, repeat } from "../support/h2_frames.ts";
import { H2Backend } from "../support/h2_peer.ts";
import { H2UpstreamProxy } from "../support/h2_upstream.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

/** Waits for a signal. */
function signal() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { promise, give: resolve };
}

Deno.test("a request reaches the backend with its pseudo-header fields, and no connection-specific ones", async () => {
  await using backend = await H2Server.start(answerText("hello"));
  using proxy = new H2UpstreamProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  const answer = await client.ask(
    "DELETE /a/../b?c=%20d HTTP/1.1\r\nHost: A.test:80\r\nCookie: a=b\r\nX-One: 1\r\nX-One: 2\r\n" +
      "Connection: keep-alive, X-Gone\r\nX-Gone: 1\r\nKeep-Alive: timeout=5\r\nTE: trailers\r\n" +
      "Proxy-Connection: close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
  );
  assert.equal(statusOf(answer), 200);
  assert.equal(answer.body, "hello");
  const [head] = backend.heads;
  assert.equal(head[":method"], "DELETE");
  assert.equal(head[":scheme"], "http");
  assert.equal(head[":authority"], "A.test:80");
  assert.equal(head[":path"], "/b?c=%20d");
  assert.equal(head.cookie, "a=b");
  assert.equal(head["x-one"], "1, 2");
  assert.equal(head.te, "trailers");
  assert.equal(head["x-forwarded-for"], "127.0.0.1");
  assert.equal(head["x-forwarded-host"], "A.test:80");
  assert.match(String(head["cdn-loop"]), /^pingress-[0-9a-f]{16}$/);
  for (
    const name of [
      "host",
      "connection",
      "x-gone",
      "keep-alive",
      "proxy-connection",
      "upgrade",
      "http2-settings",
    ]
  ) assert.equal(head[name], undefined, name);
});

Deno.test("a body of known length keeps its length, in both directions", async () => {
  await using backend = await H2Server.start((stream, head) => {
    stream.respond({ ":status": 201, "content-length": head["content-length"] });
    stream.pipe(stream);
  });
  using proxy = new H2UpstreamProxy([backend.port]);
  for (const length of [1, 1_000, 16_384, 70_000, 1_000_000]) {
    using client = await Peer.connect(proxy.port);
    const body = "0123456789".repeat(length / 10 + 1).slice(0, length);
    const answer = await client.ask(
      `POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${length}\r\n\r\n${body}`,
    );
    assert.equal(statusOf(answer), 201);
    assert.equal(answer.framing, "length");
    assert.equal(answer.body === body, true, `${length} bytes`);
    assert.equal(backend.heads.at(-1)!["content-length"], String(length));
  }
  assert.equal(backend.connections, 1);
});

Deno.test("a chunked body is forwarded without a length, and trailers are returned", async () => {
  await using backend = await H2Server.start((stream) => {
    stream.respond({ ":status": 200 }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "x-sum": "42", "content-length": "7" }));
    stream.pipe(stream);
  });
  using proxy = new H2UpstreamProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  const answer = await client.ask(
    "POST / HTTP/1.1\r\nHost: a.test\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n" +
      "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
  );
  assert.equal(answer.body, "hello world");
  assert.match(answer.trailers, /^x-sum: 42\r\n$/i);
  assert.equal(backend.heads[0]["content-length"], undefined);
  assert.equal(backend.heads[0]["transfer-encoding"], undefined);
});

Deno.test("trailers of a gRPC request reach the backend, and the backend's reach the client", async () => {
  await using backend = await H2Server.start(echo);
  using proxy = new H2UpstreamProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  const answer = await client.ask(
    "POST /a.B/C HTTP/1.1\r\nHost: a.test\r\nTE: trailers\r\nContent-Type: application/grpc\r\n" +
      "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Seen: yes\r\n\r\n",
  );
  assert.equal(answer.body, "abc");
  assert.match(answer.trailers, /^x-seen: yes\r\n$/i);
  assert.equal(backend.heads[0].te, "trailers");
});

Deno.test("trailers reach an HTTP/2 backend, except fields that are only valid before the body", async () => {
  await using backend = await H2Server.start(echo);
  using proxy = new H2UpstreamProxy([backend.port]);
  const refused = [
    "Content-Length: 5",
    "Transfer-Encoding: chunked",
    "Host: b.test",
    "Authorization: Basic eDp5",
    "Proxy-Authorization: Basic eDp5",
    "Cookie: a=b",
    "Connection: close",
    "TE: trailers",
    "Trailer: X-Seen",
    "Upgrade: h2c",
    "Expect: 100-continue",
    "Content-Type: text/html",
    "Cache-Control: no-store",
    "X-Forwarded-For: 10.0.0.1",
    "X.Forwarded.For: 10.0.0.1",
    "X-Real-IP: 10.0.0.1",
    "X-Request-Id: mine",
    "X-Original-URL: /admin",
    "X-Rewrite-URL: /admin",
    "Proxy: http://proxy.test",
    "Forwarded: for=10.0.0.1",
    "Content_Length: 5",
  ];
  using client = await Peer.connect(proxy.port);
  const answer = await client.ask(
    "POST / HTTP/1.1\r\nHost: a.test\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n" +
      `3\r\nabc\r\n0\r\n${refused.join("\r\n")}\r\nX-Seen: yes\r\n\r\n`,
  );
  assert.equal(answer.body, "abc");
  assert.match(answer.trailers, /^x-seen: yes\r\n$/i);
});

Deno.test("a hundred simultaneous requests share one connection", async () => {
  let most = 0;
  let under = 0;
  const all = signal();
  await using backend = await H2Server.start(async (stream) => {
    most = Math.max(most, ++under);
    if (most === 100) all.give();
    await all.promise;
    under--;
    stream.respond({ ":status": 200 });
    stream.end("ok");
  });
  using proxy = new H2UpstreamProxy([backend.port]);
  const bodies = await Promise.all(Array.from({ length: 100 }, async () => {
    using client = await Peer.connect(proxy.port);
    return (await client.ask(GET)).body;
  }));
  assert.deepEqual(new Set(bodies), new Set(["ok"]));
  assert.equal(most, 100);
  assert.equal(backend.connections, 1);
});

Deno.test("interim responses are sent before the final one, each unchanged", async () => {
  await using backend = await H2Server.start((stream) => {
    stream.additionalHeaders({ ":status": 103, link: "</a.css>; rel=preload" });
    stream.additionalHeaders({ ":status": 103, link: "</b.css>; rel=preload" });
    stream.respond({ ":status": 200 });
    stream.end("ok");
  });
  using proxy = new H2UpstreamProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(GET);
  const heads = [];
  for (let i = 0; i < 3; i++) heads.push((await client.reader.message("response"))!.head);
  assert.match(heads[0], /^HTTP\/1\.1 103 [\s\S]*link: <\/a\.css>/);
  assert.match(heads[1], /^HTTP\/1\.1 103 [\s\S]*link: <\/b\.css>/);
  assert.match(heads[2], /^HTTP\/1\.1 200 /);
});

Deno.test("a client that waits for 100 (Continue) gets it from the backend", async () => {
  await using backend = await H2Server.start((stream, head) => {
    if (head.expect === "100-continue") stream.additionalHeaders({ ":status": 100 });
    return echo(stream, head, backend);
  });
  using proxy = new H2UpstreamProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(
    "POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
  );
  assert.match((await client.reader.message("response"))!.head, /^HTTP\/1\.1 100 /);
  assert.equal((await client.ask("hello")).body, "hello");
});

Deno.test("a client that stops after its 100 (Continue) gets 408, and its backend is not at fault", async () => {
  await using backend = await H2Server.start((stream) => {
    stream.additionalHeaders({ ":status": 100 });
    stream.resume();
  });
  using proxy = new H2UpstreamProxy([backend.port], {
    limits: { responseHeadTimeout: 1_500, bodyTimeout: 2_500 },
  });
  using client = await Peer.connect(proxy.port);
  await client.send(
    "POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
  );
  assert.match((await client.reader.message("response"))!.head, /^HTTP\/1\.1 100 /);
  assert.equal(statusOf(await client.answer()), 408);
});

for (
  const [name, request, status, head] of [
    ["HEAD", "HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n", 200, { "content-length": "5" }],
    ["304", GET, 304, { "content-length": "5" }],
    ["204", GET, 204, {}],
  ] as const
) {
  Deno.test(`a response without a body is complete: ${name}`, async () => {
    await using backend = await H2Server.start((stream) => {
      stream.respond({ ":status": status, ...head }, { endStream: true });
    });
    using proxy = new H2UpstreamProxy([backend.port]);
    using client = await Peer.connect(proxy.port);
    for (let i = 0; i < 3; i++) {
      await client.send(request);
      const kind = name === "HEAD" ? "response to HEAD" : "response";
      const answer = await client.answer(kind as "response");
      assert.equal(statusOf(answer), status);
    }
    assert.equal(backend.connections, 1);
    assert.equal(backend.heads.length, 3);
  });
}

Deno.test("a response is forwarded as the backend writes it, not when it is complete", async () => {
  const seen = signal();
  await using backend = await H2Server.start(async (stream) => {
    stream.respond({ ":status": 200, "content-type": "text/event-stream" });
    stream.write("first");
    await seen.promise;
    stream.end("second");
  });
  using proxy = new H2UpstreamProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(GET);
  let text = "";
  while (!text.includes("first")) text += new TextDecoder().decode((await client.read())!);
  assert.equal(text.includes("second"), false);
  seen.give();
  while (!text.includes("second")) text += new TextDecoder().decode((await client.read())!);
});

Deno.test("a response may arrive a byte at a time", async () => {
  const count = 20_000;
  await using backend = new H2Backend(async (peer) => {
    await peer.until("the request", () => peer.stream(1).heads.length > 0);
    await peer.send(headers(1, [[":status", "200"]]), repeat(count, () => data(1, "x")));
    await peer.send(data(1, "", { end: true }));
    await peer.ended();
  });
  using proxy = new H2UpstreamProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  assert.equal((await client.ask(GET)).body, "x".repeat(count));
});

Deno.test("a client that leaves cancels its stream, and the connection serves the others", async () => {
  const cancelled = signal();
  await using backend = await H2Server.start((stream, head) => {
    if (head[":path"] !== "/slow") return answerText("ok")(stream, head, backend);
    stream.on("close", () => {
      assert.equal(stream.rstCode, 8);
      cancelled.give();
    });
  });
  using proxy = new H2UpstreamProxy([backend.port]);
  const gone = await Peer.connect(proxy.port);
  await gone.send("GET /slow HTTP/1.1\r\nHost: a.test\r\n\r\n");
  await until("the request at the backend", () => backend.heads.length === 1);
  gone.close();
  await cancelled.promise;
  using client = await Peer.connect(proxy.port);
  assert.equal((await client.ask(GET)).body, "ok");
  assert.equal(backend.connections, 1);
  await until("no request is under way", () => proxy.server.upstreamRequestCount === 0);
});

Deno.test("a backend that responds before the end of the upload may leave the rest unread", async () => {
  await using backend = await H2Server.start((stream) => {
    stream.respond({ ":status": 403 });
    stream.end("no");
    stream.close();
  });
  using proxy = new H2UpstreamProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(
    "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10000000\r\n\r\nfirst bytes",
  );
  const answer = await client.answer();
  assert.equal(statusOf(answer), 403);
  assert.equal(answer.body, "no");
  using next = await Peer.connect(proxy.port);
  assert.equal(statusOf(await next.ask(GET)), 403);
  assert.equal(backend.connections, 1);
});
