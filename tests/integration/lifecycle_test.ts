/** The proxy as a process: how it ends, and that nobody has to read what it says. */
import assert from "node:assert/strict";
import { Backend, Peer, signal, statusOf, until } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

function start(backend: Backend, ...args: string[]): Promise<ProxyProcess> {
  return ProxyProcess.start({
    snapshot: snapshotOf([backend.port]),
    args: ["--allow-loopback-upstreams", ...args],
  });
}

/** The status of one request on a connection of its own. */
async function ask(port: number): Promise<number> {
  using client = await Peer.connect(port);
  return statusOf(await client.ask(GET));
}

for (const workers of [1, 2]) {
  Deno.test(`SIGTERM with ${workers} workers: readiness fails, then accepting stops, then it ends with 0`, async () => {
    const going = signal();
    await using backend = new Backend(async (peer) => {
      while (await peer.reader.head("request") !== null) {
        await going.promise;
        await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      }
    });
    const flags = [`--workers=${workers}`, "--drain-delay=1s", "--drain-timeout=20s"];
    await using proxy = await start(backend, ...flags);
    assert.equal((await proxy.admin("/readyz")).status, 200);
    using before = await Peer.connect(proxy.httpPort);
    await before.send(GET);
    await until("a request is under way", () => backend.open.size === 1);
    proxy.signal("SIGTERM");
    await proxy.line("Draining");
    assert.equal((await proxy.admin("/readyz")).status, 503);
    assert.equal((await proxy.admin("/healthz")).status, 200);
    using during = await Peer.connect(proxy.httpPort);
    await during.send(GET);
    await until("it is served", () => backend.open.size === 2);
    for (;;) {
      try {
        (await Peer.connect(proxy.httpPort)).close();
      } catch {
        break;
      }
      await new Promise((resume) => setTimeout(resume, 50));
    }
    assert.equal(proxy.code, null, "requests under way hold it");
    going.resolve();
    for (const client of [before, during]) {
      const answer = await client.answer();
      assert.equal(answer.body, "ok");
      assert.match(answer.head, /^connection: close\r$/im);
    }
    assert.equal(await proxy.ended, 0);
  });
}

Deno.test("a second SIGTERM ends it at once", async () => {
  await using backend = new Backend(async (peer) => void await peer.ended());
  await using proxy = await start(backend, "--drain-delay=60s");
  using client = await Peer.connect(proxy.httpPort);
  await client.send(GET);
  await until("a request is under way", () => backend.open.size === 1);
  proxy.signal("SIGTERM");
  await proxy.line("Draining");
  proxy.signal("SIGTERM");
  assert.equal(await proxy.ended, 1);
  assert.notEqual(await client.ended(), "");
});

Deno.test("a log that nobody reads any more stops nothing", async () => {
  await using backend = new Backend();
  await using proxy = await start(backend, "--log-level=debug");
  proxy.stopReading();
  for (let i = 0; i < 20; i++) {
    using junk = await Peer.connect(proxy.httpPort);
    assert.equal(statusOf(await junk.ask("junk\r\n\r\n")), 400);
    assert.equal(await ask(proxy.httpPort), 200);
  }
  assert.equal((await proxy.admin("/readyz")).status, 200);
  proxy.signal("SIGTERM");
  assert.equal(await proxy.ended, 0);
});
