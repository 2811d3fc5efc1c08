/** The time that a route gives a whole request, by HTTP/1.1 and HTTP/2. */
import assert from "node:assert/strict";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { filteredSnapshot, upstreamTo, WEB } from "../support/filtered_routes.ts";
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
