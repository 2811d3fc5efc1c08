/** WebSockets to backends of HTTP/2 (RFC 8441), and where those do not take them. */
import assert from "node:assert/strict";
import { Peer, statusOf, until } from "../support/backend.ts";
import { H2Server } from "../support/h2_backend.ts";
import { CODE, data, headers, rstStream, SETTING } from "../support/h2_frames.ts";
import { H2Backend, type H2Peer } from "../support/h2_peer.ts";
import { H2UpstreamProxy } from "../support/h2_upstream.ts";
import { authority, certificateFor } from "../support/tls_proxy.ts";

/** The key of RFC 6455 §1.3, and what it is answered with. */
const KEY = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
const HANDSHAKE = "GET /chat?x=1 HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\n" +
  `Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${KEY}\r\n` +
  "Sec-WebSocket-Protocol: chat\r\n\r\n";
const TUNNELS = { settings: [[SETTING.ENABLE_CONNECT_PROTOCOL, 1]] } as const;

const LAST_WORDS = data(1, "last words", { end: true });

const asked = (peer: H2Peer) => peer.stream(1).heads.length > 0;

/** Reads until all of this has come. */
async function expect(client: Peer, text: string): Promise<void> {
  let seen = "";
  while (!seen.includes(text)) {
    const view = await client.read();
    if (view === null) throw new Error(`ended after ${JSON.stringify(seen)}`);
    for (const byte of view) seen += String.fromCharCode(byte);
  }
}

Deno.test("a WebSocket uses extended CONNECT, and bytes are forwarded both ways until both ends close", async () => {
  let head: Record<string, string> = {};
  await using backend = new H2Backend(async (peer) => {
    await peer.until("the request", () => asked(peer));
    head = Object.fromEntries(peer.stream(1).heads[0]);
    await peer.send(headers(1, [[":status", "200"], ["sec-websocket-protocol", "chat"]]));
    await peer.until("bytes", () => peer.stream(1).body.includes("from client"));
    await peer.send(data(1, "from backend"));
    await peer.until("the client's end", () => peer.stream(1).ended);
    await peer.send(data(1, "last words", { end: true }));
    await peer.ended();
  }, TUNNELS);
  using proxy = new H2UpstreamProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(HANDSHAKE);
  const answer = (await client.reader.message("response"))!;
  assert.match(answer.head, /^HTTP\/1\.1 101 Switching Protocols\r\n/);
  assert.match(
    answer.head,
    new RegExp(`\r\nsec-websocket-accept: ${ACCEPT.replace("+", "\\+")}\r\n`, "i"),
  );
  assert.match(answer.head, /\r\nsec-websocket-protocol: chat\r\n/i);
  assert.match(answer.head, /\r\nupgrade: websocket\r\n/i);
  assert.match(answer.head, /\r\nconnection: upgrade\r\n/i);
  assert.equal(head[":method"], "CONNECT");
  assert.equal(head[":protocol"], "websocket");
  assert.equal(head[":scheme"], "http");
  assert.equal(head[":path"], "/chat?x=1");
  assert.equal(head[":authority"], "a.test");
  assert.equal(head["sec-websocket-version"], "13");
  assert.equal(head["sec-websocket-protocol"], "chat");
  for (const name of ["sec-websocket-key", "upgrade", "connection", "content-length"]) {
    assert.equal(name in head, false, name);
  }
  await client.send("from client");
  await expect(client, "from backend");
  await client.finish();
  await expect(client, "last words");
  assert.equal(await client.ended(), "closes");
  await until("no request is under way", () => proxy.server.upstreamRequestCount === 0);
  assert.deepEqual(proxy.failures, []);
});

Deno.test("large amounts are forwarded both ways at once, within the windows", async () => {
  const size = 2_000_000;
  await using backend = await H2Server.start((stream) => {
    stream.respond({ ":status": 200 });
    stream.pipe(stream);
  }, { settings: { enableConnectProtocol: true } });
  using proxy = new H2UpstreamProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(HANDSHAKE);
  assert.match((await client.reader.message("response"))!.head, /^HTTP\/1\.1 101 /);
  const before = client.received;
  const sending = client.send(new Uint8Array(size));
  while (client.received - before < size && await client.read() !== null);
  await sending;
  assert.equal(client.received - before, size);
});

Deno.test("a handshake that the backend rejects gets the backend's response", async () => {
  await using backend = new H2Backend(async (peer) => {
    await peer.until("the request", () => asked(peer));
    await peer.send(headers(1, [[":status", "403"], ["content-length", "2"]]));
    await peer.send(data(1, "no", { end: true }));
    await peer.ended();
  }, TUNNELS);
  using proxy = new H2UpstreamProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  const answer = await client.ask(HANDSHAKE);
  assert.equal(statusOf(answer), 403);
  assert.equal(answer.body, "no");
});

