/** The load generator must see what goes wrong: against backends that do wrong on purpose. */
import assert from "node:assert/strict";
import { createHash, X509Certificate } from "node:crypto";
import {
  Backend,
  type Peer,
  refusingPort,
  reply,
  ResettingBackend,
} from "../../support/backend.ts";
import { CODE, data, headers, rstStream, SETTING } from "../../support/h2_frames.ts";
import { H2Backend } from "../../support/h2_peer.ts";
import { Http2Backend } from "../../support/http2_backend.ts";
import { authority, certificateFor, TlsProxy } from "../../support/tls_proxy.ts";
import { CallStream } from "./call_stream.ts";
import { Latencies } from "./latencies.ts";
import { Load } from "./load.ts";
import type { Failure, LoadPlan, StreamPlan } from "./plan.ts";
import { afterRunning } from "./running_timer.ts";

const STREAM: StreamPlan = {
  name: "requests",
  rate: 50,
  method: "GET",
  host: "a.test",
  path: "/",
  connections: "kept",
};

/** Connections that a stream opens for ten times as many requests a second. */
const KEPT = 10;

function planFor(httpPort: number, stream: Partial<StreamPlan> = {}): LoadPlan {
  const streams = [{ ...STREAM, ...stream }];
  return { address: "127.0.0.1", httpPort, httpsPort: 0, streams };
}

/** The answer that the load wants to a request. */
function rightAnswer(head: string, body: string): string {
  const id = /[?&]id=([-\w]+)/.exec(head)![1];
  const hash = createHash("sha256").update(body).digest("hex");
  return `pod ${id}${head.startsWith("POST ") ? ` ${hash}` : ""}`;
}

/** Answers as it should; `before` may do something else about the `count`th request in all. */
function backend(
  before: (peer: Peer, count: number) => Promise<boolean> | boolean = () => false,
): Backend {
  let count = 0;
  return new Backend(async (peer) => {
    for (let request = await peer.request(); request !== null; request = await peer.request()) {
      if (await before(peer, count++)) return;
      await peer.send(reply(rightAnswer(request.head, request.body)));
    }
  });
}

for (const method of ["GET", "POST"] as const) {
  for (const connections of ["kept", "new"] as const) {
    Deno.test(`${method} on ${connections} connections gets responses without a failure`, async () => {
      await using server = backend();
      await using load = await Load.start(planFor(server.port, { method, connections }));
      await load.answers(20);
      const { streams: [result] } = await load.stop();
      assert.deepEqual(load.failures, []);
      assert.ok(result.answered >= 20);
      if (connections === "new") assert.equal(result.opened, result.answered);
      else assert.ok(result.opened < result.answered, "connections are used again");
    });
  }
}

/** What the `count`th request meets with, and what the load calls it. */
const MISTAKES: readonly {
  readonly name: string;
  readonly how: string;
  readonly status?: number;
  readonly does: (peer: Peer) => Promise<boolean>;
}[] = [
  {
    name: "a connection closed instead of a response",
    how: "closed",
    does: () => Promise.resolve(true),
  },
  {
    name: "a truncated response",
    how: "cut",
    does: (peer) => peer.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").then(() => true),
  },
  {
    name: "a 503",
    how: "status",
    status: 503,
    does: (peer) =>
      peer.send("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n").then(() => true),
  },
  {
    name: "the response to another request",
    how: "body",
    does: (peer) => peer.send(reply("pod 1234")).then(() => true),
  },
  {
    name: "a missing response",
    how: "timeout",
    does: (peer) => peer.ended().then(() => true),
  },
];
for (const { name, how, status = 0, does } of MISTAKES) {
  Deno.test(`${name} is a failure, and the only one`, async () => {
    await using server = backend((peer, count) => count === 5 ? does(peer) : false);
    const timeout = how === "timeout" ? 2_000 : 30_000;
    await using load = await Load.start(planFor(server.port, { timeout }));
    await load.answers(40);
    await load.stop();
    assert.deepEqual(load.failures.map((failure) => [failure.how, failure.status]), [[
      how,
      status,
    ]]);
  });
}

