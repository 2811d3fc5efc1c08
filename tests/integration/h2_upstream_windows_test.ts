/**
 * Answers of HTTP/2 that clients leave, or that are wrong: the window of their connection is given
 * back, or it would be shut for all who share it.
 */
import assert from "node:assert/strict";
import { Peer } from "../support/backend.ts";
import { answerText, H2Server } from "../support/h2_backend.ts";
import { CODE, data, get, headers, rstStream, SETTING } from "../support/h2_frames.ts";
import { H2Backend, H2Peer } from "../support/h2_peer.ts";
import { H2UpstreamProxy } from "../support/h2_upstream.ts";

const STREAM_WINDOW = 65_535;
/** One stream's window, and so the connection's as well. */
const LIMITS = {
  http2StreamWindow: STREAM_WINDOW,
  http2UpstreamStreams: 1,
  responseBodyTimeout: 2_000,
};
const SIZE = 20_000;
/** A client that reads no byte of a body. */
const NO_WINDOW = { settings: [[SETTING.INITIAL_WINDOW_SIZE, 0]], keepsWindows: true } as const;

Deno.test("abandoned responses that have arrived completely use no window of others", async () => {
  await using backend = await H2Server.start(answerText("x".repeat(SIZE)));
  using proxy = new H2UpstreamProxy([backend.port], { limits: LIMITS });
  await using slow = await H2Peer.connect(proxy.port, NO_WINDOW);
  for (let i = 0; i < 5; i++) {
    const id = slow.nextStream();
    await slow.send(headers(id, get("/"), { end: true }));
    await slow.until("a head", () => slow.stream(id).status === 200);
    // The body is there as well, a turn later at most.
    assert.ok(await slow.isAlive());
    await slow.send(rstStream(id, CODE.CANCEL));
  }
  using client = await Peer.connect(proxy.port);
  const { body } = await client.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
  assert.equal(body.length, SIZE);
  assert.equal(backend.connections, 1);
});

const PLACES = 4;
for (
  const [name, held, size] of [
    ["responses that slow clients hold leave room for a long response", 3, 4 * STREAM_WINDOW],
    // Larger than a chunk: that of a small response is copied at once.
    ["whole responses that slow clients have not read yet use no window of others", 5, 60_000],
  ] as const
) {
  Deno.test(name, async () => {
    await using backend = await H2Server.start(answerText("x".repeat(size)));
    using proxy = new H2UpstreamProxy([backend.port], {
      limits: { ...LIMITS, http2UpstreamStreams: PLACES },
    });
    await using slow = await H2Peer.connect(proxy.port, NO_WINDOW);
    for (let i = 0; i < held; i++) {
      const id = slow.nextStream();
      await slow.send(headers(id, get("/"), { end: true }));
      await slow.until("a head", () => slow.stream(id).status === 200);
    }
    using client = await Peer.connect(proxy.port);
    const { body } = await client.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
    assert.equal(body.length, size);
    assert.ok(held >= PLACES || backend.connections === 1, `${backend.connections} connections`);
  });
}

Deno.test("abandoned responses that are too long use no window of others", async () => {
  const wrong = 6;
  await using backend = new H2Backend(async (peer) => {
    for (let id = 1; id <= 2 * wrong + 1; id += 2) {
      await peer.until("a request", () => peer.stream(id).heads.length > 0);
      const length = id < 2 * wrong ? 1 : 16_000;
      const head = [[":status", "200"], ["content-length", String(length)]] as const;
      await peer.send(headers(id, head), data(id, "x".repeat(16_000), { end: true }));
    }
    await peer.ended();
  });
  using proxy = new H2UpstreamProxy([backend.port], { limits: LIMITS });
  for (let i = 0; i < wrong; i++) {
    using client = await Peer.connect(proxy.port);
    await client.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
  }
  using client = await Peer.connect(proxy.port);
  const { body } = await client.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
  assert.equal(body.length, 16_000);
  assert.equal(backend.accepted, 1);
});

Deno.test("later uploads need not wait for one that its backend does not read", async () => {
  const answered = async (peer: H2Peer) => {
    for (let id = 1; peer.ending === ""; id += 2) {
      const isStuck = () => peer.stream(id).bytes === STREAM_WINDOW;
      await peer.until("a request", () => peer.stream(id).over || isStuck());
      if (isStuck()) continue;
      await peer.send(headers(id, [[":status", "200"]]), data(id, "ok", { end: true }));
    }
  };
  await using backend = new H2Backend(answered, { keepsWindows: true });
  using proxy = new H2UpstreamProxy([backend.port]);
  using stuck = await Peer.connect(proxy.port);
  const post = (bytes: number) =>
    `POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${bytes}\r\n\r\n${"x".repeat(bytes)}`;
  await stuck.send(post(100_000));
  using client = await Peer.connect(proxy.port);
  // Requests without a body are served, and by another connection once this one counts as blocked.
  for (let asked = 0; backend.accepted < 2; asked++) {
    assert.ok(asked < 50_000, "there is only one connection");
    assert.equal((await client.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")).body, "ok");
  }
  assert.equal((await client.ask(post(5))).body, "ok");
});
