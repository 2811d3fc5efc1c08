/**
 * Responses over HTTP/2, frame by frame: what clients get of a backend's HTTP/1.1 response,
 * complete, early, broken off (never to be taken for complete) or interim, and how GOAWAY ends a
 * connection without losing requests (RFC 9113 §6.8).
 */
import assert from "node:assert/strict";
import { Backend, type Peer, reply, signal, until } from "../support/backend.ts";
import {
  data,
  type Field,
  FLAG,
  FRAME,
  get,
  headers,
  ping,
  post,
  PREFACE,
  request,
  rstStream,
  SETTING,
  settings,
  SETTINGS_ACK,
} from "../support/h2_frames.ts";
import { codeName, H2Peer } from "../support/h2_peer.ts";
import { TestProxy } from "../support/test_proxy.ts";
import type { Limits } from "../../proxy/http/limits.ts";

/** A backend that says this to each request's head, and a proxy of h2c before it. */
class Scene {
  readonly backend: Backend;
  readonly proxy: TestProxy;
  #peer: H2Peer | null = null;

  constructor(play: (peer: Peer, head: string) => Promise<void>, limits: Partial<Limits> = {}) {
    this.backend = new Backend(async (peer) => {
      for (;;) {
        const message = await peer.reader.head("request");
        if (message === null) return;
        if (/^GET \/ok /.test(message.head)) await peer.send(reply("ok"));
        else await play(peer, message.head);
        await peer.reader.body(message);
        if (!message.complete) return;
      }
    });
    this.proxy = new TestProxy([this.backend.port], limits, { h2c: true });
  }

  async connect(): Promise<H2Peer> {
    return this.#peer = await H2Peer.connect(this.proxy.port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#peer?.[Symbol.asyncDispose]();
    this.proxy[Symbol.dispose]();
    await this.backend[Symbol.asyncDispose]();
  }
}

function says(text: string): (peer: Peer) => Promise<void> {
  return async (peer) => void await peer.send(text);
}

function namesOf(fields: readonly Field[]): string[] {
  return fields.map(([name]) => name);
}

Deno.test("fields are sent in lower case, without connection-specific ones and HTTP/1.1 framing", async () => {
  await using scene = new Scene(says(
    "HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\nConnection: X-Hop, keep-alive\r\n" +
      "X-Hop: 1\r\nKeep-Alive: timeout=5\r\nX-MiXed: YeS\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n" +
      "Proxy-Connection: close\r\nUpgrade: h2c\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
  ));
  const peer = await scene.connect();
  const message = await peer.ask("/x");
  assert.equal(message.body, "abc");
  const [head] = message.heads;
  assert.deepEqual(head[0], [":status", "200"]);
  for (const [name] of head) assert.equal(name, name.toLowerCase());
  for (
    const name of [
      "transfer-encoding",
      "connection",
      "x-hop",
      "keep-alive",
      "proxy-connection",
      "upgrade",
    ]
  ) {
    assert.ok(!namesOf(head).includes(name), name);
  }
  assert.equal(message.field("x-mixed"), "YeS");
  assert.deepEqual(head.filter(([name]) => name === "set-cookie").map(([, value]) => value), [
    "a=1",
    "b=2",
  ]);
});

Deno.test("trailers of a chunked body become a last HEADERS with END_STREAM", async () => {
  await using scene = new Scene(says(
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n3\r\nabc\r\n0\r\n" +
      "X-Sum: 42\r\nX-More: 1\r\n\r\n",
  ));
  const peer = await scene.connect();
  const message = await peer.ask("/x");
  assert.deepEqual(message.trailers, [["x-sum", "42"], ["x-more", "1"]]);
  const last = peer.frames.findLast(({ stream }) => stream === 1)!;
  assert.equal(last.type, FRAME.HEADERS);
  assert.ok(last.flags & FLAG.END_STREAM);
});

Deno.test("a body of known length ends with its last DATA, and content-length is kept", async () => {
  await using scene = new Scene(says("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"));
  const peer = await scene.connect();
  const message = await peer.ask("/x");
  assert.equal(message.field("content-length"), "3");
  assert.equal(message.body, "abc");
  assert.equal(message.dataFrames, 1);
});

