/** Clients that send FIN after their request and read on (RFC 9112 §9.6), and those that are gone. */
import assert from "node:assert/strict";
import { Backend, Peer, playOk, reply, signal, until } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

const POST = "POST / HTTP/1.1\r\nHost: a.test\r\n";

/** What a client says before FIN, and how many answers it is owed. */
const REQUESTS: readonly { readonly text: string; readonly answers: number }[] = [
  { text: GET, answers: 1 },
  { text: "GET / HTTP/1.0\r\n\r\n", answers: 1 },
  { text: `${POST}Content-Length: 3\r\n\r\nabc`, answers: 1 },
  { text: `${POST}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`, answers: 1 },
  { text: GET + GET, answers: 2 },
];

for (const wait of [0, 1_300]) {
  Deno.test(`requests followed by FIN get their responses after ${wait} ms`, async () => {
    await using backend = new Backend(async (peer) => {
      while (await peer.request() !== null) {
        await pause(wait);
        await peer.send(reply("ok"));
      }
    });
    using proxy = new TestProxy([backend.port]);
    await Promise.all(REQUESTS.map(async ({ text, answers }) => {
      using client = await Peer.connect(proxy.port);
      await client.send(text);
      await client.finish();
      for (let i = 0; i < answers; i++) {
        const answer = await client.answer();
        assert.equal(answer.body, "ok", text);
        assert.ok(answer.complete);
      }
      assert.equal(await client.ended(), "closes");
    }));
  });
}

Deno.test("a half-closed client gets a long body completely, although it pauses in the middle", async () => {
  const size = 8 << 20;
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
    await peer.send(new Uint8Array(size));
    await peer.ended();
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(GET);
  await client.finish();
  await client.read();
  await pause(1_500);
  await client.ended();
  assert.ok(client.received > size, `${client.received} bytes came`);
});

Deno.test("a half-closed client gets a body that pauses in the middle", async () => {
  await using backend = new Backend(async (peer) => {
    const chunked = (await peer.request())!.head.startsWith("GET /chunked ");
    await pause(50);
    const coding = chunked ? "Transfer-Encoding: chunked" : "Content-Length: 6";
    await peer.send(`HTTP/1.1 200 OK\r\n${coding}\r\n\r\n${chunked ? "3\r\nabc\r\n" : "abc"}`);
    await pause(1_500);
    await peer.send(chunked ? "3\r\ndef\r\n0\r\n\r\n" : "def");
    await peer.ended();
  });
  using proxy = new TestProxy([backend.port]);
  await Promise.all(["/chunked", "/length"].map(async (path) => {
    using client = await Peer.connect(proxy.port);
    await client.send(GET.replace("/", path));
    await client.finish();
    const answer = await client.answer();
    assert.equal(answer.body, "abcdef");
    assert.ok(answer.complete);
  }));
});

Deno.test("a client that closes while it waits is distinguished from a half-closed one", async () => {
  const ended = signal();
  const arrived = signal();
  await using backend = new Backend(async (peer, index) => {
    if (index > 0) return await playOk(peer);
    await peer.request();
    arrived.resolve();
    await peer.ended();
    ended.resolve();
  });
  using proxy = new TestProxy([backend.port]);
  const client = await Peer.connect(proxy.port);
  await client.send(GET);
  await client.finish();
  await arrived.promise;
  client.close();
  await ended.promise;
  await until("the connection is forgotten", () => proxy.server.connectionCount === 0);
});

Deno.test("a client that closes during an event stream ends it, although the backend is silent", async () => {
  const ended = signal();
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    await peer.ended();
    ended.resolve();
  });
  using proxy = new TestProxy([backend.port]);
  {
    using client = await Peer.connect(proxy.port);
    await client.send(GET);
    const head = (await client.reader.head("response"))!;
    assert.match(head.head, / 200 /);
  }
  await ended.promise;
  await until("the connection is forgotten", () => proxy.server.connectionCount === 0);
});

function pause(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}
