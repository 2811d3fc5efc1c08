/** Backends that answer before the request is whole, and what becomes of both connections. */
import assert from "node:assert/strict";
import { Backend, Peer, playOk, reply, signal, statusOf, until } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { textOf } from "../support/latin1.ts";

const POST = "POST / HTTP/1.1\r\nHost: a.test\r\n";
const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

/** Answers the first request at its head, and any other properly. */
async function answerEarly(peer: Peer, index: number): Promise<void> {
  if (index > 0) return await playOk(peer);
  await peer.reader.head("request");
  await peer.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
  await peer.ended();
}

for (const framing of ["Content-Length: 1000", "Transfer-Encoding: chunked"]) {
  Deno.test(`a response to an unfinished upload (${framing}) arrives completely, and both sides close`, async () => {
    await using backend = new Backend(answerEarly);
    using proxy = new TestProxy([backend.port]);
    using client = await Peer.connect(proxy.port);
    const answer = await client.ask(`${POST}${framing}\r\n\r\n3\r\nabc\r\n`);
    assert.equal(statusOf(answer), 403);
    assert.equal(answer.body, "no");
    assert.match(answer.head, /^connection: close\r$/im);
    assert.equal(await client.ended(), "closes");
    await until("the backend's connection ends", () => backend.open.size === 0);
    using another = await Peer.connect(proxy.port);
    assert.equal((await another.ask(GET)).body, "ok");
    assert.equal(backend.accepted, 2);
  });
}

Deno.test("a client that continues uploading after an early response still reads that response", async () => {
  await using backend = new Backend(answerEarly);
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(`${POST}Content-Length: 1000000\r\n\r\n`);
  const sending = (async () => {
    const part = new Uint8Array(10_000);
    for (let i = 0; i < 50; i++) await client.send(part);
  })();
  const answer = await client.answer();
  assert.equal(answer.body, "no");
  await sending;
  assert.equal(await client.ended(), "closes");
});

Deno.test("a client that sends a little more after an early response, and then nothing, is closed", async () => {
  await using backend = new Backend(answerEarly);
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  const answer = await client.ask(`${POST}Content-Length: 1000\r\n\r\n`);
  assert.equal(answer.body, "no");
  await client.send("a few bytes more");
  await until("the proxy lets go of the client", () => proxy.server.connectionCount === 0);
});

Deno.test("a response before the request counts for the first request only", async () => {
  await using backend = new Backend(async (peer, index) => {
    if (index > 0) return await playOk(peer);
    await peer.send(reply("early"));
    await peer.ended();
  });
  using proxy = new TestProxy([backend.port], { responseHeadTimeout: 200 });
  using client = await Peer.connect(proxy.port);
  assert.equal((await client.ask(GET)).body, "early");
  // The connection looks fine, and serves nothing more.
  assert.equal(statusOf(await client.ask(GET)), 504);
  assert.equal((await client.ask(GET)).body, "ok");
});

Deno.test("an upload that the backend stops reading still gets the backend's response", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.reader.head("request");
    await peer.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig");
    // FIN, and later a reset for what is unread.
    await peer.finish();
    await stop.promise;
  });
  const stop = signal();
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  const answering = client.ask(`${POST}Content-Length: 5000000\r\n\r\n`);
  const part = new Uint8Array(100_000);
  for (let i = 0; i < 10; i++) if (!await client.send(part)) break;
  const answer = await answering;
  assert.equal(statusOf(answer), 413);
  assert.equal(answer.body, "big");
  stop.resolve();
});

/** Answers at the request's head, a part every 100 ms, and reads no further. */
async function answerSlowly(peer: Peer): Promise<void> {
  await peer.reader.head("request");
  await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
  for (const digit of "0123456789") {
    await new Promise((resolve) => setTimeout(resolve, 100));
    if (!await peer.send(digit)) return;
  }
}

Deno.test("a client that stops its upload after an early response receives all of it", async () => {
  await using backend = new Backend(answerSlowly);
  using proxy = new TestProxy([backend.port], { bodyTimeout: 300 });
  for (const framing of ["Content-Length: 1000", "Transfer-Encoding: chunked"]) {
    using client = await Peer.connect(proxy.port);
    const answer = await client.ask(`${POST}${framing}\r\n\r\n3\r\nabc\r\n`);
    assert.equal(answer.body, "0123456789");
    assert.ok(answer.complete);
    assert.equal(await client.ended(), "closes");
  }
});

Deno.test("an early response arrives completely while nobody reads the upload", async () => {
  await using backend = new Backend(answerSlowly);
  using proxy = new TestProxy([backend.port], { writeTimeout: 300 });
  using client = await Peer.connect(proxy.port);
  const sending = client.send(`${POST}Content-Length: 50000000\r\n\r\n${"x".repeat(50_000_000)}`);
  const answer = await client.answer();
  assert.equal(answer.body, "0123456789");
  assert.ok(answer.complete);
  await sending;
  await until("the backend's connection ends", () => backend.open.size === 0);
});

Deno.test("a final response in place of 100 reaches the client, and the pool stays clean", async () => {
  await using backend = new Backend(answerEarly);
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  const answer = await client.ask(`${POST}Content-Length: 5\r\nExpect: 100-continue\r\n\r\n`);
  assert.equal(statusOf(answer), 403);
  await until("the backend's connection ends", () => backend.open.size === 0);
  assert.equal(proxy.server.idleUpstreamCount, 0);
  using another = await Peer.connect(proxy.port);
  assert.equal((await another.ask(GET)).body, "ok");
});

Deno.test("the response and the upload can continue at the same time", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.reader.head("request");
    await peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    // Each chunk of the request comes back as it is, and the last one too.
    for (let view = peer.reader.rest; view !== "0\r\n\r\n";) {
      if (view !== "") await peer.send(view);
      const next = await peer.read();
      if (next === null) return;
      view = textOf(next);
    }
    await peer.send("0\r\n\r\n");
    await peer.ended();
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(`${POST}Transfer-Encoding: chunked\r\n\r\n`);
  const answer = (await client.reader.head("response"))!;
  assert.match(answer.head, /^HTTP\/1\.1 200 /);
  for (const word of ["one", "two", "three"]) {
    const chunk = `${word.length}\r\n${word}\r\n`;
    await client.send(chunk);
    let echoed = "";
    while (echoed.length < chunk.length) echoed += textOf((await client.read())!);
    assert.equal(echoed, chunk);
  }
  await client.send("0\r\n\r\n");
  await client.reader.body(answer);
  assert.ok(answer.complete);
});
