/** The time that a route gives a whole request, by HTTP/1.1 and HTTP/2. */
import assert from "node:assert/strict";
import { MAX_TIMEOUT } from "../../shared/snapshot/setting_values.ts";
import { Backend, Peer, reply, signal, statusOf } from "../support/backend.ts";
import { filteredSnapshot, upstreamTo, WEB } from "../support/filtered_routes.ts";
import { type H2Answer, H2Server } from "../support/h2_backend.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { TestProxy } from "../support/test_proxy.ts";

const TIME = 300;

/** Responds at once, but to `…/never` not at all, to `…/half` with a half, to `…/tunnel` with a tunnel. */
function backend(): Backend {
  return new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      const [, path] = asked.head.split(" ");
      if (path.endsWith("/never")) continue;
      if (path.endsWith("/half")) {
        await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha");
      } else if (path.endsWith("/tunnel")) {
        await peer.send(
          "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n",
        );
      } else await peer.send(reply("ok"));
    }
  });
}

function proxyTo(port: number): TestProxy {
  const proxy = new TestProxy([]);
  proxy.server.apply(
    filteredSnapshot(
      { timed: { filters: [{ kind: "deadline", time: TIME }] }, plain: {} },
      [upstreamTo(WEB, [port])],
    ),
  );
  return proxy;
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`;
}

Deno.test("a request that takes longer than its route allows gets 504, and the next one is served", async () => {
  await using slow = backend();
  using proxy = proxyTo(slow.port);
  using client = await Peer.connect(proxy.port);
  assert.equal(statusOf(await client.ask(get("/timed/never"))), 504);
  assert.equal(statusOf(await client.ask(get("/timed"))), 200);
  // Its time is over by now, and concerns nobody.
  await new Promise((later) => setTimeout(later, 2 * TIME));
  assert.equal(statusOf(await client.ask(get("/plain"))), 200);
});

/** To `…/half` a half and the rest, to others all, when `answers` resolves; for backends of either version. */
function playLate(answers: Promise<void>): (peer: Peer) => Promise<void> {
  return async (peer) => {
    const asked = await peer.request();
    if (asked === null) return;
    const isHalf = asked.head.split(" ")[1].endsWith("/half");
    if (isHalf) await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha");
    await answers;
    await peer.send(isHalf ? "lf" : reply("late"));
    await peer.ended();
  };
}

function answerLate(answers: Promise<void>): H2Answer {
  return async (stream, head) => {
    const isHalf = head[":path"]!.endsWith("/half");
    if (isHalf) {
      stream.respond({ ":status": 200, "content-length": "4" });
      stream.write("ha");
    }
    await answers;
    if (!isHalf) stream.respond({ ":status": 200 });
    stream.end(isHalf ? "lf" : "late");
  };
}

for (const protocol of ["http", "h2c"] as const) {
  Deno.test(`a route may allow more time than the proxy waits for a ${protocol} backend`, async () => {
    const { promise: answers, resolve: answer } = signal();
    await using slow = protocol === "http"
      ? new Backend(playLate(answers))
      : await H2Server.start(answerLate(answers));
    using proxy = new TestProxy([], { responseHeadTimeout: 200, responseBodyTimeout: 200 });
    const allowing = [{ kind: "deadline" as const, time: MAX_TIMEOUT }];
    proxy.server.apply(
      filteredSnapshot(
        { timed: { filters: allowing }, plain: {} },
        [upstreamTo(WEB, [slow.port], protocol)],
      ),
    );
    using clients = new DisposableStack();
    const ask = async (path: string) => {
      const client = clients.use(await Peer.connect(proxy.port));
      await client.send(get(path));
      return client;
    };
    const late = await ask("/timed/late");
    const half = await ask("/timed/half");
    // Asked after the others: when these have got nothing more in time, neither have those.
    assert.equal(statusOf(await (await ask("/plain/late")).answer()), 504);
    assert.notEqual(await (await ask("/plain/half")).ended(), "");
    answer();
    assert.equal((await late.answer()).body, "late");
    assert.equal((await half.answer()).body, "half");
  });
}

Deno.test("over HTTP/2 a request that takes longer than its route allows gets 504", async () => {
  await using slow = backend();
  using proxy = proxyTo(slow.port);
  await using client = await H2Peer.connect(proxy.port);
  assert.equal((await client.ask("/timed/never", [])).status, 504);
  assert.equal((await client.ask("/timed", [])).status, 200);
});

Deno.test("a response that has begun when the time has passed is cut, and never looks whole", async () => {
  await using slow = backend();
  using proxy = proxyTo(slow.port);
  using client = await Peer.connect(proxy.port);
  await client.send(get("/timed/half"));
  let text = "";
  for (let view = await client.read(); view !== null; view = await client.read()) {
    text += new TextDecoder().decode(view);
  }
  assert.match(text, /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(text, /Content-Length: 4\r\n/i);
  assert.match(text, /\r\n\r\nha$/);
});

Deno.test("a client that has switched protocols may stay for longer than its route allows", async () => {
  await using slow = backend();
  using proxy = proxyTo(slow.port);
  using client = await Peer.connect(proxy.port);
  await client.send(
    "GET /timed/tunnel HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: chat\r\n\r\n",
  );
  assert.match(new TextDecoder().decode(await client.read() ?? undefined), /^HTTP\/1\.1 101 /);
  await new Promise((later) => setTimeout(later, 2 * TIME));
  await client.send(get("/through"));
  assert.match(new TextDecoder().decode(await client.read() ?? undefined), /^HTTP\/1\.1 200 /);
});
