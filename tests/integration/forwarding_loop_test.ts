/** Requests that a configuration sends back to the proxy: they end by their `CDN-Loop` marks. */
import assert from "node:assert/strict";
import type { Snapshot } from "../../shared/snapshot.ts";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { snapshotOf, TestProxy } from "../support/test_proxy.ts";

const MARK = "pingress-0123456789abcdef";
const GET = "GET / HTTP/1.1\r\nHost: loop.test\r\n\r\n";
const WEBSOCKET = "GET / HTTP/1.1\r\nHost: loop.test\r\nConnection: Upgrade\r\n" +
  "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

type Protocol = Snapshot["upstreams"][number]["protocol"];

function snapshotTo(port: number, protocol: Protocol): Snapshot {
  const snapshot = snapshotOf([port]);
  return { ...snapshot, upstreams: snapshot.upstreams.map((one) => ({ ...one, protocol })) };
}

for (
  const [what, request, protocol] of [
    ["a request", GET, "http"],
    ["a request to backends of HTTP/2", GET, "h2c"],
    ["a WebSocket handshake", WEBSOCKET, "http"],
  ] as const
) {
  Deno.test(`${what} that two proxies send to each other ends with 508 after a few passes`, async () => {
    const limits = { connections: 100 };
    using first = new TestProxy([], limits, { loopMark: MARK });
    using second = new TestProxy([], limits, { loopMark: MARK });
    first.server.apply(snapshotTo(second.port, protocol));
    second.server.apply(snapshotTo(first.port, protocol));
    using client = await Peer.connect(first.port);
    const answer = await client.ask(request);
    assert.equal(statusOf(answer), 508);
    assert.match(answer.body, /goes round in a loop/);
    const connections = first.server.connectionCount + second.server.connectionCount;
    assert.ok(connections < 10, `${connections} connections`);
    assert.deepEqual([...first.codes, ...second.codes], ["loop_detected"]);
  });
}

Deno.test("a backend that calls another host here with its request's fields is served", async () => {
  await using last = new Backend();
  using inner = new TestProxy([last.port], {}, { loopMark: MARK });
  await using copying = new Backend(async (peer) => {
    const request = await peer.request();
    if (request === null) return;
    using call = await Peer.connect(inner.port);
    const answer = await call.ask(request.head);
    await peer.send(reply(answer.body));
  });
  using outer = new TestProxy([copying.port], {}, { loopMark: MARK });
  using client = await Peer.connect(outer.port);
  const answer = await client.ask(GET);
  assert.equal(statusOf(answer), 200);
  assert.equal(answer.body, "ok");
});

Deno.test("proxies without a common mark do not take each other's for their own", async () => {
  await using backend = new Backend();
  using third = new TestProxy([backend.port]);
  using second = new TestProxy([third.port]);
  using first = new TestProxy([second.port]);
  using client = await Peer.connect(first.port);
  assert.equal(statusOf(await client.ask(GET)), 200);
});
