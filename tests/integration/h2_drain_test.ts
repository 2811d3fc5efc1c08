/** The end of a proxy as clients of HTTP/2 meet it: GOAWAY, and what is under way finishes. */
import assert from "node:assert/strict";
import { Backend, Peer, playOk, signal, until } from "../support/backend.ts";
import {
  CODE,
  data,
  FRAME,
  get,
  headers,
  post,
  PREFACE,
  settings,
  SETTINGS_ACK,
} from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { Http2Backend, http2SnapshotOf } from "../support/http2_backend.ts";
import { Http2Client } from "../support/http2_client.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { authority, certificateFor, TlsProxy } from "../support/tls_proxy.ts";

const NOW = { delay: 0, timeout: 10_000 };
const LAST_OF_ALL = 2 ** 31 - 1;

/** Answers `ok` once `finish` says so. */
function halting(finish: Promise<void>): Backend {
  return new Backend(async (peer) => {
    while (await peer.request() !== null) {
      await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc");
      await finish;
      await peer.send("def");
    }
  });
}

/**
 * Identifiers of the last streams that GOAWAYs have named, and their codes; what is said again is
 * told once.
 */
function goAways(peer: H2Peer): [lastStream: number, code: number][] {
  const all = peer.frames.filter(({ type }) => type === FRAME.GOAWAY).map(({ payload }) => {
    const view = new DataView(payload.buffer, payload.byteOffset);
    return [view.getUint32(0) & LAST_OF_ALL, view.getUint32(4)] as [number, number];
  });
  return all.filter(([last], i) => i === 0 || last !== all[i - 1][0]);
}

Deno.test("a response in progress is completed, and then the connection closes", async () => {
  const finish = signal();
  await using backend = halting(finish.promise);
  using proxy = new TestProxy([backend.port]);
  await using peer = await H2Peer.connect(proxy.port);
  await peer.send(headers(1, get("/"), { end: true }));
  await peer.until("a part of the answer", () => peer.stream(1).body === "abc");
  const draining = proxy.server.drain(NOW);
  await peer.until("GOAWAY", () => goAways(peer).length > 0);
  finish.resolve();
  assert.equal((await peer.answer(1)).body, "abcdef");
  assert.equal(await peer.ended(), "closes");
  await draining;
  assert.deepEqual(goAways(peer), [[LAST_OF_ALL, CODE.NO_ERROR], [1, CODE.NO_ERROR]]);
  assert.equal(proxy.server.connectionCount, 0);
});

Deno.test("requests in transit when the drain begins get their responses", async () => {
  const finish = signal();
  await using backend = halting(finish.promise);
  using proxy = new TestProxy([backend.port]);
  // It does not answer PING, so the second GOAWAY is not there yet.
  await using peer = await H2Peer.connect(proxy.port, { rude: true });
  await peer.send(PREFACE, settings(), SETTINGS_ACK, headers(1, get("/"), { end: true }));
  await peer.until("a part of the answer", () => peer.stream(1).body === "abc");
  const draining = proxy.server.drain(NOW);
  await peer.until("GOAWAY", () => goAways(peer).length === 1);
  await peer.send(headers(3, get("/"), { end: true }));
  finish.resolve();
  assert.equal((await peer.answer(1)).body, "abcdef");
  assert.equal((await peer.answer(3)).body, "abcdef");
  await peer.ended();
  await draining;
  assert.deepEqual(goAways(peer), [[LAST_OF_ALL, CODE.NO_ERROR], [3, CODE.NO_ERROR]]);
});

Deno.test("an upload in progress is completed", async () => {
  await using backend = await Http2Backend.start();
  using proxy = new TestProxy([]);
  proxy.server.apply(http2SnapshotOf([backend.port]));
  await using peer = await H2Peer.connect(proxy.port);
  await peer.send(headers(1, post("/upload")), data(1, "abc"));
  await until("the upload has begun", () => backend.requests === 1);
  const draining = proxy.server.drain(NOW);
  await peer.until("both GOAWAYs", () => goAways(peer).length === 2);
  await peer.send(data(1, "def", { end: true }));
  assert.equal((await peer.answer(1)).body, "6");
  assert.equal(await peer.ended(), "closes");
  await draining;
});

Deno.test("a gRPC stream continues in both directions until it ends by itself", async () => {
  await using backend = await Http2Backend.start();
  using proxy = new TestProxy([]);
  proxy.server.apply(http2SnapshotOf([backend.port]));
  using client = await Http2Client.connect(proxy.port);
  const call = client.call();
  assert.equal(await call.echo("one"), "one");
  const draining = proxy.server.drain(NOW);
  await until("GOAWAY", () => client.goAways.length > 0);
  assert.equal(await call.echo("two"), "two");
  call.end();
  assert.equal((await call.answer).trailers["grpc-status"], "0");
  await client.ended;
  await draining;
  assert.ok(client.goAways.every(({ code }) => code === 0));
});

Deno.test("a connection without open streams closes at once, and no new one is accepted", async () => {
  await using backend = new Backend(playOk);
  using proxy = new TestProxy([backend.port]);
  await using peer = await H2Peer.connect(proxy.port);
  await peer.ask();
  const draining = proxy.server.drain(NOW);
  assert.equal(await peer.ended(), "closes");
  await draining;
  assert.deepEqual(goAways(peer).at(-1), [1, CODE.NO_ERROR]);
  await assert.rejects(Peer.connect(proxy.port));
});

Deno.test("during the delay new connections are served over TLS too, and then get GOAWAY", async () => {
  await using backend = new Backend(playOk);
  const certificates = [await certificateFor("one", { names: ["a.test"] })];
  using proxy = await TlsProxy.start({ certificates, endpoints: [backend.port] });
  const draining = proxy.server.drain({ delay: 500, timeout: 10_000 });
  using client = await Http2Client.connect(proxy.port, { ca: authority.certificate });
  assert.equal((await client.ask()).body, "ok");
  await draining;
  await client.ended;
  assert.ok(client.goAways.length > 0);
});

Deno.test("streams that do not end in time are cut", async () => {
  const never = signal();
  await using backend = halting(never.promise);
  using proxy = new TestProxy([backend.port]);
  await using peer = await H2Peer.connect(proxy.port);
  await peer.send(headers(1, get("/"), { end: true }));
  await peer.until("a part of the answer", () => peer.stream(1).body === "abc");
  await proxy.server.drain({ delay: 0, timeout: 200 });
  await peer.ended();
  assert.equal(peer.stream(1).body, "abc");
  assert.ok(!peer.stream(1).ended);
  never.resolve();
});