Deno.test("a backend that resets the tunnel ends it for the client", async () => {
  await using backend = new H2Backend(async (peer) => {
    await peer.until("the request", () => asked(peer));
    await peer.send(headers(1, [[":status", "200"]]), rstStream(1, CODE.CONNECT_ERROR));
    await peer.ended();
  }, TUNNELS);
  using proxy = new H2UpstreamProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(HANDSHAKE);
  await client.ended();
  await until("no request is under way", () => proxy.server.upstreamRequestCount === 0);
});

for (
  const [name, ...last] of [
    ["resets it without an error", [LAST_WORDS], [rstStream(1, CODE.NO_ERROR)]],
    ["resets it at the same time", [LAST_WORDS, rstStream(1, CODE.NO_ERROR)]],
    ["cancels it", [LAST_WORDS], [rstStream(1, CODE.CANCEL)]],
    ["ends its connection", [LAST_WORDS]],
  ] as const
) {
  Deno.test(`a backend that ends the tunnel and then ${name} ends it for a client that is silent`, async () => {
    await using backend = new H2Backend(async (peer) => {
      await peer.until("the request", () => asked(peer));
      await peer.send(headers(1, [[":status", "200"]]));
      await peer.until("an open tunnel", () => peer.stream(1).body === "first words");
      for (const frames of last) await peer.send(...frames);
      if (name !== "ends its connection") await peer.ended();
    }, TUNNELS);
    using proxy = new H2UpstreamProxy([backend.port]);
    using client = await Peer.connect(proxy.port);
    await client.send(`${HANDSHAKE}first words`);
    await expect(client, "last words");
    await client.ended();
    await until("no request is under way", () => proxy.server.upstreamRequestCount === 0);
    await until("no tunnel is open", () => proxy.server.connectionCount === 0);
  });
}

Deno.test("a client that leaves resets the tunnel, and the connection stays open", async () => {
  let code: number | null = null;
  await using backend = new H2Backend(async (peer) => {
    await peer.until("the request", () => asked(peer));
    await peer.send(headers(1, [[":status", "200"]]));
    await peer.until("the end of the tunnel", () => peer.stream(1).over);
    code = peer.stream(1).reset;
    await peer.until("the next request", () => peer.stream(3).heads.length > 0);
    await peer.send(headers(3, [[":status", "204"]], { end: true }));
    await peer.ended();
  }, TUNNELS);
  using proxy = new H2UpstreamProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(HANDSHAKE);
  await client.reader.message("response");
  client.close();
  using next = await Peer.connect(proxy.port);
  const answer = await next.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
  assert.equal(statusOf(answer), 204);
  assert.equal(code === null || code === CODE.CANCEL, true);
  assert.equal(backend.accepted, 1);
});

for (
  const [name, options, protocol] of [
    ["websocket", {}, "websocket"],
    ["another protocol", TUNNELS, "chat/1"],
  ] as const
) {
  Deno.test(`h2c: a backend without extended CONNECT gives 502 with a remedy: ${name}`, async () => {
    await using backend = new H2Backend(async (peer) => {
      await peer.until("a request", () => asked(peer));
      await peer.send(headers(1, [[":status", "204"]], { end: true }));
      await peer.ended();
    }, options);
    using proxy = new H2UpstreamProxy([backend.port]);
    using client = await Peer.connect(proxy.port);
    const answer = await client.ask(
      HANDSHAKE.replace("Upgrade: websocket", `Upgrade: ${protocol}`),
    );
    assert.equal(statusOf(answer), 502);
    assert.match(
      proxy.failures[0],
      new RegExp(`^upstream_refused: .* takes no ${protocol} over HTTP/2; .*HTTP/1\\.1`),
    );
    // It costs the endpoint nothing.
    using next = await Peer.connect(proxy.port);
    assert.equal(statusOf(await next.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")), 204);
    assert.equal(backend.accepted, 1);
  });
}

Deno.test("https: a WebSocket uses HTTP/1.1 if HTTP/2 does not support it", async () => {
  const certificate = await certificateFor("web", { names: ["web.default.svc"] });
  await using backend = await H2Server.start((stream) => {
    stream.respond({ ":status": 200 });
    stream.end("http/2");
  }, { certificate, allowHTTP1: true });
  using proxy = new H2UpstreamProxy([backend.port], {
    protocol: "https",
    tls: { serverName: "web.default.svc", ca: { kind: "pem", pem: authority.certificate } },
  });
  for (let i = 0; i < 3; i++) {
    using client = await Peer.connect(proxy.port);
    assert.equal((await client.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")).body, "http/2");
    // It answers handshakes like any other request, and says what it was asked by.
    assert.equal((await client.ask(HANDSHAKE)).body, "http/1.1");
  }
  assert.deepEqual(proxy.failures, []);
});
