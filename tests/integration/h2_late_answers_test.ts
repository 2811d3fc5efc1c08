/** Answers of a backend that were on their way when their requests were cancelled. */
import assert from "node:assert/strict";
import { Peer, until } from "../support/backend.ts";
import { data, FRAME, get, headers, repeat, rstStream } from "../support/h2_frames.ts";
import { H2Backend, H2Peer } from "../support/h2_peer.ts";
import { H2UpstreamProxy } from "../support/h2_upstream.ts";

const OK = [[":status", "200"]] as const;

Deno.test("a late response to one of 300 cancelled requests harms no other request", async () => {
  const backends: H2Peer[] = [];
  await using backend = new H2Backend(async (peer) => {
    backends.push(peer);
    await peer.ended();
  });
  using proxy = new H2UpstreamProxy([backend.port], {
    limits: { http2Resets: 1_000 },
    server: { h2c: true },
  });
  await using other = await H2Peer.connect(proxy.port);
  await other.send(headers(1, get("/"), { end: true }));
  await until("the other's request", () => backends[0]?.stream(1).over);
  const [peer] = backends;

  await using client = await H2Peer.connect(proxy.port);
  for (let round = 1; round <= 6; round++) {
    const ids = Array.from({ length: 50 }, () => client.nextStream());
    await client.send(...ids.map((id) => headers(id, get("/"), { end: true })));
    await until("the requests", () => peer.count(FRAME.HEADERS) === 1 + 50 * round);
    await client.send(...ids.map((id) => rstStream(id)));
    await until("their resets", () => peer.count(FRAME.RST_STREAM) === 50 * round);
  }
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
  const backends: H2Peer[] = [];
  await using backend = new H2Backend(async (peer) => {
    backends.push(peer);
    await peer.ended();
  });
  using proxy = new H2UpstreamProxy([backend.port], { server: { h2c: true } });
  await using other = await H2Peer.connect(proxy.port);
  await other.send(headers(1, get("/"), { end: true }));
  await until("the other's request", () => backends[0]?.stream(1).over);
  const [peer] = backends;

  await using client = await H2Peer.connect(proxy.port);
  const ids = Array.from({ length: 3 }, () => client.nextStream());
  await client.send(...ids.map((id) => headers(id, get("/"), { end: true })));
  await until("the requests", () => peer.count(FRAME.HEADERS) === 4);
  await client.send(...ids.map((id) => rstStream(id)));
  await until("their resets", () => peer.count(FRAME.RST_STREAM) === 3);
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
  const backends: H2Peer[] = [];
  await using backend = new H2Backend(async (peer) => {
    backends.push(peer);
    await peer.ended();
  });
  using proxy = new H2UpstreamProxy([backend.port], { server: { h2c: true } });
  await using other = await H2Peer.connect(proxy.port);
  await other.send(headers(1, get("/"), { end: true }));
  await until("the other's request", () => backends[0]?.stream(1).over);

  const sum = (type: number) => backends.reduce((all, peer) => all + peer.count(type), 0);
  for (let round = 1; round <= 12; round++) {
    await using client = await H2Peer.connect(proxy.port);
    const ids = Array.from({ length: 50 }, () => client.nextStream());
    await client.send(...ids.map((id) => headers(id, get("/"), { end: true })));
    await until("the requests", () => sum(FRAME.HEADERS) === 1 + 50 * round);
    await client.send(...ids.map((id) => rstStream(id)));
    await until("their resets", () => sum(FRAME.RST_STREAM) === 50 * round);
  }
  assert.equal(backend.accepted, 2);
  await backends[0].send(headers(1, OK), data(1, "ok", { end: true }));
  assert.equal((await other.answer(1)).body, "ok");
});
