/** Clients that break off at every stage: sockets, pool and memory are back where they were. */
import assert from "node:assert/strict";
import { Backend, Peer } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { abort, answerAborted } from "./abort.ts";
import { falls, FULL, MemoryWatch, mib, SLACK } from "./memory_watch.ts";

const COUNT = FULL ? 10_000 : 1_000;
const AT_ONCE = 50;

/** Enough for some of them to leave while a connection to the backend is made. */
const LEAVING = 10_000;

async function play(peer: Peer): Promise<void> {
  for (;;) {
    const request = await peer.reader.head("request");
    if (request === null || !await answerAborted(peer, request.head.split(" ")[1])) return;
  }
}

async function abortMany(port: number, count: number): Promise<void> {
  let next = 0;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (next < count) await abort(port, next++);
  }));
}

Deno.test(`${COUNT} clients that abort leave sockets, pool and memory unchanged`, async () => {
  await using backend = new Backend(play);
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotOf([backend.port]),
    args: ["--workers=1", "--allow-loopback-upstreams"],
  });
  const port = proxy.httpPort;
  const sockets = async () => (await proxy.descriptors()).sockets;
  const atRest = await sockets();
  await abortMany(port, COUNT / 2);
  using memory = await MemoryWatch.begin(proxy);
  await abortMany(port, COUNT);
  // One connection at most for each client that was there at the same time stays in the pool.
  const upstream = await falls(() => backend.open.size, AT_ONCE);
  assert.ok(upstream <= AT_ONCE, `${upstream} connections to the backend are open`);
  const left = await falls(async () => await sockets() - backend.open.size, atRest);
  console.log(
    `${COUNT} clients gone: ${left - atRest} sockets more than at rest, ` +
      `${backend.open.size} in the pool, memory +${mib(memory.growth)}`,
  );
  assert.ok(left <= atRest, "sockets of clients are left open");
  assert.ok(memory.growth < SLACK, `memory grew by ${mib(memory.growth)}`);
  using client = await Peer.connect(port);
  for (let i = 0; i < AT_ONCE * 2; i++) {
    assert.equal((await client.ask("GET /ok HTTP/1.1\r\nHost: a.test\r\n\r\n")).body, "ok");
  }
});

Deno.test("connections opened for clients that have left close after the idle timeout", async () => {
  await using backend = new Backend(play);
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotOf([backend.port]),
    args: ["--workers=1", "--allow-loopback-upstreams", "--upstream-idle-timeout=1s"],
  });
  // What goes wrong only where a client leaves in the moment in which its connection is made.
  await abortMany(proxy.httpPort, LEAVING);
  const left = await falls(() => backend.open.size, 0);
  assert.equal(left, 0, `${left} connections to the backend are never closed`);
});
