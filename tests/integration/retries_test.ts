/** What is sent again after a failure, to whom, and what never is. */
import assert from "node:assert/strict";
import { Backend, Peer, playOk, refusingPort, reply, statusOf, until } from "../support/backend.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { snapshotOf, TestProxy } from "../support/test_proxy.ts";

const request = (method: string, more = "", body = "") =>
  `${method} / HTTP/1.1\r\nHost: a.test\r\n${more}\r\n${body}`;
const GET = request("GET");

/**
 * Serves one request on its first connection and closes that as the second one comes, before a byte
 * of answer; later connections answer all. Counts what came.
 */
class ClosingBackend extends Backend {
  constructor(seen: string[], partial = "") {
    super(async (peer, index) => {
      for (let n = 0;; n++) {
        const message = await peer.request();
        if (message === null) return;
        seen.push(`${index} ${message.head.split(" ")[0]} ${message.body}`.trim());
        if (index === 0 && n === 1) return void await peer.send(partial);
        await peer.send(reply(message.head.startsWith("HEAD") ? "" : "ok"));
      }
    });
  }
}

for (const method of ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]) {
  Deno.test(`${method} is retried once when its reused connection fails before a response`, async () => {
    const seen: string[] = [];
    await using backend = new ClosingBackend(seen);
    using proxy = new TestProxy([backend.port]);
    using client = await Peer.connect(proxy.port);
    const kind = method === "HEAD" ? "response to HEAD" : "response";
    assert.equal(statusOf(await client.ask(GET)), 200);
    assert.equal(statusOf(await client.ask(request(method), kind)), 200);
    assert.deepEqual(seen, ["0 GET", `0 ${method}`, `1 ${method}`]);
    assert.equal(statusOf(await client.ask(GET)), 200);
  });
}

Deno.test("PUT with a body that arrived with its head is retried once, completely", async () => {
  const seen: string[] = [];
  await using backend = new ClosingBackend(seen);
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.ask(GET);
  assert.equal(statusOf(await client.ask(request("PUT", "Content-Length: 3\r\n", "abc"))), 200);
  assert.deepEqual(seen, ["0 GET", "0 PUT abc", "1 PUT abc"]);
});

const NEVER: readonly (readonly [name: string, text: string])[] = [
  ["POST", request("POST", "Content-Length: 3\r\n", "abc")],
  ["POST without a body", request("POST", "Content-Length: 0\r\n")],
  ["PATCH", request("PATCH", "Content-Length: 3\r\n", "abc")],
  ["a method we do not know", request("PURCHASE")],
  [
    "PUT with a chunked body",
    request("PUT", "Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n"),
  ],
];
for (const [name, text] of NEVER) {
  Deno.test(`${name} is never retried`, async () => {
    const seen: string[] = [];
    await using backend = new ClosingBackend(seen);
    using proxy = new TestProxy([backend.port]);
    using client = await Peer.connect(proxy.port);
    await client.ask(GET);
    assert.equal(statusOf(await client.ask(text)), 502);
    assert.equal(seen.length, 2);
    // Our own answer to a request with a body is the connection's last.
    using next = await Peer.connect(proxy.port);
    assert.equal(statusOf(await next.ask(GET)), 200);
  });
}

Deno.test("a request is never retried after its response has begun", async () => {
  const seen: string[] = [];
  await using backend = new ClosingBackend(seen, "H");
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.ask(GET);
  assert.equal(statusOf(await client.ask(GET)), 502);
  assert.equal(seen.length, 2);
});

/** Takes requests and ends their connections without a byte of answer, as a process that is killed. */
class CrashingBackend extends Backend {
  constructor(seen: string[]) {
    super(async (peer) => {
      const message = await peer.request();
      if (message !== null) seen.push(message.head.split(" ")[0]);
    });
  }
}

Deno.test("an idempotent request is retried on another endpoint when its own crashes", async () => {
  for (const method of ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]) {
    const seen: string[] = [];
    await using crashing = new CrashingBackend(seen);
    await using other = new Backend();
    using proxy = new TestProxy([crashing.port, other.port]);
    using client = await Peer.connect(proxy.port);
    const kind = method === "HEAD" ? "response to HEAD" : "response";
    for (let n = 0; n < 4; n++) {
      assert.equal(statusOf(await client.ask(request(method), kind)), 200);
    }
    assert.ok(seen.length > 0);
  }
});

Deno.test("a request that crashes endpoints is tried on as many as the limit allows", async () => {
  const seen: string[] = [];
  await using one = new CrashingBackend(seen);
  await using two = new CrashingBackend(seen);
  await using three = new CrashingBackend(seen);
  using proxy = new TestProxy([one.port, two.port, three.port], { tries: 2 });
  using client = await Peer.connect(proxy.port);
  assert.equal(statusOf(await client.ask(GET)), 502);
  assert.deepEqual(seen, ["GET", "GET"]);
});

Deno.test("a request that is not idempotent is never retried on another endpoint", async () => {
  for (const [, text] of NEVER) {
    const seen: string[] = [];
    await using crashing = new CrashingBackend(seen);
    await using other = new CrashingBackend(seen);
    using proxy = new TestProxy([crashing.port, other.port]);
    using client = await Peer.connect(proxy.port);
    assert.equal(statusOf(await client.ask(text)), 502);
    assert.equal(seen.length, 1);
  }
});

