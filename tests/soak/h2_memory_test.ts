/**
 * How much memory attackers on HTTP/2 can make the proxy hold: slow readers, the HTTP/2 bomb
 * (CVE-2026-49975), the HPACK bomb (CVE-2016-6581) and windows of zero (CVE-2019-9517), each on a
 * hundred connections, while resident memory is measured.
 */
import assert from "node:assert/strict";
import {
  data,
  get,
  headers,
  indexed,
  join,
  literals,
  post,
  remembered,
  repeat,
  SETTING,
  windowUpdate,
} from "../support/h2_frames.ts";
import { Origin } from "../support/h2_origin.ts";
import { H2Peer, type H2PeerOptions } from "../support/h2_peer.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import { FULL, MemoryWatch, MIB, mib, SLACK } from "./memory_watch.ts";

const CONNECTIONS = 100;
const SHUT: H2PeerOptions = { settings: [[SETTING.INITIAL_WINDOW_SIZE, 0]] };

interface Hold {
  readonly says: string;
  readonly options?: H2PeerOptions;
  readonly connections: number;
  /** Bytes of memory that each connection may cost. */
  readonly each: number;
  readonly run: (peer: H2Peer) => Promise<unknown>;
}

/** Streams with such heads, until all are answered or the connection is cut. */
async function ask(peer: H2Peer, count: number, block: Uint8Array): Promise<void> {
  const streams = Array.from({ length: count }, () => peer.nextStream());
  await peer.send(...streams.map((stream) => headers(stream, block, { end: true })));
  await peer.until("heads", () => streams.every((id) => peer.stream(id).heads.length > 0));
}

const HOLDS: readonly Hold[] = [
  {
    says: "HTTP/2 Bomb: 8,000 fields of a byte each, 20 times, windows of zero",
    options: SHUT,
    connections: CONNECTIONS,
    each: MIB,
    run: (peer) => ask(peer, 20, join(literals(get("/big")), repeat(8_000, () => indexed(32)))),
  },
  {
    says: "4 KiB 12,000 times by a byte each, 20 times, windows of zero",
    options: SHUT,
    connections: CONNECTIONS,
    each: MIB,
    run: (peer) =>
      ask(
        peer,
        20,
        join(
          literals(get("/big")),
          remembered(["cookie", "a".repeat(4_000)]),
          repeat(12_000, () => indexed(62)),
        ),
      ),
  },
  {
    says: "heads as large as allowed, by a byte a field, on every stream, windows of zero",
    options: SHUT,
    connections: FULL ? 20 : 4,
    // 128 heads of 28 KiB, which their exchanges have until their end, and what they are copied to.
    each: 128 * 3 * 32 * 1024,
    run: (peer) =>
      ask(
        peer,
        128,
        join(
          literals(get("/big")),
          remembered(["x", "a".repeat(4_000)]),
          repeat(6, () => indexed(62)),
        ),
      ),
  },
  {
    says: "unread uploads that fill all windows",
    connections: FULL ? 50 : 20,
    each: 2 * MIB,
    run: async (peer) => {
      for (let i = 0; i < 16; i++) {
        const stream = peer.nextStream();
        await peer.send(
          headers(stream, post("/deaf")),
          repeat(4, () => data(stream, new Uint8Array(16_384))),
        );
      }
      await peer.isAlive();
    },
  },
  {
    says: "endless responses, windows of zero",
    options: SHUT,
    connections: FULL ? 5 : 2,
    // A buffer a stream: 64 KiB.
    each: 128 * 2 * 64 * 1024,
    run: (peer) => ask(peer, 128, literals(get("/big"))),
  },
  {
    says: "endless responses that are not read",
    options: { deaf: true, settings: [[SETTING.INITIAL_WINDOW_SIZE, 0x7fffffff]] },
    connections: FULL ? 5 : 2,
    each: 128 * 2 * 64 * 1024,
    run: async (peer) => {
      await peer.send(windowUpdate(0, 0x7fff0000));
      await peer.send(repeat(128, () => headers(peer.nextStream(), get("/big"), { end: true })));
      await new Promise((resume) => setTimeout(resume, 500));
    },
  },
];

for (const { says, options, connections, each, run } of HOLDS) {
  Deno.test(`${says}: at most ${mib(each)} a connection`, async () => {
    await using origin = new Origin();
    await using proxy = await ProxyProcess.start({
      snapshot: snapshotOf([origin.port]),
      args: ["--workers=1", "--allow-loopback-upstreams"],
    });
    const peers: H2Peer[] = [];
    using memory = await MemoryWatch.begin(proxy);
    for (let i = 0; i < connections; i++) {
      const peer = await H2Peer.connect(proxy.httpPort, options);
      peers.push(peer);
      await run(peer).catch(() => {});
    }
    await new Promise((resume) => setTimeout(resume, 200));
    const { growth } = memory;
    console.log(`figure: ${says}: +${mib(growth)}, ${mib(growth / connections)} a connection`);
    await using honest = await H2Peer.connect(proxy.httpPort);
    assert.equal((await honest.ask("/ok")).body, "ok");
    for (const peer of peers) await peer[Symbol.asyncDispose]();
    assert.ok(growth < SLACK + connections * each, `memory grew by ${mib(growth)}`);
  });
}
