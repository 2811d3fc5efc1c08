/**
 * Programs in Go that read bodies a little at a time: their HTTP/2 opens both windows anew for every
 * 4 KiB that is read, eight WINDOW_UPDATE for a DATA frame of 16 KiB.
 */
import assert from "node:assert/strict";
import { Backend, Peer } from "../support/backend.ts";
import { get, headers, SETTING, windowUpdate } from "../support/h2_frames.ts";
import { H2Backend, H2Peer, type H2PeerOptions } from "../support/h2_peer.ts";
import { H2UpstreamProxy } from "../support/h2_upstream.ts";
import { TestProxy } from "../support/test_proxy.ts";

const SIZE = 16 << 20;
const PART = new Uint8Array(1 << 20);
const READ = 4096;

/** Windows of Go's client; they are large, so that DATA frames are as well. */
const WIDE: H2PeerOptions = {
  settings: [[SETTING.INITIAL_WINDOW_SIZE, 4 << 20]],
  keepsWindows: true,
};
const WIDE_CONNECTION = windowUpdate(0, 1 << 30);

/** Reads all of a body on `stream`, and opens windows as Go does. */
async function readAsGo(peer: H2Peer, stream: number): Promise<void> {
  const message = peer.stream(stream);
  for (let read = 0; read < SIZE && peer.ending === "";) {
    await peer.until("4 KiB", () => message.bytes >= read + READ);
    const updates: Uint8Array[] = [];
    for (; read + READ <= message.bytes; read += READ) {
      updates.push(windowUpdate(0, READ), windowUpdate(stream, READ));
    }
    await peer.send(...updates);
  }
}

Deno.test("a Go client that reads 4 KiB at a time gets all of a large response", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send(`HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`);
    for (let sent = 0; sent < SIZE; sent += PART.length) if (!await peer.send(PART)) return;
  });
  using proxy = new TestProxy([backend.port], {}, { h2c: true });
  await using peer = await H2Peer.connect(proxy.port, WIDE);
  await peer.send(WIDE_CONNECTION, headers(1, get("/"), { end: true }));
  await readAsGo(peer, 1);
  const { bytes, ended } = await peer.answer(1);
  assert.deepEqual([peer.goAway, bytes, ended], [null, SIZE, true]);
  assert.ok(await peer.isAlive());
});

Deno.test("a Go backend that reads 4 KiB at a time gets all of a large upload", async () => {
  let received = 0;
  await using backend = new H2Backend(async (peer) => {
    await peer.send(WIDE_CONNECTION);
    await readAsGo(peer, 1);
    received = (await peer.answer(1)).bytes;
    await peer.send(headers(1, [[":status", "200"]], { end: true }));
    await peer.ended();
  }, WIDE);
  using proxy = new H2UpstreamProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  await client.send(`POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${SIZE}\r\n\r\n`);
  for (let sent = 0; sent < SIZE; sent += PART.length) if (!await client.send(PART)) break;
  const head = (await client.reader.head("response"))?.head ?? "";
  assert.match(head, /^HTTP\/1\.1 200 /);
  assert.deepEqual([received, proxy.failures], [SIZE, []]);
});