Deno.test("each refused connection is a failure", async () => {
  await using load = await Load.start(planFor(refusingPort(), { connections: "new" }));
  await load.lasts(200);
  const { streams: [result] } = await load.stop();
  assert.ok(result.failed > 0);
  assert.equal(result.answered, 0);
  assert.ok(load.failures.every(({ how }) => how === "refused"), load.failures[0].how);
});

Deno.test("a reset is distinguished from a close", async () => {
  await using server = await ResettingBackend.listen("");
  server.reset = true;
  await using load = await Load.start(planFor(server.port, { connections: "new" }));
  await load.lasts(200);
  await load.stop();
  assert.ok(load.failures.length > 0);
  assert.ok(load.failures.every(({ how }) => how === "reset"), load.failures[0].how);
});

Deno.test("a kept connection that closes while unused is not a failure", async () => {
  await using server = new Backend(async (peer) => {
    const request = await peer.request();
    if (request !== null) await peer.send(reply(rightAnswer(request.head, request.body)));
  });
  await using load = await Load.start(planFor(server.port, { rate: 20 }));
  await load.answers(10);
  await load.stop();
  assert.deepEqual(load.failures, []);
});

Deno.test("a client that was suspended does not use connections that were closed meanwhile", async () => {
  const closed = Promise.withResolvers<null>();
  await using server = new Backend(async (peer, index) => {
    const end = index < KEPT ? closed.promise : new Promise<null>(() => {});
    for (;;) {
      const request = await Promise.race([peer.request(), end]);
      if (request === null) return;
      await peer.send(reply(rightAnswer(request.head, request.body)));
    }
  });
  await using load = await Load.start(planFor(server.port, { rate: 10 * KEPT }));
  await load.answers(20);
  load.suspend();
  // Requests that were sent before get their responses, also where this process stands still meanwhile.
  await new Promise<void>((resume) => afterRunning(1_000, resume));
  closed.resolve(null);
  await new Promise<void>((resume) => afterRunning(500, resume));
  load.resume();
  await load.answers(20);
  await load.stop();
  assert.deepEqual(load.failures, []);
});

Deno.test("requests do not wait for a slow backend's responses, and latencies include the backend's delay", async () => {
  const rate = 10 * KEPT;
  // Far more than there are kept connections.
  const held = 5 * KEPT;
  const arrived = Promise.withResolvers<false>();
  await using server = backend((_peer, count) => {
    if (count === held - 1) arrived.resolve(false);
    return arrived.promise;
  });
  await using load = await Load.start(planFor(server.port, { rate }));
  await load.answers(held);
  const { streams: [{ answered, max }] } = await load.stop();
  assert.deepEqual(load.failures, []);
  assert.ok(answered >= held, `${answered} answered`);
  // The first request waits while the others become due.
  assert.ok(max >= (held - 1) * 1_000 / rate, `${max} ms`);
});