Deno.test("a request that fails on a fresh connection is not retried on the same endpoint", async () => {
  await using backend = new Backend(async (peer) => void await peer.request());
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  assert.equal(statusOf(await client.ask(GET)), 502);
  assert.equal(backend.accepted, 1);
});

Deno.test("a retry is sent once: a second failure is 502", async () => {
  let requests = 0;
  await using backend = new Backend(async (peer, index) => {
    await peer.request();
    requests++;
    if (index > 0) return;
    await peer.send(reply("ok"));
    await peer.request();
    requests++;
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.ask(GET);
  assert.equal(statusOf(await client.ask(GET)), 502);
  assert.equal(requests, 3);
});

Deno.test("an endpoint that refuses connections fails no request, whatever the method", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([refusingPort(), backend.port]);
  using client = await Peer.connect(proxy.port);
  for (const text of [GET, ...NEVER.map(([, text]) => text)]) {
    assert.equal(statusOf(await client.ask(text)), 200);
  }
});

Deno.test("a body that has not arrived yet is sent to the endpoint that accepts the connection", async () => {
  await using backend = new Backend(async (peer) => {
    const message = await peer.request();
    await peer.send(reply(message?.body ?? ""));
    await peer.ended();
  });
  using proxy = new TestProxy([refusingPort(), backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(request("POST", "Content-Length: 100000\r\n"));
  await until("the backend is connected", () => backend.accepted === 1);
  await client.send("x".repeat(100_000));
  assert.equal((await client.answer()).body.length, 100_000);
});

Deno.test("refused connections use up no try, however many pods are replaced at a time", async () => {
  await using backend = new Backend();
  const ports = [...Array.from({ length: 5 }, refusingPort), backend.port];
  // Nothing is left out, and nothing may be sent twice: what is answered was sent once.
  using proxy = new TestProxy(ports, { tries: 2, retryBudget: 0, ejectionFailures: 0 });
  using client = await Peer.connect(proxy.port);
  for (let i = 0; i < 10; i++) {
    for (const text of [GET, ...NEVER.map(([, text]) => text)]) {
      assert.equal(statusOf(await client.ask(text)), 200);
    }
  }
});

Deno.test("connections refused over TLS use up no try", async () => {
  await using backend = new Backend();
  const ports = [refusingPort(), refusingPort(), backend.port];
  using proxy = new TestProxy(ports, { tries: 2, ejectionFailures: 0 });
  const snapshot = snapshotOf(ports);
  proxy.server.apply({
    ...snapshot,
    upstreams: snapshot.upstreams.map((upstream) => ({ ...upstream, protocol: "https" })),
  });
  using client = await Peer.connect(proxy.port);
  assert.equal(statusOf(await client.ask(GET)), 502);
  // It speaks no TLS, but it was asked.
  assert.equal(backend.accepted, 1);
});

Deno.test("502 when all endpoints refuse, without a thousand connects for one request", async () => {
  const ports = Array.from({ length: 40 }, refusingPort);
  using observed = new ObservedProxy(ports, { limits: { tries: 2, ejectionFailures: 0 } });
  using client = await Peer.connect(observed.port);
  const answer = await client.ask(GET);
  assert.equal(statusOf(answer), 502);
  assert.doesNotMatch(answer.body, /127\.0\.0\.1|refused/i);
  assert.ok(answer.complete);
  const failed = 'pingress_upstream_connects_total{result="failed"}';
  assert.equal((await observed.series()).get(failed), 18);
  using alone = new TestProxy([refusingPort()]);
  using another = await Peer.connect(alone.port);
  assert.equal(statusOf(await another.ask(GET)), 502);
  assert.equal(statusOf(await another.ask(GET)), 502);
});

Deno.test("an endpoint that does not accept connections is skipped after the connect timeout", async () => {
  using deaf = new DeafPort();
  await using backend = new Backend();
  using proxy = new TestProxy([deaf.port, backend.port], { connectTimeout: 200 });
  await deaf.fill();
  using client = await Peer.connect(proxy.port);
  for (let i = 0; i < 3; i++) assert.equal((await client.ask(GET)).body, "ok");
  using alone = new TestProxy([deaf.port], { connectTimeout: 100 });
  using another = await Peer.connect(alone.port);
  assert.equal(statusOf(await another.ask(GET)), 502);
});

Deno.test("a backend that closes each connection after one request fails none of them", async () => {
  await using backend = new Backend(async (peer, index) => {
    await peer.request();
    await peer.send(reply("ok"));
    if (index % 2 === 0) await playOk(peer);
  });
  using proxy = new TestProxy([backend.port]);
  const clients = await Promise.all(Array.from({ length: 10 }, () => Peer.connect(proxy.port)));
  await Promise.all(clients.map(async (client) => {
    for (let i = 0; i < 100; i++) assert.equal((await client.ask(GET)).body, "ok");
    client.close();
  }));
});

/** A port whose queue of connections is full: a further SYN is dropped. */
class DeafPort {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0, tcpBacklog: 1 });
  readonly #waiting: Deno.TcpConn[] = [];

  get port(): number {
    return this.#listener.addr.port;
  }

  /** Connects until nothing is taken any more. */
  async fill(): Promise<void> {
    for (;;) {
      const connection = await Deno.connect({
        hostname: "127.0.0.1",
        port: this.port,
        signal: AbortSignal.timeout(100),
      }).catch(() => null);
      if (connection === null) return;
      this.#waiting.push(connection);
    }
  }

  [Symbol.dispose](): void {
    for (const connection of this.#waiting) connection.close();
    this.#listener.close();
  }
}
