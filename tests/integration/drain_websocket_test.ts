/** What open WebSockets and other tunnels hear at the end of a drain. */
import assert from "node:assert/strict";
import { FrameBoundary } from "../../proxy/http/websocket_frames.ts";
import { Backend, Peer, signal, until } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";

const SOON = { delay: 0, timeout: 200 };
const HOST = "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\n";
const WEBSOCKET = `${HOST}Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n` +
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const OTHER = `${HOST}Upgrade: chat/1\r\n\r\n`;

/** A text frame "hello", from a server and from a client. */
const FROM_SERVER = new Uint8Array([0x81, 5, ...new TextEncoder().encode("hello")]);
const FROM_CLIENT = new Uint8Array([
  ...[0x81, 0x85, 1, 2, 3, 4],
  ...new TextEncoder().encode("hello").map((byte, i) => byte ^ [1, 2, 3, 4, 1][i]),
]);
const GOING_AWAY = [0x88, 2, 0x03, 0xe9];

/** All bytes until the other side ends. */
async function rest(peer: Peer): Promise<number[]> {
  const bytes: number[] = [];
  for (let view = await peer.read(); view !== null; view = await peer.read()) bytes.push(...view);
  return bytes;
}

/** A tunnel between a client and a backend, through a proxy. */
async function tunnel(request: string) {
  const upgraded = signal<Peer>();
  const done = signal();
  const protocol = /Upgrade: (\S+)\r\n/.exec(request)![1];
  const backend = new Backend(async (peer) => {
    await peer.reader.head("request");
    await peer.send(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`,
    );
    upgraded.resolve(peer);
    await done.promise;
  });
  const proxy = new TestProxy([backend.port]);
  const client = await Peer.connect(proxy.port);
  await client.send(request);
  assert.match((await client.reader.head("response"))!.head, /^HTTP\/1.1 101 /);
  const server = await upgraded.promise;
  return {
    proxy,
    client,
    server,
    async [Symbol.asyncDispose]() {
      done.resolve();
      client.close();
      proxy[Symbol.dispose]();
      await backend[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a WebSocket that outlives the drain gets 1001 on both sides, after complete frames", async () => {
  await using ends = await tunnel(WEBSOCKET);
  const { proxy, client, server } = ends;
  const draining = proxy.server.drain(SOON);
  await client.send(FROM_CLIENT);
  await server.send(FROM_SERVER);
  assert.deepEqual(await rest(client), [...FROM_SERVER, ...GOING_AWAY]);
  const heard = await rest(server);
  assert.deepEqual(heard.slice(0, FROM_CLIENT.length), [...FROM_CLIENT]);
  const last = heard.slice(FROM_CLIENT.length);
  assert.deepEqual(last.slice(0, 2), [0x88, 0x82], "a masked Close frame");
  assert.deepEqual([last[6] ^ last[2], last[7] ^ last[3]], [0x03, 0xe9], "1001");
  await draining;
});

Deno.test("a frame in progress at the end is completed before the Close frame", async () => {
  await using ends = await tunnel(WEBSOCKET);
  const { proxy, client, server } = ends;
  await server.send(FROM_SERVER.subarray(0, 3));
  const first = (await client.read())!.slice();
  const draining = proxy.server.drain(SOON);
  const bytes = rest(server);
  const boundary = new FrameBoundary();
  // The other direction is between frames, and hears of the end at once.
  boundary.pass(new Uint8Array(await bytes));
  assert.ok(boundary.hasClosed);
  await server.send(FROM_SERVER.subarray(3));
  assert.deepEqual([...first, ...await rest(client)], [...FROM_SERVER, ...GOING_AWAY]);
  await draining;
});

for (const earlier of [0, 1, 2]) {
  Deno.test(`messages after the Close frame do not cut the other direction, after ${earlier} earlier ones`, async () => {
    await using ends = await tunnel(WEBSOCKET);
    const { proxy, client, server } = ends;
    for (let i = 0; i < earlier; i++) {
      await client.send(FROM_CLIENT);
      await server.read();
    }
    await server.send(FROM_SERVER.subarray(0, 3));
    const first = (await client.read())!.slice();
    const draining = proxy.server.drain({ delay: 0, timeout: 400 });
    await rest(server);
    for (let i = 0; i < 4; i++) {
      await client.send(FROM_CLIENT);
      await new Promise((resume) => setTimeout(resume, 5));
    }
    await server.send(FROM_SERVER.subarray(3));
    assert.deepEqual([...first, ...await rest(client)], [...FROM_SERVER, ...GOING_AWAY]);
    assert.equal(client.ending, "closes");
    await draining;
  });
}

Deno.test("a frame that never ends is cut, with nothing written into it", async () => {
  await using ends = await tunnel(WEBSOCKET);
  const { proxy, client, server } = ends;
  await server.send(FROM_SERVER.subarray(0, 3));
  const draining = proxy.server.drain(SOON);
  assert.deepEqual(await rest(client), [...FROM_SERVER.subarray(0, 3)]);
  await draining;
  await until("no connection is left", () => proxy.server.connectionCount === 0);
});

Deno.test("a side that has sent a Close frame gets no second one", async () => {
  await using ends = await tunnel(WEBSOCKET);
  const { proxy, client, server } = ends;
  await server.send(new Uint8Array(GOING_AWAY));
  const draining = proxy.server.drain(SOON);
  assert.deepEqual(await rest(client), GOING_AWAY);
  await draining;
});

Deno.test("a tunnel of another protocol gets FIN on both sides", async () => {
  await using ends = await tunnel(OTHER);
  const { proxy, client, server } = ends;
  const draining = proxy.server.drain(SOON);
  await server.send("abc");
  assert.deepEqual(await rest(client), [97, 98, 99]);
  assert.equal(client.ending, "closes");
  assert.deepEqual(await rest(server), []);
  assert.equal(server.ending, "closes");
  await draining;
});
