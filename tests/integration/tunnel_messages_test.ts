/** Messages through tunnels of every size and pace, and peers that take none of them. */
import assert from "node:assert/strict";
import { Backend, Peer, signal, until } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";

const UPGRADE = "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n";
const SWITCHING = "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n";

/** The client's end of a tunnel. */
async function tunnel(proxy: TestProxy): Promise<Peer> {
  const client = await Peer.connect(proxy.port);
  await client.send(UPGRADE);
  assert.match((await client.reader.head("response"))!.head, /^HTTP\/1\.1 101 /);
  return client;
}

/** `length` bytes, different at each place of the stream. */
function messageAt(place: number, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => (place + index) % 251);
}

/** Sizes around those of the buffers that messages arrive in. */
const SIZES = [
  1,
  125,
  126,
  1_023,
  1_024,
  1_025,
  3,
  4_095,
  4_096,
  4_097,
  2,
  65_536,
  300_000,
  7,
  7,
  7,
];

Deno.test("messages of all sizes pass through a tunnel in turn, whole and in order", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send(SWITCHING);
    for (let view = await peer.read(); view !== null; view = await peer.read()) {
      await peer.send(view.slice());
    }
  });
  using proxy = new TestProxy([backend.port]);
  using client = await tunnel(proxy);
  let place = 0;
  for (const size of [...SIZES, ...SIZES.toReversed()]) {
    const sending = client.send(messageAt(place, size));
    for (let left = size; left > 0;) {
      const view = await client.read();
      assert.ok(view !== null, `the tunnel ended in a message of ${size} bytes`);
      assert.deepEqual(view, messageAt(place, view.length));
      place += view.length;
      left -= view.length;
    }
    assert.equal(await sending, true);
  }
});

/** Messages pass the output of their connection where the timeout is short, and are relayed directly where it is not. */
const WRITE_TIMEOUTS = [500, 10_000];

for (const writeTimeout of WRITE_TIMEOUTS) {
  Deno.test(`a slow reader of a tunnel gets every byte of many small messages, with ${writeTimeout} ms for a write`, async () => {
    const total = 6_000_000;
    await using backend = new Backend(async (peer) => {
      await peer.request();
      await peer.send(SWITCHING);
      await peer.read();
      for (let place = 0; place < total; place += 500) await peer.send(messageAt(place, 500));
    });
    using proxy = new TestProxy([backend.port], { writeTimeout: 10 * writeTimeout, writeRate: 0 });
    using client = await tunnel(proxy);
    await client.send("begin");
    let place = 0;
    let isLate = false;
    for (let view = await client.read(); view !== null; view = await client.read()) {
      assert.deepEqual(view, messageAt(place, view.length));
      place += view.length;
      // Longer than between two looks at a write, once the first bytes have filled what lies between.
      if (!isLate && place > 1_000_000) await new Promise((resume) => setTimeout(resume, 1_500));
      isLate ||= place > 1_000_000;
    }
    assert.equal(place, total);
  });
}

/** One of the two takes nothing. */
async function stall(side: "client" | "backend", writeTimeout: number): Promise<void> {
  const over = signal();
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send(SWITCHING);
    if (side === "client") { while (await peer.send(messageAt(0, 500))); }
    else await over.promise;
  });
  using proxy = new TestProxy([backend.port], { writeTimeout });
  using client = await tunnel(proxy);
  if (side === "backend") { while (await client.send(messageAt(0, 500))); }
  const code = side === "client" ? "client_stalled" : "upstream_timeout";
  await until("the tunnel is cut", () => proxy.codes.includes(code));
  await until("the connection has gone", () => proxy.server.connectionCount === 0);
  over.resolve();
}

for (const writeTimeout of WRITE_TIMEOUTS) {
  Deno.test(`a peer that takes nothing from a tunnel ends it after ${writeTimeout} ms for a write`, async () => {
    await Promise.all([stall("client", writeTimeout), stall("backend", writeTimeout)]);
  });
}
