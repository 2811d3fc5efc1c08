/** What is told of WebSockets that clients open over HTTP/2 (RFC 8441), and that end or fail. */
import assert from "node:assert/strict";
import { Backend, Peer, signal, until } from "../support/backend.ts";
import { data, type Field, headers, rstStream } from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { TestProxy } from "../support/test_proxy.ts";

const WEBSOCKET: readonly Field[] = [
  [":method", "CONNECT"],
  [":protocol", "websocket"],
  [":scheme", "http"],
  [":path", "/chat"],
  [":authority", "a.test"],
  ["sec-websocket-version", "13"],
];

/** Opens whatever it is asked, says when the client's side has ended, and stays until it may go. */
function tunnelling(halfClosed: () => void, over: Promise<void>): (peer: Peer) => Promise<void> {
  return async (peer) => {
    await peer.reader.head("request");
    await peer.send(
      "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n" +
        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
    );
    while (await peer.read() !== null);
    halfClosed();
    await over;
  };
}

Deno.test("a client that ends a WebSocket and resets it is gone, whatever its backend does", async () => {
  const halfClosed = signal();
  const over = signal();
  await using backend = new Backend(tunnelling(halfClosed.resolve, over.promise));
  using proxy = new TestProxy([backend.port], {}, { h2c: true });
  await using peer = await H2Peer.connect(proxy.port);
  await peer.send(headers(1, WEBSOCKET));
  await peer.until("the tunnel", () => peer.stream(1).status === 200);
  await peer.send(data(1, "", { end: true }));
  await halfClosed.promise;
  await peer.send(rstStream(1));
  await until("a word of it", () => proxy.codes.length > 0);
  over.resolve();
  assert.deepEqual(proxy.codes, ["client_gone"]);
});

Deno.test("a WebSocket that outlives a drain gets 1001 and the end of its stream", async () => {
  const [halfClosed, over] = [signal(), signal()];
  await using backend = new Backend(tunnelling(halfClosed.resolve, over.promise));
  using proxy = new TestProxy([backend.port], {}, { h2c: true });
  await using peer = await H2Peer.connect(proxy.port);
  await peer.send(headers(1, WEBSOCKET));
  await peer.until("the tunnel", () => peer.stream(1).status === 200);
  const draining = proxy.server.drain({ delay: 0, timeout: 200 });
  await peer.until("the end of the stream", () => peer.stream(1).ended);
  assert.equal(peer.stream(1).body, "\x88\x02\x03\xe9");
  await peer.send(data(1, "", { end: true }));
  over.resolve();
  await draining;
});

Deno.test("a backend that rejects a WebSocket gives 502 with the reason, and stays in use", async () => {
  await using backend = new Backend(async (peer) => {
    for (;;) {
      const message = await peer.reader.message("request");
      if (message === null) return;
      await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
  });
  const details: unknown[] = [];
  const warn = (_message: string, fields: Record<string, unknown> = {}) => {
    details.push(`${fields.code}: ${fields.detail}`);
  };
  const quiet = () => {};
  using proxy = new TestProxy([backend.port], {}, {
    h2c: true,
    log: { debug: quiet, info: quiet, warn, error: warn },
  });
  await using peer = await H2Peer.connect(proxy.port);
  for (let asked = 1; asked <= 8; asked++) {
    const stream = peer.nextStream();
    await peer.send(headers(stream, WEBSOCKET));
    assert.equal((await peer.answer(stream)).status, 502);
    assert.equal(details.length, asked);
  }
  assert.deepEqual(
    new Set(details),
    new Set(["upstream_refused: answers websocket with 200, not 101"]),
  );
  assert.equal((await peer.ask("/ok")).body, "ok");
});

Deno.test("a WebSocket that cannot be opened gets an HTTP error, also if it says that it is gRPC", async () => {
  using proxy = new TestProxy([], {}, { h2c: true });
  await using peer = await H2Peer.connect(proxy.port);
  await peer.send(headers(1, [...WEBSOCKET, ["content-type", "application/grpc"]]));
  const { status, reset } = await peer.answer(1);
  assert.deepEqual([status, reset], [503, null]);
  const refused = WEBSOCKET.filter(([name]) => name !== "sec-websocket-version");
  await peer.send(headers(3, [...refused, ["content-type", "application/grpc"]]));
  assert.equal((await peer.answer(3)).status, 400);
  using client = await Peer.connect(proxy.port);
  const response = await client.ask(
    "GET /chat HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
      "Content-Type: application/grpc\r\n\r\n",
  );
  assert.match(response.head, /^HTTP\/1\.1 503 /);
  assert.deepEqual(proxy.codes, ["no_endpoint", "bad_request", "no_endpoint"]);
});