for (
  const [name, method, text, status, length] of [
    ["HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", 200, "3"],
    ["204", "GET", "HTTP/1.1 204 No Content\r\n\r\n", 204, ""],
    ["304", "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", 304, "3"],
    ["an empty body", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "0"],
  ] as const
) {
  Deno.test(`${name} is one HEADERS with END_STREAM`, async () => {
    await using scene = new Scene(says(text));
    const peer = await scene.connect();
    await peer.send(headers(1, request(method, "/x"), { end: true }));
    const message = await peer.answer(1);
    assert.equal(message.status, status);
    assert.equal(message.field("content-length"), length);
    const frames = peer.frames.filter(({ stream }) => stream === 1);
    assert.deepEqual(frames.map(({ type, flags }) => [type, flags]), [[FRAME.HEADERS, 5]]);
  });
}

Deno.test("interim responses are sent before the final one", async () => {
  await using scene = new Scene(says(
    "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" +
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
  ));
  const peer = await scene.connect();
  const { heads, body } = await peer.ask("/x");
  assert.deepEqual(heads.map(([status]) => status), [
    [":status", "103"],
    [":status", "102"],
    [":status", "200"],
  ]);
  assert.deepEqual(heads[0][1], ["link", "</a.css>"]);
  assert.equal(body, "ok");
});

Deno.test("a backend that switches protocols unasked gives 502", async () => {
  await using scene = new Scene(says(
    "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
  ));
  const peer = await scene.connect();
  assert.equal((await peer.ask("/x")).status, 502);
  assert.equal((await peer.ask("/ok")).body, "ok");
});

Deno.test("a head larger than a frame is sent in HEADERS and CONTINUATION, none above 16 KiB", async () => {
  const value = "v".repeat(40_000);
  await using scene = new Scene(
    says(`HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: ${value}\r\n\r\nok`),
  );
  const peer = await scene.connect();
  const message = await peer.ask("/x");
  assert.equal(message.field("x-a"), value);
  assert.ok(peer.count(FRAME.CONTINUATION) >= 1);
  for (const { payload } of peer.frames) assert.ok(payload.length <= 16_384);
  assert.equal((await peer.ask("/ok")).body, "ok");
});

// ── Early and broken ──────────────────────────────────────────────────────────────────────────

Deno.test("a response before the end of an upload is sent completely, then the upload is stopped: NO_ERROR", async () => {
  await using scene = new Scene(async (peer) => {
    await peer.send("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig");
    peer.close();
  });
  const peer = await scene.connect();
  await peer.send(headers(1, post("/x")), data(1, "abc"));
  await peer.until("the stream's reset", () => peer.stream(1).reset !== null);
  assert.equal(peer.stream(1).status, 413);
  assert.equal(peer.stream(1).body, "big");
  assert.ok(peer.stream(1).ended);
  assert.equal(codeName(peer.stream(1).reset), "NO_ERROR");
  // What was on its way is borne, and its room comes back.
  for (let i = 0; i < 8; i++) await peer.send(data(1, "x".repeat(10_000)));
  assert.equal((await peer.ask("/ok")).body, "ok");
});

Deno.test("a local reply before the end of an upload is sent completely, and the connection continues", async () => {
  await using scene = new Scene(says(""));
  const peer = await scene.connect();
  await peer.send(headers(1, request("TRACE", "/x"), { end: true }));
  assert.equal((await peer.answer(1)).status, 405);
  await peer.send(
    headers(3, [...post("/x").slice(0, 2), [":path", "/%zz"], [":authority", "a.test"]]),
  );
  const message = await peer.answer(3);
  assert.ok(message.status >= 400 || message.reset !== null);
  assert.equal((await peer.ask("/ok")).body, "ok");
});

/** What a backend says at last, once its head has come. */
const BROKEN: readonly (readonly [says: string, framing: string, last: string])[] = [
  ["a body shorter than its content-length", "Content-Length: 10", "abc"],
  ["chunks without an end", "Transfer-Encoding: chunked", "3\r\nabc\r\n"],
  ["a malformed chunk", "Transfer-Encoding: chunked", "3\r\nabc\r\nzzz\r\n"],
];

