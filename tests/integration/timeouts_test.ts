/** Every time limit, with a small value: what the side that is late gets. */
import assert from "node:assert/strict";
import { Backend, Peer, playOk, reply, signal, statusOf, until } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const POST = "POST / HTTP/1.1\r\nHost: a.test\r\n";

Deno.test("a client that connects and sends nothing is closed without a response", async () => {
  using proxy = new TestProxy([], { requestHeadTimeout: 150 });
  using client = await Peer.connect(proxy.port);
  assert.equal(await client.ended(), "closes");
  assert.equal(client.received, 0);
});

for (const text of ["G", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a.test\r\n", "\r\n"]) {
  Deno.test(`a head that stops at ${JSON.stringify(text)} gets 408`, async () => {
    using proxy = new TestProxy([], { requestHeadTimeout: 150 });
    using client = await Peer.connect(proxy.port);
    const answer = await client.ask(text);
    assert.equal(statusOf(answer), 408);
    assert.match(answer.head, /^connection: close\r$/im);
    assert.equal(await client.ended(), "closes");
  });
}

Deno.test("a later head on the same connection has its own timeout", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port], { requestHeadTimeout: 150 });
  using client = await Peer.connect(proxy.port);
  assert.equal((await client.ask(GET)).body, "ok");
  // Idle for longer than a head may take.
  await pause(400);
  assert.equal((await client.ask(GET)).body, "ok");
  assert.equal(statusOf(await client.ask("GET /")), 408);
});

Deno.test("an idle connection is closed without a response", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port], { clientIdleTimeout: 150 });
  using client = await Peer.connect(proxy.port);
  await client.ask(GET);
  const { received } = client;
  assert.equal(await client.ended(), "closes");
  assert.equal(client.received, received);
});

Deno.test("a steady upload may last longer than the idle timeout of its pooled connection", async () => {
  await using backend = new Backend(async (peer) => {
    for (let message; (message = await peer.request()) !== null;) {
      await peer.send(reply(message.body));
    }
  });
  using proxy = new TestProxy([backend.port], { upstreamIdleTimeout: 200 });
  using client = await Peer.connect(proxy.port);
  assert.equal(statusOf(await client.ask(GET)), 200);
  await client.send(`${POST}Content-Length: 10\r\n\r\n`);
  for (const digit of "0123456789") {
    await pause(60);
    await client.send(digit);
  }
  assert.equal((await client.answer()).body, "0123456789");
  assert.equal(backend.accepted, 1);
});

Deno.test("an upload that stalls on a pooled connection counts against its client", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port], { upstreamIdleTimeout: 100, bodyTimeout: 300 });
  using client = await Peer.connect(proxy.port);
  assert.equal(statusOf(await client.ask(GET)), 200);
  assert.equal(statusOf(await client.ask(`${POST}Content-Length: 10\r\n\r\nabc`)), 408);
});

Deno.test("a backend that never responds gives 504, and its connection is not reused", async () => {
  const ended = signal();
  await using backend = new Backend(async (peer, index) => {
    if (index > 0) return await playOk(peer);
    await peer.ended();
    ended.resolve();
  });
  using proxy = new TestProxy([backend.port], { responseHeadTimeout: 150 });
  using client = await Peer.connect(proxy.port);
  assert.equal(statusOf(await client.ask(GET)), 504);
  await ended.promise;
  assert.equal((await client.ask(GET)).body, "ok");
});

Deno.test("a response whose head trickles gives 504 after the head's total timeout", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.request();
    for (const char of `HTTP/1.1 200 OK\r\nX: ${"x".repeat(1000)}`) {
      if (!await peer.send(char)) return;
      await pause(20);
    }
  });
  using proxy = new TestProxy([backend.port], { responseHeadTimeout: 200 });
  using client = await Peer.connect(proxy.port);
  assert.equal(statusOf(await client.ask(GET)), 504);
});

Deno.test("interim responses do not extend the timeout for the final one", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.request();
    while (await peer.send("HTTP/1.1 102 Processing\r\n\r\n")) await pause(50);
  });
  using proxy = new TestProxy([backend.port], { responseHeadTimeout: 300 });
  using client = await Peer.connect(proxy.port);
  assert.equal(statusOf(await client.ask(GET)), 504);
});

