/** Every limit of size and number, with a small value: the status, and what is left of it. */
import assert from "node:assert/strict";
import type { Limits } from "../../proxy/http/limits.ts";
import { Backend, Peer, reply, statusOf, until } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const POST = "POST / HTTP/1.1\r\nHost: a.test\r\n";

/** `within` is the largest request that passes, `beyond` one that is refused with `status`. */
const REQUESTS: readonly {
  readonly limits: Partial<Limits>;
  readonly within: string;
  readonly beyond: string;
  readonly status: number;
}[] = [
  {
    limits: { requestHeadBytes: 200 },
    within: padded("GET / HTTP/1.1\r\nHost: a.test\r\nX: ", "\r\n\r\n", 200),
    beyond: padded("GET / HTTP/1.1\r\nHost: a.test\r\nX: ", "\r\n\r\n", 201),
    status: 431,
  },
  {
    limits: { requestHeadBytes: 200 },
    within: padded("GET /", " HTTP/1.1\r\nHost: a.test\r\n\r\n", 200),
    beyond: padded("GET /", " HTTP/1.1\r\nHost: a.test\r\n\r\n", 300),
    status: 414,
  },
  {
    limits: { requestFields: 3 },
    within: "GET / HTTP/1.1\r\nHost: a.test\r\nA: 1\r\nB: 2\r\n\r\n",
    beyond: "GET / HTTP/1.1\r\nHost: a.test\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n",
    status: 431,
  },
  {
    limits: { bodyBytes: 5 },
    within: `${POST}Content-Length: 5\r\n\r\nabcde`,
    beyond: `${POST}Content-Length: 6\r\n\r\n`,
    status: 413,
  },
  {
    limits: { bodyBytes: 5 },
    within: `${POST}Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n`,
    beyond: `${POST}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\nabc\r\n`,
    status: 413,
  },
  {
    limits: { bodyBytes: 5 },
    within: `${POST}Content-Length: 5\r\nExpect: 100-continue\r\n\r\nabcde`,
    beyond: `${POST}Content-Length: 6\r\nExpect: 100-continue\r\n\r\n`,
    status: 413,
  },
  {
    limits: { requestFields: 3 },
    within: `${POST}Transfer-Encoding: chunked\r\n\r\n0\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n`,
    beyond: `${POST}Transfer-Encoding: chunked\r\n\r\n0\r\nA: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n\r\n`,
    status: 431,
  },
];

for (const { limits, within, beyond, status } of REQUESTS) {
  const [name, value] = Object.entries(limits)[0];
  Deno.test(`${name} ${value}: a request over it gets ${status} (${JSON.stringify(beyond.slice(-12))})`, async () => {
    await using backend = new Backend();
    using proxy = new TestProxy([backend.port], limits);
    using client = await Peer.connect(proxy.port);
    assert.equal(statusOf(await client.ask(within)), 200);
    assert.equal(statusOf(await client.ask(within)), 200);
    const answer = await client.ask(beyond);
    assert.equal(statusOf(answer), status);
    assert.ok(answer.complete);
    assert.match(answer.head, /^connection: close\r$/im);
    assert.equal(await client.ended(), "closes");
    using another = await Peer.connect(proxy.port);
    assert.equal(statusOf(await another.ask(within)), 200);
  });
}

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n";
const RESPONSES: readonly {
  readonly limits: Partial<Limits>;
  readonly within: string;
  readonly beyond: string;
}[] = [
  {
    limits: { responseHeadBytes: 200 },
    within: `${padded(`${OK}X: `, "\r\n\r\n", 200)}ok`,
    beyond: `${padded(`${OK}X: `, "\r\n\r\n", 201)}ok`,
  },
  {
    limits: { responseFields: 3 },
    within: `${OK}A: 1\r\nB: 2\r\n\r\nok`,
    beyond: `${OK}A: 1\r\nB: 2\r\nC: 3\r\n\r\nok`,
  },
];

for (const { limits, within, beyond } of RESPONSES) {
  const [name, value] = Object.entries(limits)[0];
  Deno.test(`${name} ${value}: a response over it gives 502`, async () => {
    await using backend = new Backend(async (peer) => {
      for (;;) {
        const request = await peer.request();
        if (request === null) return;
        await peer.send(request.head.startsWith("GET /beyond ") ? beyond : within);
      }
    });
    using proxy = new TestProxy([backend.port], limits);
    using client = await Peer.connect(proxy.port);
    assert.equal((await client.ask(GET)).body, "ok");
    assert.equal(statusOf(await client.ask(GET.replace("/", "/beyond"))), 502);
    assert.equal((await client.ask(GET)).body, "ok");
  });
}

Deno.test("a head that fills the default limit is accepted, however it is split", async () => {
  await using backend = new Backend(async (peer) => {
    for (;;) {
      const request = await peer.request();
      if (request === null) return;
      await peer.send(reply(String(/x*$/m.exec(/^X: (.*)\r$/m.exec(request.head)![1])![0].length)));
    }
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  const head = padded("GET / HTTP/1.1\r\nHost: a.test\r\nX: ", "\r\n\r\n", 32 * 1024);
  const expected = String(head.length - "GET / HTTP/1.1\r\nHost: a.test\r\nX: \r\n\r\n".length);
  assert.equal((await client.ask(head)).body, expected);
  for (let at = 0; at < head.length; at += 3000) await client.send(head.slice(at, at + 3000));
  assert.equal((await client.answer()).body, expected);
  assert.equal(statusOf(await client.ask(head.replace("X: ", "X: x"))), 431);
});

Deno.test("requestsPerConnection 3: the third response has Connection: close and closes", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port], { requestsPerConnection: 3 });
  using client = await Peer.connect(proxy.port);
  for (let i = 1; i <= 3; i++) {
    const { head } = await client.ask(GET);
    assert.equal(/^connection: close\r$/im.test(head), i === 3);
  }
  assert.equal(await client.ended(), "closes");
});

Deno.test("connections 3: one more is closed at once, and the others are served", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port], { connections: 3 });
  const clients = await Promise.all([1, 2, 3].map(() => Peer.connect(proxy.port)));
  for (const client of clients) assert.equal((await client.ask(GET)).body, "ok");
  using fourth = await Peer.connect(proxy.port);
  assert.notEqual(await fourth.ended(), "");
  assert.equal(fourth.received, 0);
  for (const client of clients) assert.equal((await client.ask(GET)).body, "ok");
  clients[0].close();
  await until("there is room again", () => proxy.server.connectionCount === 2);
  using fifth = await Peer.connect(proxy.port);
  assert.equal((await fifth.ask(GET)).body, "ok");
  for (const client of clients) client.close();
});

/** `start` and `end` with as many x between them as make it `length` bytes. */
function padded(start: string, end: string, length: number): string {
  return start + "x".repeat(length - start.length - end.length) + end;
}