Deno.test("a missing echo and a close code are reported", async () => {
  const upgrade = (key: string) => {
    const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`);
    return "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
      `Sec-WebSocket-Accept: ${accept.digest("base64")}\r\n\r\n`;
  };
  await using server = new Backend(async (peer, index) => {
    const request = await peer.request();
    // The load has ended as it opened one more.
    if (request === null) return;
    await peer.send(upgrade(/^sec-websocket-key: *(\S+)/im.exec(request.head)![1]));
    await peer.read();
    // The first is told to go, the second is cut, the third gets something else.
    if (index === 0) await peer.send(new Uint8Array([0x88, 2, 0x03, 0xe9]));
    if (index === 2) await peer.send(new Uint8Array([0x81, 1, 0x78]));
    if (index > 1) await peer.ended();
  });
  const sockets = [{ name: "sockets", count: 1, interval: 20, host: "a.test", path: "/socket" }];
  await using load = await Load.start({ ...planFor(server.port), streams: [], sockets });
  while (load.ends.length < 3) await load.lasts(20);
  await load.stop();
  assert.deepEqual(load.ends.slice(0, 3).map(({ code }) => code), [1001, 1006, 1006]);
  assert.deepEqual(load.failures.map(({ how }) => how), ["body"]);
});

Deno.test("a change of certificate is seen in the handshakes, and failed ones are failures", async () => {
  const [one, two] = await Promise.all(
    ["one", "two"].map((id) => certificateFor(id, { names: ["a.test"] })),
  );
  const other = await certificateFor("other", { names: ["other.test"] });
  await using server = backend();
  using proxy = await TlsProxy.start({ certificates: [one], endpoints: [server.port] });
  const handshakes = [{ name: "handshakes", rate: 20, host: "a.test", path: "/?id=1" }];
  await using load = await Load.start({
    ...planFor(0),
    httpsPort: proxy.port,
    authority: authority.certificate,
    streams: [{ ...STREAM, secure: true }],
    handshakes,
  });
  const failures = () => load.failures.map(({ how }) => how);
  await load.answers(5);
  proxy.apply([two]);
  while (load.certificates.length < 2) await load.lasts(20);
  assert.deepEqual(failures(), []);
  proxy.apply([other], "other");
  while (failures().length === 0) await load.lasts(20);
  await load.stop();
  const fingerprints = [one, two].map(({ chain }) => new X509Certificate(chain).fingerprint256);
  assert.deepEqual(
    load.certificates.slice(0, 2).map(({ fingerprint }) => fingerprint),
    fingerprints,
  );
  assert.equal(failures()[0], "handshake");
});

Deno.test("gRPC calls get responses, move to another connection at GOAWAY, and fail without a response", async () => {
  const first = await Http2Backend.start();
  const calls = [{ name: "calls", rate: 50, host: "a.test", path: "/test.Echo/Say" }];
  await using load = await Load.start({ ...planFor(first.port), streams: [], calls });
  await load.answers(10);
  first.sendAway();
  await load.answers(10);
  assert.deepEqual(load.failures, []);
  assert.equal(first.accepted, 2);
  await first[Symbol.asyncDispose]();
  await load.lasts(200);
  await load.stop();
  assert.ok(load.failures.some(({ how }) => how === "refused"));
});

Deno.test("calls that are due at once wait for free streams", async () => {
  const limit = 4;
  let refused = 0;
  await using server = new H2Backend(async (peer) => {
    const answered = new Set<number>();
    while (peer.ending === "") {
      const count = peer.frames.length;
      const running = [...peer.streams].filter(([id]) => !answered.has(id));
      for (const [id] of running.slice(limit)) {
        refused++;
        answered.add(id);
        await peer.send(rstStream(id, CODE.REFUSED_STREAM));
      }
      for (const [id, { body, ended }] of running.slice(0, limit)) {
        if (!ended) continue;
        answered.add(id);
        await peer.send(
          headers(id, [[":status", "200"], ["content-type", "application/grpc"]]),
          data(id, body),
          headers(id, [["grpc-status", "0"]], { end: true }),
        );
      }
      await peer.until("a frame", () => peer.frames.length !== count);
    }
  }, { settings: [[SETTING.MAX_CONCURRENT_STREAMS, limit]] });
  const plan = { name: "calls", rate: 1_000, host: "a.test", path: "/" };
  const failures: Failure[] = [];
  const load = { ...planFor(server.port), streams: [] };
  const calls = new CallStream(plan, load, new Latencies(), (failure) => failures.push(failure));
  await calls.open();
  calls.loop.tick(50);
  const { answered } = await calls.end();
  assert.deepEqual({ answered, failures, refused }, { answered: 50, failures: [], refused: 0 });
});
