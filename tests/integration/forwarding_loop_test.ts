/** Requests that a configuration sends back to the proxy: they end by their `CDN-Loop` marks. */
import assert from "node:assert/strict";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { filteredSnapshot, upstreamTo, WEB } from "../support/filtered_routes.ts";
import { snapshotOf, telemetryOf, TestProxy } from "../support/test_proxy.ts";

const MARK = "pingress-0123456789abcdef";
const AUTH = "test/auth:80+http";
const GET = "GET / HTTP/1.1\r\nHost: loop.test\r\n\r\n";
const WEBSOCKET = "GET / HTTP/1.1\r\nHost: loop.test\r\nConnection: Upgrade\r\n" +
  "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

type Protocol = Snapshot["upstreams"][number]["protocol"];

/** @param loopMark As the controller publishes it; none without one. */
function snapshotTo(port: number, protocol: Protocol = "http", loopMark?: string): Snapshot {
  const snapshot = snapshotOf([port]);
  return {
    ...snapshot,
    upstreams: snapshot.upstreams.map((one) => ({ ...one, protocol })),
    ...(loopMark === undefined ? {} : { loopMark }),
  };
}

for (
  const [what, request, protocol] of [
    ["a request", GET, "http"],
    ["a request to backends of HTTP/2", GET, "h2c"],
    ["a WebSocket handshake", WEBSOCKET, "http"],
  ] as const
) {
  Deno.test(`${what} that two proxies forward to each other ends with 508 after three passes`, async () => {
    const limits = { connections: 100 };
    using first = new TestProxy([], limits);
    using second = new TestProxy([], limits);
    first.server.apply(snapshotTo(second.port, protocol, MARK));
    second.server.apply(snapshotTo(first.port, protocol, MARK));
    using client = await Peer.connect(first.port);
    const answer = await client.ask(request);
    assert.equal(statusOf(answer), 508);
    assert.match(answer.body, /loops through this proxy/);
    const connections = first.server.connectionCount + second.server.connectionCount;
    assert.ok(connections <= 3, `${connections} connections`);
    assert.deepEqual([...first.codes, ...second.codes], ["loop_detected"]);
  });
}

Deno.test("a backend that calls another host of the proxy with its request's fields is served", async () => {
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

for (const name of ["cdn-loop", "cdn_loop", "cdn.loop"]) {
  Deno.test(`a loop behind auth-url that answers with ${name} ends with 508`, async () => {
    await using auth = new Backend(async (peer) => {
      while (await peer.request() !== null) await peer.send(reply("", `${name}: none\r\n`));
    });
    const external = {
      scheme: "http" as const,
      authority: [{ kind: "text" as const, text: "auth.test" }],
      target: [{ kind: "text" as const, text: "/" }],
      namespace: "test",
      upstream: AUTH,
      responseHeaders: [name],
    };
    const limits = { connections: 20 };
    const snapshot = (port: number): Snapshot => ({
      ...filteredSnapshot(
        { a: { filters: [{ kind: "access", external }] } },
        [upstreamTo(AUTH, [auth.port]), upstreamTo(WEB, [port])],
      ),
      loopMark: MARK,
    });
    const telemetry = telemetryOf(snapshot(auth.port));
    using first = new TestProxy([], limits, { telemetry });
    using second = new TestProxy([], limits, { telemetry });
    // Not parsed: the schema would refuse these names.
    first.server.apply(snapshot(second.port));
    second.server.apply(snapshot(first.port));
    using client = await Peer.connect(first.port);
    assert.equal(statusOf(await client.ask("GET /a/ HTTP/1.1\r\nHost: loop.test\r\n\r\n")), 508);
    assert.deepEqual([...first.codes, ...second.codes], ["loop_detected"]);
  });
}

Deno.test("a loop of three proxies also has three passes", async () => {
  using first = new TestProxy([]);
  using second = new TestProxy([]);
  using third = new TestProxy([]);
  const ring = [first, second, third];
  ring.forEach(({ server }, i) => server.apply(snapshotTo(ring[(i + 1) % 3].port, "http", MARK)));
  using client = await Peer.connect(first.port);
  assert.equal(statusOf(await client.ask(GET)), 508);
  assert.deepEqual(ring.map(({ server }) => server.connectionCount), [1, 1, 1]);
  assert.deepEqual(ring.map(({ codes }) => codes), [[], [], ["loop_detected"]]);
});

Deno.test("a loop mark that is published later applies to requests on open connections", async () => {
  await using backend = new Backend(async (peer) => {
    for (let request = await peer.request(); request; request = await peer.request()) {
      await peer.send(reply(/^CDN-Loop: (.*)\r$/m.exec(request.head)?.[1] ?? "none"));
    }
  });
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  const mark = async () => (await client.ask(GET)).body;
  const own = await mark();
  assert.match(own, /^pingress-[0-9a-f]{16}$/);
  for (const published of [MARK, MARK, "pingress-other", undefined]) {
    proxy.server.apply(snapshotTo(backend.port, "http", published));
    assert.equal(await mark(), published ?? own);
    assert.equal(await mark(), published ?? own);
  }
});

Deno.test("proxies without a common loop mark do not detect each other's", async () => {
  await using backend = new Backend();
  using third = new TestProxy([backend.port]);
  using second = new TestProxy([third.port]);
  using first = new TestProxy([second.port]);
  using client = await Peer.connect(first.port);
  assert.equal(statusOf(await client.ask(GET)), 200);
});
