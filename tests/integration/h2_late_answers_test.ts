/** Answers of a backend that were on their way when their requests were cancelled. */
import assert from "node:assert/strict";
import type { Limits } from "../../proxy/http/limits.ts";
import { Peer, until } from "../support/backend.ts";
import { data, FRAME, get, headers, repeat, rstStream } from "../support/h2_frames.ts";
import { H2Backend, H2Peer } from "../support/h2_peer.ts";
import { H2UpstreamProxy } from "../support/h2_upstream.ts";

const OK = [[":status", "200"]] as const;

/** A client whose request waits for its response on the first connection to a backend. */
class WaitingScene implements AsyncDisposable {
  /** What the backend sees of each connection. */
  readonly backends: H2Peer[] = [];
  readonly backend = new H2Backend(async (peer) => {
    this.backends.push(peer);
    await peer.ended();
  });
  readonly proxy: H2UpstreamProxy;
  other!: H2Peer;

  private constructor(limits: Partial<Limits>) {
    this.proxy = new H2UpstreamProxy([this.backend.port], { limits, server: { h2c: true } });
  }

  static async start(limits: Partial<Limits> = {}): Promise<WaitingScene> {
    const scene = new WaitingScene(limits);
    scene.other = await H2Peer.connect(scene.proxy.port);
    await scene.other.send(headers(1, get("/"), { end: true }));
    await until("the other's request", () => scene.backends[0]?.stream(1).over);
    return scene;
  }

  /** Frames of a type that the backend has got. */
  count(type: number): number {
    return this.backends.reduce((all, peer) => all + peer.count(type), 0);
  }

  /** Sends so many requests, and cancels them once the backend has them. */
  async cancel(client: H2Peer, count: number): Promise<void> {
    const [heads, resets] = [this.count(FRAME.HEADERS), this.count(FRAME.RST_STREAM)];
    const ids = Array.from({ length: count }, () => client.nextStream());
    await client.send(...ids.map((id) => headers(id, get("/"), { end: true })));
    await until("the requests", () => this.count(FRAME.HEADERS) === heads + count);
    await client.send(...ids.map((id) => rstStream(id)));
    await until("their resets", () => this.count(FRAME.RST_STREAM) === resets + count);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.other[Symbol.asyncDispose]();
    this.proxy[Symbol.dispose]();
    await this.backend[Symbol.asyncDispose]();
  }
}

Deno.test("a late response to one of 300 cancelled requests harms no other request", async () => {
  await using scene = await WaitingScene.start({ http2Resets: 1_000 });
  const { backend, backends: [peer], proxy, other } = scene;
  await using client = await H2Peer.connect(proxy.port);
  for (let round = 0; round < 6; round++) await scene.cancel(client, 50);
  // As if it had sent that before it read any of them.
  await peer.send(headers(3, OK), data(3, "late", { end: true }));
  await peer.send(headers(1, OK), data(1, "ok", { end: true }));
  const { status, body } = await other.answer(1);
  assert.deepEqual([status, body], [200, "ok"]);
  assert.equal(backend.accepted, 1);
});

for (const [name, last] of [["resets the stream", [rstStream(1, 0)]], ["closes", []]] as const) {
  Deno.test(`a whole response to a request that is still sent reaches the client if the backend then ${name}`, async () => {
    await using backend = new H2Backend(async (peer) => {
      await peer.until("the request", () => peer.stream(1).heads.length > 0);
      const part = "x".repeat(10_000);
      const parts = Array.from({ length: 6 }, (_, i) => data(1, part, { end: i === 5 }));
      await peer.send(headers(1, OK), ...parts, ...last);
    });
    using proxy = new H2UpstreamProxy([backend.port]);
    using client = await Peer.connect(proxy.port);
    await client.send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\n12345");
    const { body } = await client.answer();
    assert.equal(body.length, 60_000);
    assert.deepEqual(proxy.failures, []);
  });
}

Deno.test("the rest of cancelled responses in small frames harms no other request", async () => {
  await using scene = await WaitingScene.start();
  const { backend, backends: [peer], proxy, other } = scene;
  await using client = await H2Peer.connect(proxy.port);
  await scene.cancel(client, 3);
  // As much as their windows allow, sent before it read any of them.
  for (const id of [3, 5, 7]) {
    await peer.send(headers(id, OK), repeat(640, () => data(id, "x".repeat(100))));
  }
  await peer.send(headers(1, OK), data(1, "ok", { end: true }));
  const { status, body } = await other.answer(1);
  assert.deepEqual([status, body], [200, "ok"]);
  assert.equal(backend.accepted, 1);
});

Deno.test("hundreds of cancelled requests end no connection of others, and further ones get another", async () => {
  await using scene = await WaitingScene.start();
  const { backend, backends, proxy, other } = scene;
  let rounds = 0;
  for (; backend.accepted === 1; rounds++) {
    assert.ok(rounds < 60, "there is only one connection");
    await using client = await H2Peer.connect(proxy.port);
    await scene.cancel(client, 50);
  }
  // Some are forgiven with time, so that a slow machine takes more.
  assert.ok(rounds > 10, `${rounds} rounds`);
  await backends[0].send(headers(1, OK), data(1, "ok", { end: true }));
  assert.equal((await other.answer(1)).body, "ok");
});
