/** Clients that go away or stall at every stage: what the backend sees, and what is left behind. */
import assert from "node:assert/strict";
import {
  Backend,
  type Ending,
  Peer,
  playOk,
  reply,
  sendAndReset,
  signal,
  statusOf,
  until,
} from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const POST = "POST / HTTP/1.1\r\nHost: a.test\r\n";

/** What a client has said when it goes, and how much of an answer it gets before. */
const STAGES: readonly {
  readonly name: string;
  readonly request: string;
  /** Bytes that the backend answers before it waits. */
  readonly answer?: string;
  /** A body that the backend must not take for whole. */
  readonly partial?: boolean;
}[] = [
  { name: "waiting for a response", request: GET },
  { name: "waiting, with an empty line behind its request", request: `${GET}\r\n` },
  { name: "waiting, with a byte behind its request", request: `${GET}G` },
  { name: "waiting, with a request behind its request", request: `${GET}${GET}` },
  { name: "waiting, with many requests behind its request", request: GET.repeat(500) },
  {
    name: "waiting, with a byte behind its upload",
    request: `${POST}Content-Length: 3\r\n\r\nabcG`,
  },
  { name: "waiting for a response to HTTP/1.0", request: "GET / HTTP/1.0\r\n\r\n" },
  { name: "waiting for a response to an upload", request: `${POST}Content-Length: 3\r\n\r\nabc` },
  { name: "mid-body", request: `${POST}Content-Length: 9\r\n\r\nabc`, partial: true },
  {
    name: "mid-chunk",
    request: `${POST}Transfer-Encoding: chunked\r\n\r\n9\r\nabc`,
    partial: true,
  },
  {
    name: "between chunks",
    request: `${POST}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`,
    partial: true,
  },
  {
    name: "before the last chunk's end",
    request: `${POST}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n`,
    partial: true,
  },
  {
    name: "waiting for 100",
    request: `${POST}Content-Length: 3\r\nExpect: 100-continue\r\n\r\n`,
    partial: true,
  },
  {
    name: "during a response",
    request: GET,
    answer: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
  },
  {
    name: "during a response, with a pipelined request",
    request: `${GET}${GET}`,
    answer: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
  },
  {
    name: "during a chunked response",
    request: GET,
    answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
  },
  {
    name: "during the response to a continuing upload",
    request: `${POST}Content-Length: 9\r\n\r\nabc`,
    answer: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
    partial: true,
  },
];

for (const leaves of ["closes", "resets"] as const) {
  for (const { name, request, answer, partial } of STAGES) {
    // Before an answer, HTTP/1.0 has nothing that would tell a closed client from a half-closed one.
    if (leaves === "closes" && name.includes("HTTP/1.0")) continue;
    Deno.test(`a client ${leaves} ${name}: the backend's side ends`, async () => {
      const arrived = signal();
      const ended = signal<{ ending: Ending; whole: boolean }>();
      await using backend = new Backend(async (peer, index) => {
        if (index > 0) return await playOk(peer);
        const message = (await peer.reader.head("request"))!;
        if (answer !== undefined) await peer.send(answer);
        arrived.resolve();
        await peer.reader.body(message);
        ended.resolve({ ending: await peer.ended(), whole: message.complete });
      });
      using proxy = new TestProxy([backend.port]);
      if (leaves === "resets") {
        await sendAndReset(proxy.port, request, arrived.promise);
      } else {
        using client = await Peer.connect(proxy.port);
        await client.send(request);
        await arrived.promise;
        if (answer !== undefined) await client.read();
      }
      const { ending, whole } = await ended.promise;
      assert.notEqual(ending, "");
      assert.equal(whole, partial !== true, "a partial body passes for whole");
      await until("the client's connection is forgotten", () => proxy.server.connectionCount === 0);
      assert.equal(proxy.server.idleUpstreamCount, 0);
      assert.deepEqual(proxy.codes.filter((code) => code === "internal"), []);
      using another = await Peer.connect(proxy.port);
      assert.equal((await another.ask(GET)).body, "ok");
    });
  }
}

for (const leaves of ["closes", "resets"] as const) {
  for (const text of ["", "G", "GET / HTTP/1.1\r\nHost: a.te", "\r\n"]) {
    Deno.test(`a client ${leaves} after ${JSON.stringify(text)}: nothing reaches the backend`, async () => {
      await using backend = new Backend();
      using proxy = new TestProxy([backend.port]);
      if (leaves === "resets") {
        await sendAndReset(
          proxy.port,
          text,
          until("it has come", () => proxy.server.connectionCount === 1),
        );
      } else {
        using client = await Peer.connect(proxy.port);
        await client.send(text);
        await until("the connection has come", () => proxy.server.connectionCount === 1);
      }
      await until("the connection is forgotten", () => proxy.server.connectionCount === 0);
      assert.equal(backend.accepted, 0);
    });
  }
}