for (const [name, framing, last] of BROKEN) {
  Deno.test(`a backend that aborts with ${name}: INTERNAL_ERROR, never END_STREAM`, async () => {
    const headed = signal();
    await using scene = new Scene(async (peer, head) => {
      if (!head.startsWith("GET /x ")) return void await peer.ended();
      await peer.send(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n`);
      await headed.promise;
      await peer.send(last);
      peer.close();
    });
    const peer = await scene.connect();
    const other = peer.nextStream();
    const stream = peer.nextStream();
    await peer.send(headers(other, post("/later")), headers(stream, get("/x"), { end: true }));
    await peer.until("a head", () => peer.stream(stream).status === 200);
    headed.resolve();
    const message = await peer.answer(stream);
    assert.equal(codeName(message.reset), "INTERNAL_ERROR");
    assert.ok(!message.ended);
    assert.ok(!peer.stream(other).ended);
    assert.equal((await peer.ask("/ok")).body, "ok");
  });
}

Deno.test("a backend that closes before its response gives 502, and the connection continues", async () => {
  await using scene = new Scene((peer) => Promise.resolve(peer.close()));
  const peer = await scene.connect();
  await peer.send(headers(1, post("/x"), {}), data(1, "abc", { end: true }));
  assert.equal((await peer.answer(1)).status, 502);
  assert.equal((await peer.ask("/ok")).body, "ok");
});

Deno.test("a slow response does not block others on its connection", async () => {
  const finish = signal();
  await using scene = new Scene(async (peer) => {
    await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
    await finish.promise;
    await peer.send("def");
  });
  const peer = await scene.connect();
  const slow = peer.nextStream();
  await peer.send(headers(slow, get("/x"), { end: true }));
  await peer.until("its first half", () => peer.stream(slow).body === "abc");
  for (let i = 0; i < 50; i++) assert.equal((await peer.ask("/ok")).body, "ok");
  finish.resolve();
  assert.equal((await peer.answer(slow)).body, "abcdef");
});

Deno.test("DATA is never larger than the client's maximum, and may reach it", async () => {
  const body = "x".repeat(500_000);
  await using scene = new Scene(says(reply(body)));
  await using peer = await H2Peer.connect(scene.proxy.port, {
    settings: [[SETTING.MAX_FRAME_SIZE, 20_000], [SETTING.INITIAL_WINDOW_SIZE, 1_000_000]],
  });
  assert.equal((await peer.ask("/x")).body, body);
  for (const { payload } of peer.frames) assert.ok(payload.length <= 20_000);
});

// ── Tunnels ───────────────────────────────────────────────────────────────────────────────────

const WEBSOCKET: readonly Field[] = [
  [":method", "CONNECT"],
  [":protocol", "websocket"],
  [":scheme", "http"],
  [":path", "/chat"],
  [":authority", "a.test"],
  ["sec-websocket-version", "13"],
  ["origin", "http://a.test"],
];

/** Accepts an upgrade and says back what comes, until FIN. */
async function tunnels(peer: Peer, head: string): Promise<void> {
  const key = /\r\nsec-websocket-key: (.*)\r\n/i.exec(head)?.[1] ?? "";
  const digest = await crypto.subtle.digest(
    "SHA-1",
    new TextEncoder().encode(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`),
  );
  const accept = btoa(String.fromCharCode(...new Uint8Array(digest)));
  await peer.send(
    "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n" +
      `Sec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: chat\r\n\r\n`,
  );
  for (;;) {
    const view = await peer.read();
    if (view === null) break;
    await peer.send(view.slice());
  }
  await peer.finish();
}

Deno.test("extended CONNECT opens a WebSocket that is a stream like any other (RFC 8441)", async () => {
  const heads: string[] = [];
  await using scene = new Scene(async (peer, head) => {
    heads.push(head);
    await tunnels(peer, head);
  });
  const peer = await scene.connect();
  await peer.until("SETTINGS", () => peer.count(FRAME.SETTINGS) > 0);
  assert.equal(peer.setting(SETTING.ENABLE_CONNECT_PROTOCOL), 1);
  await peer.send(headers(1, WEBSOCKET));
  await peer.until("an answer", () => peer.stream(1).heads.length > 0 || peer.stream(1).over);
  assert.equal(peer.stream(1).status, 200);
  const names = namesOf(peer.stream(1).heads[0]);
  for (const name of ["sec-websocket-accept", "upgrade", "connection", "content-length"]) {
    assert.ok(!names.includes(name), name);
  }
  assert.equal(peer.stream(1).field("sec-websocket-protocol"), "chat");
  assert.match(heads[0], /^GET \/chat HTTP\/1\.1\r\n/);
  assert.match(heads[0], /\r\nUpgrade: websocket\r\n/i);
  assert.match(heads[0], /\r\nSec-WebSocket-Key: [A-Za-z0-9+/]{22}==\r\n/i);
  assert.doesNotMatch(heads[0], /:protocol/);
  for (const text of ["one", "two", "x".repeat(40_000)]) {
    const before = peer.stream(1).bytes;
    for (let at = 0; at < text.length; at += 16_000) {
      await peer.send(data(1, text.slice(at, at + 16_000)));
    }
    await peer.until("its echo", () => peer.stream(1).bytes === before + text.length);
    assert.ok(peer.stream(1).body.endsWith(text));
  }
  assert.equal((await peer.ask("/ok")).body, "ok");
  await peer.send(data(1, "", { end: true }));
  assert.ok((await peer.answer(1)).ended);
});

Deno.test("a WebSocket that the backend rejects gets the backend's response", async () => {
  await using scene = new Scene(says("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"));
  const peer = await scene.connect();
  await peer.send(headers(1, WEBSOCKET));
  const message = await peer.answer(1);
  assert.equal(message.status, 403);
  assert.equal(message.body, "no");
  assert.equal((await peer.ask("/ok")).body, "ok");
});

Deno.test("a client that resets a WebSocket ends it at the backend", async () => {
  await using scene = new Scene(tunnels);
  const peer = await scene.connect();
  await peer.send(headers(1, WEBSOCKET));
  await peer.until("an answer", () => peer.stream(1).status === 200);
  await peer.send(rstStream(1));
  await until("the backend's end", () => scene.backend.open.size === 0);
  assert.equal((await peer.ask("/ok")).body, "ok");
});

Deno.test("a switch to another protocol than requested opens no tunnel", async () => {
  await using scene = new Scene(tunnels);
  const peer = await scene.connect();
  await peer.send(
    headers(1, WEBSOCKET.map(([n, v]) => [n, n === ":protocol" ? "connect-udp" : v])),
  );
  const message = await peer.answer(1);
  assert.equal(message.status, 502);
});

for (const protocol of ["h2c", "H2C", "http/1.1", "a b", ""]) {
  Deno.test(`extended CONNECT for "${protocol}" reaches no backend`, async () => {
    await using scene = new Scene(tunnels);
    const peer = await scene.connect();
    await peer.send(headers(1, WEBSOCKET.map(([n, v]) => [n, n === ":protocol" ? protocol : v])));
    const { reset, status } = await peer.answer(1);
    assert.ok(reset !== null || status >= 400);
    assert.equal(scene.backend.accepted, 0);
  });
}

// ── Ends ──────────────────────────────────────────────────────────────────────────────────────

Deno.test("a drain sends GOAWAY in two steps, and streams that cross the first are served (§6.8)", async () => {
  const finish = signal();
  await using scene = new Scene(async (peer) => {
    await finish.promise;
    await peer.send(reply("late"));
  });
  const peer = await H2Peer.connect(scene.proxy.port, { rude: true });
  await peer.send(PREFACE, settings(), SETTINGS_ACK, headers(1, get("/x"), { end: true }));
  await until("the request is with the backend", () => scene.backend.accepted === 1);
  const draining = scene.proxy.server.drain({ delay: 0, timeout: 10_000 });
  await peer.until("GOAWAY", () => peer.goAways === 1);
  assert.deepEqual([peer.goAway!.last, peer.goAway!.code], [0x7fffffff, 0]);
  await peer.until("PING", () => peer.count(FRAME.PING) === 1);
  // This one was on its way.
  await peer.send(headers(3, get("/x"), { end: true }));
  const { payload } = peer.frames.find(({ type }) => type === FRAME.PING)!;
  const pong = ping(0, true);
  pong.set(payload, 9);
  await peer.send(pong);
  await peer.until("the second GOAWAY", () => peer.goAways === 2);
  assert.deepEqual([peer.goAway!.last, peer.goAway!.code], [3, 0]);
  // This one came too late: it is not served, and may be sent elsewhere.
  await peer.send(headers(5, get("/x"), { end: true }));
  finish.resolve();
  assert.equal((await peer.answer(1)).body, "late");
  assert.equal((await peer.answer(3)).body, "late");
  await peer.ended();
  await draining;
  assert.ok(scene.backend.accepted <= 2);
  assert.equal(peer.stream(5).status, 0);
  await peer[Symbol.asyncDispose]();
});

Deno.test("a drain closes an idle connection at once", async () => {
  await using scene = new Scene(says(""));
  const peer = await scene.connect();
  assert.equal((await peer.ask("/ok")).body, "ok");
  const draining = scene.proxy.server.drain({ delay: 0, timeout: 10_000 });
  await peer.ended();
  assert.equal(codeName(peer.goAway?.code), "NO_ERROR");
  assert.equal(peer.goAway?.last, 1);
  await draining;
});

/** From then on (ms) sweeps do not look at a connection each time. */
const RESTING = 1_000;

Deno.test("a connection that is idle for too long ends with GOAWAY, NO_ERROR", async () => {
  await using scene = new Scene(says(""), { clientIdleTimeout: 200 });
  const peer = await scene.connect();
  assert.equal((await peer.ask("/ok")).body, "ok");
  await peer.ended();
  assert.equal(codeName(peer.goAway?.code), "NO_ERROR");
});

Deno.test("a connection that has rested for a while ends with GOAWAY, NO_ERROR", async () => {
  await using scene = new Scene(says(""), { clientIdleTimeout: RESTING + 400 });
  const peer = await scene.connect();
  assert.equal((await peer.ask("/ok")).body, "ok");
  await peer.ended();
  assert.equal(codeName(peer.goAway?.code), "NO_ERROR");
});

Deno.test("half a frame after a rest has its time, and no more", async () => {
  await using scene = new Scene(says(""), { requestHeadTimeout: 300 });
  const peer = await scene.connect();
  assert.equal((await peer.ask("/ok")).body, "ok");
  await new Promise((resume) => setTimeout(resume, RESTING + 400));
  await peer.send(ping().subarray(0, 5));
  await peer.ended();
  assert.equal(codeName(peer.goAway?.code), "PROTOCOL_ERROR");
});

Deno.test("PINGs do not keep an idle connection open", async () => {
  await using scene = new Scene(says(""), { clientIdleTimeout: 300 });
  const peer = await scene.connect();
  while (peer.ending === "") {
    await peer.send(ping());
    await new Promise((resume) => setTimeout(resume, 20));
  }
  assert.equal(codeName(peer.goAway?.code), "NO_ERROR");
});

Deno.test("after the maximum number of requests a connection sends GOAWAY, and all get responses", async () => {
  await using scene = new Scene(says(""), { requestsPerConnection: 10 });
  const peer = await scene.connect();
  let answered = 0;
  while (peer.goAway === null && peer.ending === "") {
    if ((await peer.ask("/ok")).body === "ok") answered++;
  }
  assert.ok(answered >= 10, `${answered} answered`);
  assert.equal(codeName(peer.goAway?.code), "NO_ERROR");
  await peer.ended();
});

Deno.test("a silent peer gets a PING, and is closed if it does not respond", async () => {
  await using scene = new Scene(async (peer) => {
    await peer.ended();
  }, { http2PingTimeout: 200 });
  await using peer = await H2Peer.connect(scene.proxy.port, { rude: true });
  await peer.send(PREFACE, settings(), SETTINGS_ACK, headers(1, get("/x"), { end: true }));
  await peer.until("PING", () => peer.count(FRAME.PING) > 0);
  await peer.ended();
  await until("the backend's end", () => scene.backend.open.size === 0);
});

Deno.test("a peer that acknowledges PINGs may stay silent forever", async () => {
  // More than the pause (`STANDSTILL`) after which a sweep is left out: a shorter one makes no PING overdue.
  const http2PingTimeout = 400;
  const finish = signal();
  await using scene = new Scene(async (peer) => {
    await finish.promise;
    await peer.send(reply("late"));
  }, { http2PingTimeout });
  const peer = await scene.connect();
  await peer.send(headers(1, get("/x"), { end: true }));
  await peer.until("five PINGs", () => peer.count(FRAME.PING) >= 5);
  finish.resolve();
  assert.equal((await peer.answer(1)).body, "late");
});

Deno.test("HTTP/1.1 and HTTP/2 share the plain port", async () => {
  await using scene = new Scene(says(""));
  const peer = await scene.connect();
  assert.equal((await peer.ask("/ok")).body, "ok");
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: scene.proxy.port });
  await connection.write(new TextEncoder().encode("GET /ok HTTP/1.1\r\nHost: a.test\r\n\r\n"));
  const buffer = new Uint8Array(1000);
  const count = await connection.read(buffer);
  assert.match(new TextDecoder().decode(buffer.subarray(0, count!)), /^HTTP\/1\.1 200 /);
  connection.close();
});