Deno.test("the timeout for a response starts when the upload has ended", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send(reply("ok"));
    await peer.ended();
  });
  using proxy = new TestProxy([backend.port], { responseHeadTimeout: 200 });
  using client = await Peer.connect(proxy.port);
  await client.send(`${POST}Content-Length: 10\r\n\r\n`);
  for (let i = 0; i < 10; i++) {
    await pause(60);
    await client.send("x");
  }
  assert.equal((await client.answer()).body, "ok");
});

for (const framing of ["Content-Length: 5", "Transfer-Encoding: chunked"]) {
  Deno.test(`a backend that reads an upload (${framing}) and never responds gives 504`, async () => {
    await using backend = new Backend(async (peer) => void await peer.ended());
    using proxy = new TestProxy([backend.port], { responseHeadTimeout: 200 });
    using client = await Peer.connect(proxy.port);
    await client.send(`${POST}${framing}\r\n\r\n`);
    await until("the head has gone", () => backend.open.size === 1);
    await client.send(framing.startsWith("C") ? "abcde" : "5\r\nabcde\r\n0\r\n\r\n");
    assert.equal(statusOf(await client.answer()), 504);
  });
}

Deno.test("a backend that sends 100, reads the upload and never responds gives 504", async () => {
  await using backend = new Backend(async (peer) => {
    const message = (await peer.reader.head("request"))!;
    await peer.send("HTTP/1.1 100 Continue\r\n\r\n");
    await peer.reader.body(message);
    await peer.ended();
  });
  using proxy = new TestProxy([backend.port], { responseHeadTimeout: 200 });
  using client = await Peer.connect(proxy.port);
  await client.send(`${POST}Content-Length: 5\r\nExpect: 100-continue\r\n\r\n`);
  assert.match((await client.reader.head("response"))!.head, /^HTTP\/1\.1 100 /);
  assert.equal(statusOf(await client.ask("abcde")), 504);
});

Deno.test("a backend that never sends 100 gives 504, and the waiting client is not at fault", async () => {
  await using backend = new Backend(async (peer) => void await peer.ended());
  using proxy = new TestProxy([backend.port], { responseHeadTimeout: 300, bodyTimeout: 150 });
  using client = await Peer.connect(proxy.port);
  const answer = await client.ask(`${POST}Content-Length: 5\r\nExpect: 100-continue\r\n\r\n`);
  assert.equal(statusOf(answer), 504);
});

Deno.test("a client that stops after its 100 gets 408", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.reader.head("request");
    await peer.send("HTTP/1.1 100 Continue\r\n\r\n");
    await peer.ended();
  });
  using proxy = new TestProxy([backend.port], { responseHeadTimeout: 10_000, bodyTimeout: 200 });
  using client = await Peer.connect(proxy.port);
  await client.send(`${POST}Content-Length: 5\r\nExpect: 100-continue\r\n\r\n`);
  assert.match((await client.reader.head("response"))!.head, /^HTTP\/1\.1 100 /);
  assert.equal(statusOf(await client.ask("abc")), 408);
});

Deno.test("a response body that stops is cut, and one that trickles continues", async () => {
  await using backend = new Backend(async (peer) => {
    const { head } = (await peer.request())!;
    await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n");
    for (let i = 0; i < (head.startsWith("GET /stops ") ? 3 : 20); i++) {
      await pause(40);
      await peer.send("x");
    }
    await peer.ended();
  });
  using proxy = new TestProxy([backend.port], { responseBodyTimeout: 300 });
  using one = await Peer.connect(proxy.port);
  using two = await Peer.connect(proxy.port);
  const [stopped, trickled] = await Promise.all([
    one.ask(GET.replace("/", "/stops")),
    two.ask(GET),
  ]);
  assert.ok(!stopped.complete);
  assert.equal(trickled.body, "x".repeat(20));
  assert.ok(trickled.complete);
});

Deno.test("a backend that stops reading an upload gives 504", async () => {
  const end = signal();
  await using backend = new Backend(() => end.promise);
  using proxy = new TestProxy([backend.port], { writeTimeout: 200 });
  using client = await Peer.connect(proxy.port);
  await client.send(`${POST}Content-Length: 1000000000\r\n\r\n`);
  const uploading = (async () => {
    const part = new Uint8Array(1 << 20);
    while (await client.send(part));
  })();
  assert.equal(statusOf(await client.answer()), 504);
  client.close();
  await uploading;
  end.resolve();
});

function pause(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}