Deno.test("a client that leaves while a connection opens leaves nothing behind", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port]);
  const waves = Array.from({ length: 50 }, async () => {
    await sendAndReset(proxy.port, GET, Promise.resolve());
  });
  await Promise.all(waves);
  await until("all are forgotten", () => proxy.server.connectionCount === 0);
  await until(
    "each connection is pooled or closed",
    () => backend.open.size <= proxy.server.idleUpstreamCount,
  );
  using another = await Peer.connect(proxy.port);
  assert.equal((await another.ask(GET)).body, "ok");
});

for (const blank of [" ", "\t"]) {
  Deno.test(`32 KB of ${JSON.stringify(blank)} in Connection: 400, and another client is served`, async () => {
    await using backend = new Backend();
    using proxy = new TestProxy([backend.port]);
    using client = await Peer.connect(proxy.port);
    const head = `GET / HTTP/1.1\r\nHost: a.test\r\nConnection: x${blank.repeat(32_000)}y\r\n\r\n`;
    assert.equal(statusOf(await client.ask(head)), 400);
    using another = await Peer.connect(proxy.port);
    assert.equal((await another.ask(GET)).body, "ok");
    assert.equal(backend.accepted, 1);
  });
}

Deno.test("a head that trickles gets 408 after the head's total timeout", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port], { requestHeadTimeout: 300 });
  using client = await Peer.connect(proxy.port);
  const answering = client.answer();
  const stop = signal();
  const trickle = (async () => {
    for (const char of `GET / HTTP/1.1\r\nHost: a.test\r\nX: ${"x".repeat(1000)}`) {
      if (!await client.send(char)) break;
      if (await Promise.race([stop.promise.then(() => true), pause(20)])) break;
    }
  })();
  assert.equal(statusOf(await answering), 408);
  stop.resolve();
  await trickle;
  await until("the connection is forgotten", () => proxy.server.connectionCount === 0);
  assert.equal(backend.accepted, 0);
});

Deno.test("a body that trickles is accepted as long as it continues", async () => {
  await using backend = new Backend(async (peer) => {
    while (true) {
      const message = await peer.request();
      if (message === null) return;
      await peer.send(reply(message.body));
    }
  });
  // Five times the rate, for longer than the time-out: a busy machine may stand still for 2 s.
  using proxy = new TestProxy([backend.port], { bodyTimeout: 3000, bodyRate: 5 });
  using client = await Peer.connect(proxy.port);
  await client.send(`${POST}Content-Length: 100\r\n\r\n`);
  for (let i = 0; i < 100; i++) {
    await pause(40);
    await client.send("x");
  }
  assert.equal((await client.answer()).body, "x".repeat(100));
});

Deno.test("a body that stops gets 408, and the backend's side ends without it", async () => {
  const ended = signal<boolean>();
  await using backend = new Backend(async (peer) => {
    const message = await peer.request();
    ended.resolve(message?.complete ?? false);
  });
  using proxy = new TestProxy([backend.port], { bodyTimeout: 200 });
  using client = await Peer.connect(proxy.port);
  const answer = await client.ask(`${POST}Content-Length: 9\r\n\r\nabc`);
  assert.equal(statusOf(answer), 408);
  assert.match(answer.head, /^connection: close\r$/im);
  assert.equal(await ended.promise, false);
  assert.equal(await client.ended(), "closes");
});

Deno.test("a reader that stops is closed after the write timeout, and so is the backend's side", async () => {
  const ended = signal();
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n");
    const part = new Uint8Array(1 << 20);
    while (await peer.send(part));
    ended.resolve();
  });
  using proxy = new TestProxy([backend.port], { writeTimeout: 300 });
  using client = await Peer.connect(proxy.port);
  await client.send(GET);
  await ended.promise;
  await until("the client's connection is forgotten", () => proxy.server.connectionCount === 0);
  const answer = await client.answer();
  assert.ok(!answer.complete);
});

Deno.test("a reader that stops delays its own pipelined requests, and uses no more memory", async () => {
  let served = 0;
  await using backend = new Backend(async (peer) => {
    const body = "x".repeat(100_000);
    while (await peer.request() !== null) {
      served++;
      await peer.send(reply(body));
    }
  });
  using proxy = new TestProxy([backend.port], { writeTimeout: 500 });
  using client = await Peer.connect(proxy.port);
  await client.send(GET.repeat(1000));
  await until("the proxy gives the client up", () => proxy.server.connectionCount === 0);
  assert.ok(served < 500, `${served} answers were fetched for a client that reads none`);
});

function pause(ms: number): Promise<void> {
  return new Promise((resume) => setTimeout(resume, ms));
}
