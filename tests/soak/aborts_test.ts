/** 10,000 clients that break off at every stage: sockets, pool and memory are back where they were. */
import assert from "node:assert/strict";
import { Backend, Peer, reply, sendAndReset } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { falls, FULL, MemoryWatch, mib, SLACK } from "./memory_watch.ts";

const COUNT = FULL ? 10_000 : 1_000;
const AT_ONCE = 50;

const HOST = "Host: a.test\r\n";

/** What a client says, and whether it waits for the first bytes of an answer, before it goes. */
const STAGES: readonly { readonly text: string; readonly reads?: boolean }[] = [
  { text: "" },
  { text: `GET /wait HTTP/1.1\r\nHo` },
  { text: `GET /wait HTTP/1.1\r\n${HOST}\r\n` },
  { text: `GET /large HTTP/1.1\r\n${HOST}\r\n`, reads: true },
  { text: `GET /half HTTP/1.1\r\n${HOST}\r\n`, reads: true },
  { text: `GET /ok HTTP/1.1\r\n${HOST}\r\n` },
  { text: `GET /ok HTTP/1.1\r\n${HOST}\r\n`.repeat(5), reads: true },
  { text: `POST /wait HTTP/1.1\r\n${HOST}Content-Length: 100000\r\n\r\n${"x".repeat(50_000)}` },
  { text: `POST /wait HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n` },
  { text: `POST /half HTTP/1.1\r\n${HOST}Content-Length: 1000\r\n\r\n`, reads: true },
  { text: `POST /wait HTTP/1.1\r\n${HOST}Content-Length: 9\r\nExpect: 100-continue\r\n\r\n` },
];

const LARGE = new Uint8Array(1 << 20);

async function play(peer: Peer): Promise<void> {
  for (;;) {
    const request = await peer.reader.head("request");
    if (request === null) return;
    const path = request.head.split(" ")[1];
    if (path === "/ok") {
      await peer.send(reply("ok"));
      continue;
    }
    if (path === "/half") await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
    if (path === "/large") {
      await peer.send(`HTTP/1.1 200 OK\r\nContent-Length: ${64 * LARGE.length}\r\n\r\n`);
      for (let i = 0; i < 64; i++) if (!await peer.send(LARGE)) return;
    }
    await peer.ended();
    return;
  }
}

async function abort(port: number, index: number): Promise<void> {
  const { text, reads } = STAGES[index % STAGES.length];
  if (index % 3 === 0) return await sendAndReset(port, text, Promise.resolve());
  using peer = await Peer.connect(port);
  await peer.send(text);
  if (reads) await peer.read();
  if (index % 3 === 1) await peer.finish();
}

async function abortMany(port: number, count: number): Promise<void> {
  let next = 0;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (next < count) await abort(port, next++);
  }));
}

Deno.test(`${COUNT} clients that break off leave sockets, pool and memory as they were`, async () => {
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
  assert.equal(left, atRest, "sockets of clients are left open");
  assert.ok(memory.growth < SLACK, `memory grew by ${mib(memory.growth)}`);
  using client = await Peer.connect(port);
  for (let i = 0; i < AT_ONCE * 2; i++) {
    assert.equal((await client.ask(`GET /ok HTTP/1.1\r\n${HOST}\r\n`)).body, "ok");
  }
});
