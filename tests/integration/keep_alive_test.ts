/** How long a client's connection lives, and the order of what comes over it. */
import assert from "node:assert/strict";
import { Backend, Peer, playOk, refusingPort, reply, statusOf } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

const CASES: readonly (readonly [name: string, request: string, kept: boolean])[] = [
  ["HTTP/1.1", GET, true],
  ["HTTP/1.1 that says close", GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"), false],
  [
    "HTTP/1.1 that says Close, TE",
    GET.replace("\r\n\r\n", "\r\nConnection: Close, TE\r\n\r\n"),
    false,
  ],
  ["HTTP/1.0", "GET / HTTP/1.0\r\nHost: a.test\r\n\r\n", false],
  ["HTTP/1.0 with keep-alive", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true],
  ["HTTP/1.0 with both", "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false],
  ["HEAD", GET.replace("GET", "HEAD"), true],
];

for (const [name, request, kept] of CASES) {
  Deno.test(`${name}: the connection is ${kept ? "kept" : "closed"}`, async () => {
    await using backend = new Backend(async (peer) => {
      while (await peer.request() !== null) {
        await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
      }
    });
    using proxy = new TestProxy([backend.port]);
    using client = await Peer.connect(proxy.port);
    for (let i = 0; i < (kept ? 3 : 1); i++) {
      const { head } = await client.ask(request);
      assert.match(head, /^HTTP\/1\.1 200 /);
      assert.equal(/^connection: close\r$/im.test(head), !kept);
    }
    if (!kept) assert.equal(await client.ended(), "closes");
  });
}

Deno.test("local replies keep the connection open if the request was valid", async () => {
  using proxy = new TestProxy([]);
  using refused = new TestProxy([refusingPort()]);
  for (const [{ port }, status] of [[proxy, 503], [refused, 502]] as const) {
    using client = await Peer.connect(port);
    for (let i = 0; i < 3; i++) assert.equal(statusOf(await client.ask(GET)), status);
  }
});

Deno.test("a thousand pipelined requests get their responses in order", async () => {
  await using backend = new Backend(async (peer) => {
    for (;;) {
      const request = await peer.request();
      if (request === null) return;
      await peer.send(reply(request.head.split(" ")[1]));
    }
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  let requests = "";
  for (let i = 0; i < 1000; i++) requests += GET.replace("/", `/${i}`);
  const sending = client.send(requests);
  for (let i = 0; i < 1000; i++) assert.equal((await client.answer()).body, `/${i}`);
  assert.ok(await sending);
  assert.equal(backend.accepted, 1);
});

Deno.test("pipelined requests of all framings, large and small, keep their bodies apart", async () => {
  await using backend = new Backend(async (peer) => {
    for (;;) {
      const request = await peer.request();
      if (request === null) return;
      await peer.send(reply(`${request.head.split(" ", 2).join(" ")} ${request.body}`));
    }
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  const expected: string[] = [];
  let requests = "";
  for (let i = 0; i < 60; i++) {
    const body = String.fromCharCode(97 + i % 26).repeat([0, 1, 100, 5_000, 70_000][i % 5]);
    expected.push(`POST /${i} ${body}`);
    requests += `POST /${i} HTTP/1.1\r\nHost: a.test\r\n`;
    requests += i % 2 === 0
      ? `Content-Length: ${body.length}\r\n\r\n${body}`
      : `Transfer-Encoding: chunked\r\n\r\n${
        body === "" ? "" : `${body.length.toString(16)}\r\n${body}\r\n`
      }0\r\n\r\n`;
  }
  const sending = client.send(requests);
  for (const body of expected) assert.equal((await client.answer()).body, body);
  assert.ok(await sending);
});

Deno.test("a response of every kind is followed by the next one on the same connection", async () => {
  const answers = [
    reply("length"),
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nchunked\r\n0\r\n\r\n",
    "HTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.1 304 Not Modified\r\nETag: x\r\nContent-Length: 99\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + reply("interim"),
    "HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops",
    "HTTP/1.0 200 OK\r\n\r\nuntil close",
    reply(""),
  ];
  await using backend = new Backend(async (peer) => {
    for (;;) {
      const request = await peer.request();
      if (request === null) return;
      const index = Number(request.head.split(" ")[1].slice(1));
      await peer.send(answers[index]);
      if (answers[index].startsWith("HTTP/1.0")) return;
    }
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  const bodies: string[] = [];
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < answers.length; i++) {
      const answer = await client.ask(GET.replace("/", `/${i}`));
      assert.ok(answer.complete);
      bodies.push(answer.body);
    }
  }
  const expected = ["length", "chunked", "", "", "interim", "oops", "until close", ""];
  assert.deepEqual(bodies, [...expected, ...expected]);
});

Deno.test("many clients at once each get their own responses", async () => {
  await using backend = new Backend(async (peer) => {
    for (;;) {
      const request = await peer.request();
      if (request === null) return;
      await peer.send(reply(request.head.split(" ")[1] + "x".repeat(Math.random() * 20_000)));
    }
  });
  using proxy = new TestProxy([backend.port]);
  await Promise.all(Array.from({ length: 30 }, async (_, i) => {
    using client = await Peer.connect(proxy.port);
    for (let n = 0; n < 30; n++) {
      const { body } = await client.ask(GET.replace("/", `/${i}-${n}-`));
      assert.equal(body.replace(/x*$/, ""), `/${i}-${n}-`);
    }
  }));
});

Deno.test("a client that was idle is still served", async () => {
  await using backend = new Backend(playOk);
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  for (let i = 0; i < 3; i++) {
    await new Promise((resume) => setTimeout(resume, 250));
    assert.equal((await client.ask(GET)).body, "ok");
  }
});
