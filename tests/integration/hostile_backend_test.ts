/** What a backend that breaks the rules does to its own exchange, and not to any other. */
import assert from "node:assert/strict";
import {
  Backend,
  Peer,
  playOk,
  reply,
  ResettingBackend,
  signal,
  statusOf,
  until,
} from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const HEAD = "HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const OK = "HTTP/1.1 200 OK\r\n";

interface HostileCase {
  readonly name: string;
  /** Sent as one write after the request has been read; then the connection stays open. */
  readonly says: string;
  /** The backend closes after that. */
  readonly closes?: boolean;
  readonly request?: string;
  /** A status; or the body of a whole 200; or `cut`: an answer that never passes for whole. */
  readonly client: number | { readonly whole: string } | "cut";
}

const refused = (name: string, says: string): HostileCase => ({ name, says, client: 502 });

const CASES: readonly HostileCase[] = [
  // Heads that mean nothing, or two things.
  refused("garbage", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
  refused("HTTP/0.9", "<html>hello</html>\r\n\r\n"),
  refused("another version", "HTTP/2.0 200 OK\r\n\r\n"),
  refused("a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"),
  refused("a status of letters", "HTTP/1.1 abc OK\r\n\r\n"),
  refused("a status past 599", "HTTP/1.1 600 OK\r\nContent-Length: 0\r\n\r\n"),
  refused("an empty line first", `\r\n${OK}Content-Length: 0\r\n\r\n`),
  refused("bare LF", "HTTP/1.1 200 OK\nContent-Length: 0\n\n"),
  refused("a bare CR in a value", `${OK}X: a\rb\r\nContent-Length: 0\r\n\r\n`),
  refused("NUL in a value", `${OK}X: a\0b\r\nContent-Length: 0\r\n\r\n`),
  refused("a folded line", `${OK}X: a\r\n b\r\nContent-Length: 0\r\n\r\n`),
  refused("a folded first line", `${OK} X: a\r\nContent-Length: 0\r\n\r\n`),
  refused("a space before the colon", `${OK}Content-Length : 0\r\n\r\n`),
  refused("a field without a colon", `${OK}Content-Length\r\n\r\n`),
  refused("a field without a name", `${OK}: x\r\n\r\n`),
  refused("both lengths", `${OK}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
  refused("two lengths", `${OK}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc`),
  refused("a list of lengths", `${OK}Content-Length: 3, 3\r\n\r\nabc`),
  refused("a signed length", `${OK}Content-Length: +3\r\n\r\nabc`),
  refused("a negative length", `${OK}Content-Length: -3\r\n\r\nabc`),
  refused("a hexadecimal length", `${OK}Content-Length: 0x3\r\n\r\nabc`),
  refused("an empty length", `${OK}Content-Length:\r\n\r\nabc`),
  refused("a length past 2^53", `${OK}Content-Length: 9007199254740993\r\n\r\nabc`),
  refused("another coding", `${OK}Transfer-Encoding: gzip\r\n\r\nabc`),
  refused("chunked not last", `${OK}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n`),
  refused("chunked twice", `${OK}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`),
  refused(
    "two codings",
    `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ),
  refused("chunked in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
  refused("101 unasked", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"),
  refused(
    "an interim answer with a body",
    "HTTP/1.1 103 Early Hints\r\nContent-Length: 6\r\n\r\nabcd\r\n",
  ),
  refused("a head that is too large", `${OK}X: ${"x".repeat(70_000)}\r\n\r\n`),
  refused("too many fields", `${OK}${"X: y\r\n".repeat(201)}\r\n`),
  refused("a malformed Connection", `${OK}Connection: a b\r\nContent-Length: 0\r\n\r\n`),
  refused(
    "32 KB of blanks in Connection",
    `${OK}Connection: x${" ".repeat(32_000)}y\r\nContent-Length: 0\r\n\r\n`,
  ),
  refused("a bad chunk along with its head", `${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\nabc`),
  refused(
    "a bad trailer along with its head",
    `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\nX\r\n\r\n`,
  ),
  // Ends in the wrong place.
  { name: "nothing, and closes", says: "", closes: true, client: 502 },
  { name: "half a status line", says: "HTTP/1.1 2", closes: true, client: 502 },
  { name: "half a head", says: `${OK}Content-Le`, closes: true, client: 502 },
  { name: "interim responses only", says: "HTTP/1.1 103 H\r\n\r\n", closes: true, client: 502 },
  {
    name: "a body too short",
    says: `${OK}Content-Length: 9\r\n\r\nabc`,
    closes: true,
    client: "cut",
  },
  { name: "no body", says: `${OK}Content-Length: 9\r\n\r\n`, closes: true, client: "cut" },
  {
    name: "chunks without their last",
    says: `${OK}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`,
    closes: true,
    client: "cut",
  },
  {
    name: "half a chunk",
    says: `${OK}Transfer-Encoding: chunked\r\n\r\n9\r\nabc`,
    closes: true,
    client: "cut",
  },
  {
    name: "half a trailer section",
    says: `${OK}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n`,
    closes: true,
    client: "cut",
  },
  // More than the message.
  {
    name: "a body too long",
    says: `${OK}Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison`,
    client: { whole: "ok" },
  },
  { name: "two responses", says: reply("ok") + reply("poison"), client: { whole: "ok" } },
  {
    name: "bytes behind the last chunk",
    says: `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n${reply("poison")}`,
    client: { whole: "ok" },
  },
  { name: "a body to HEAD", says: reply("poison"), request: HEAD, client: { whole: "" } },
  {
    name: "a body of 204",
    says: "HTTP/1.1 204 No Content\r\nContent-Length: 6\r\n\r\npoison",
    client: 204,
  },
  {
    name: "a body of 304",
    says: "HTTP/1.1 304 Not Modified\r\nContent-Length: 6\r\n\r\npoison",
    client: 304,
  },
  // Unusual, and right.
  { name: "a body up to the close", says: `${OK}\r\nabc`, closes: true, client: { whole: "abc" } },
  {
    name: "HTTP/1.0 up to the close",
    says: "HTTP/1.0 200 OK\r\n\r\nabc",
    closes: true,
    client: { whole: "abc" },
  },
  {
    name: "many interim responses",
    says: "HTTP/1.1 102 Processing\r\n\r\n".repeat(500) + reply("ok"),
    closes: true,
    client: { whole: "ok" },
  },
];

for (const { name, says, closes = false, request = GET, client: expected } of CASES) {
  Deno.test(`a backend sends ${name}: ${outcome(expected)}, and the next request is complete`, async () => {
    await using backend = new Backend(async (peer, index) => {
      if (index > 0) return await playOk(peer);
      await peer.reader.head("request");
      await peer.send(says);
      // What comes next on a connection that should be given up would get the poison.
      if (!closes) await peer.ended();
    });
    using proxy = new TestProxy([backend.port]);
    using client = await Peer.connect(proxy.port);
    const answer = await client.ask(request, request === HEAD ? "response to HEAD" : "response");
    if (expected === "cut") {
      assert.match(answer.head, /^HTTP\/1\.1 200 /);
      assert.ok(!answer.complete, "an answer that was cut passes for whole");
    } else {
      assert.equal(answer.fault, "");
      assert.ok(answer.complete);
      assert.equal(statusOf(answer), typeof expected === "number" ? expected : 200);
      if (typeof expected === "object") assert.equal(answer.body, expected.whole);
      if (expected === 502) assert.doesNotMatch(answer.body, /127\.0\.0\.1|chunk|length/i);
    }
    if (expected !== "cut") await assertServes(client);
    using another = await Peer.connect(proxy.port);
    await assertServes(another);
    assert.equal(backend.accepted, 2, "the hostile connection was used again");
    await until("the hostile connection ends", () => backend.open.size === 1);
  });
}

function outcome(expected: HostileCase["client"]): string {
  if (expected === "cut") return "the answer is cut";
  return typeof expected === "number" ? String(expected) : "the answer is whole";
}

async function assertServes(client: Peer): Promise<void> {
  const answer = await client.ask(GET);
  assert.equal(answer.body, "ok");
  assert.ok(answer.complete);
}

Deno.test("a backend that resets within a body without a length cuts the response", async () => {
  await using backend = await ResettingBackend.listen(`${OK}\r\n${"x".repeat(1000)}`);
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(GET);
  const answer = (await client.reader.head("response"))!;
  assert.match(answer.head, /^HTTP\/1\.1 200 /);
  backend.reset = true;
  await client.reader.body(answer);
  assert.ok(!answer.complete);
});

Deno.test("bytes on an idle pooled connection close it, and the next request gets its own response", async () => {
  const speak = signal();
  await using backend = new Backend(async (peer, index) => {
    if (index > 0) return await playOk(peer);
    await peer.request();
    await peer.send(reply("ok"));
    await speak.promise;
    await peer.send(reply("poison"));
    await peer.ended();
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await assertServes(client);
  await until("the connection is pooled", () => proxy.server.idleUpstreamCount === 1);
  speak.resolve();
  await until("the connection leaves the pool", () => proxy.server.idleUpstreamCount === 0);
  await assertServes(client);
  assert.equal(backend.accepted, 2);
});

Deno.test("invalid chunks after valid ones cut the response", async () => {
  const go = signal();
  await using backend = new Backend(async (peer, index) => {
    if (index > 0) return await playOk(peer);
    await peer.request();
    await peer.send(`${OK}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n`);
    await go.promise;
    await peer.send("3\r\nabcd\r\n0\r\n\r\n");
    await peer.ended();
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(GET);
  const answer = (await client.reader.head("response"))!;
  go.resolve();
  await client.reader.body(answer);
  assert.ok(!answer.complete);
  using another = await Peer.connect(proxy.port);
  await assertServes(another);
});

Deno.test("while one backend connection misbehaves, others work", async () => {
  await using backend = new Backend(async (peer) => {
    for (;;) {
      const request = await peer.request();
      if (request === null) return;
      if (!request.head.startsWith("GET /hang ")) await peer.send(reply("ok"));
      else if (!await peer.send(`${OK}Content-Length: 10\r\n\r\nx`)) return;
    }
  });
  using proxy = new TestProxy([backend.port], { responseBodyTimeout: 200 });
  const hanging = await Promise.all(Array.from({ length: 20 }, () => Peer.connect(proxy.port)));
  for (const client of hanging) await client.send("GET /hang HTTP/1.1\r\nHost: a.test\r\n\r\n");
  using client = await Peer.connect(proxy.port);
  for (let i = 0; i < 20; i++) await assertServes(client);
  for (const hung of hanging) {
    assert.ok(!(await hung.answer()).complete);
    hung.close();
  }
  await assertServes(client);
});
