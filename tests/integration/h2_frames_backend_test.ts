/**
 * Requests and answers between a client and a backend that both speak HTTP/2, frame by frame: what
 * crosses, and how it is cut into frames on the other side.
 */
import assert from "node:assert/strict";
import { data, FRAME, headers, ping, post, repeat } from "../support/h2_frames.ts";
import { answerOk, H2Backend, H2Peer, type H2Play } from "../support/h2_peer.ts";
import { http2SnapshotOf } from "../support/http2_backend.ts";
import { TestProxy } from "../support/test_proxy.ts";

class Scene {
  readonly backend: H2Backend;
  readonly proxy: TestProxy;
  readonly #peers: H2Peer[] = [];

  constructor(play: H2Play) {
    this.backend = new H2Backend(play);
    this.proxy = new TestProxy([], {}, { h2c: true });
    this.proxy.server.apply(http2SnapshotOf([this.backend.port]));
  }

  async connect(): Promise<H2Peer> {
    const peer = await H2Peer.connect(this.proxy.port);
    this.#peers.push(peer);
    return peer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const peer of this.#peers) await peer[Symbol.asyncDispose]();
    this.proxy[Symbol.dispose]();
    await this.backend[Symbol.asyncDispose]();
  }
}

/** Waits for the first request's end, and then does this with its stream. */
function onRequest(act: (peer: H2Peer, stream: number) => Promise<unknown>): H2Play {
  return async (peer) => {
    await peer.until("a request", () => [...peer.streams.values()].some(({ ended }) => ended));
    const [stream] = peer.streams.keys();
    await act(peer, stream);
    await peer.ended();
  };
}

const HEAD = [[":status", "200"]] as const;

Deno.test("a response of ten thousand single bytes is not abuse", async () => {
  await using scene = new Scene(onRequest(async (peer, stream) => {
    await peer.send(headers(stream, HEAD));
    for (let i = 0; i < 100; i++) await peer.send(repeat(100, () => data(stream, "x")));
    await peer.send(data(stream, "", { end: true }));
  }));
  const peer = await scene.connect();
  assert.equal((await peer.ask("/x")).body, "x".repeat(10_000));
});

Deno.test("a backend may send a PING for each received DATA", async () => {
  await using scene = new Scene(async (peer) => {
    let pinged = 0;
    await peer.until("the upload's end", () => {
      const frames = peer.count(FRAME.DATA);
      for (; pinged < frames; pinged++) peer.send(ping(pinged));
      return peer.stream(1).ended;
    });
    await peer.send(headers(1, HEAD), data(1, String(peer.stream(1).bytes), { end: true }));
    await peer.ended();
  });
  const peer = await scene.connect();
  await peer.send(headers(1, post("/x")));
  for (let i = 0; i < 3_000; i++) {
    // Windows are wide enough for all of it to come in time.
    await peer.send(data(1, "0123456789"));
    if (i % 100 === 0) assert.ok(await peer.isAlive());
  }
  await peer.send(data(1, "", { end: true }));
  assert.equal((await peer.answer(1)).body, "30000");
});

Deno.test("trailers without a body, and an empty body, are forwarded", async () => {
  const came: (readonly (readonly [string, string])[] | null)[] = [];
  await using scene = new Scene(async (peer) => {
    for (const stream of [1, 3]) {
      await peer.until("a request", () => peer.stream(stream).ended);
      came.push(peer.stream(stream).trailers);
      await peer.send(headers(stream, HEAD, { end: true }));
    }
    await peer.ended();
  });
  const peer = await scene.connect();
  await peer.send(headers(1, post("/x")), headers(1, [["x-sum", "1"]], { end: true }));
  assert.equal((await peer.answer(1)).status, 200);
  await peer.send(headers(3, post("/x")), data(3, "", { end: true }));
  assert.equal((await peer.answer(3)).status, 200);
  assert.deepEqual(came, [[["x-sum", "1"]], null]);
});

Deno.test("a slow stream of a shared backend connection blocks no other", async () => {
  await using scene = new Scene(answerOk);
  const slow = await scene.connect();
  const others = await Promise.all([scene.connect(), scene.connect()]);
  // Uploads that have begun and do not go on.
  await slow.send(
    repeat(20, (i) => headers(1 + 2 * i, post("/x"))),
    repeat(20, (i) => data(1 + 2 * i, "x")),
  );
  for (const peer of others) {
    for (let i = 0; i < 20; i++) assert.equal((await peer.ask("/ok")).body, "ok");
  }
  assert.equal(scene.backend.accepted, 1);
});
