/** Whoever connects to the stream and does what he should not, with real sockets. */
import assert from "node:assert/strict";
import net from "node:net";
import tls from "node:tls";
import { ManualClock } from "../../shared/clock.ts";
import type { Secret } from "../../shared/redacted.ts";
import { eventually } from "../../tests/cluster/support/condition.ts";
import { stoppingPipe } from "../../tests/support/stopping_pipe.ts";
import { HELLO, StreamClient } from "../../tests/support/stream_client.ts";
import {
  authority,
  Certificates,
  judge,
  snapshot,
  startStream,
} from "../../tests/support/stream_server_scene.ts";
import { silentLogger } from "../../shared/log.ts";
import { StreamListener } from "./listener.ts";
import type { Verdict } from "./token_reviews.ts";

const HEADS: readonly [string, number, Partial<ConstructorParameters<typeof StreamClient>[0]>][] = [
  ["no token", 401, { token: undefined }],
  ["a token that is none", 401, { token: "bad" }],
  ["somebody else's token", 403, { token: "foreign" }],
  ["nobody to ask", 503, { token: "outage" }],
  ["another path", 404, { path: "/" }],
  ["another method", 405, { method: "PUT" }],
  ["another protocol", 426, { headers: { "pingress-protocol": "2" } }],
  ["another type", 400, { headers: { "content-type": "text/plain" } }],
];

for (const [name, status, options] of HEADS) {
  Deno.test(`${name}: the response is ${status} with a reason, and the connection closes`, async () => {
    await using scene = await startStream();
    const client = scene.connect("proxy-1", options);
    assert.equal(await client.answered(), status);
    await client.ended();
    assert.match(client.text, /^[^\n]+\n$/);
    assert.equal(scene.server.sessions.length, 0);
  });
}

Deno.test("a body in chunks of one byte is not kept until the token is checked", async () => {
  const waiting = Promise.withResolvers<Verdict>();
  const reviews = { review: () => waiting.promise, stop() {}, forget() {} };
  await using scene = await startStream({ reviews });
  const { port } = scene.server.address;
  const head = "POST /v1/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer x\r\n" +
    "content-type: application/x-ndjson\r\npingress-protocol: 1\r\ntransfer-encoding: chunked\r\n\r\n";
  const options = { port, host: "127.0.0.1", servername: "localhost", ca: authority.certificate };
  await ended(tls.connect(options), head + "1\r\nx\r\n".repeat(60_000), "secureConnect");
  waiting.resolve(judge("bad"));
});

Deno.test("of a body in chunks of one byte, some thousand are read before they are taken", async () => {
  const certificates = new Certificates();
  await certificates.present("localhost");
  const begun = Promise.withResolvers<void>();
  let waiting = 0;
  let chunks = 0;
  const listener = new StreamListener({
    address: { hostname: "127.0.0.1", port: 0 },
    certificates,
    log: silentLogger,
    onRequest: (request) =>
      request.on("data", () => {
        waiting = Math.max(waiting, request.readableLength);
        if (++chunks === 60_000) begun.resolve();
      }),
  });
  await listener.listen();
  const { port } = listener.address;
  const head = "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
  const options = { port, host: "127.0.0.1", servername: "localhost", ca: authority.certificate };
  const socket = tls.connect(options, () => socket.write(head + "1\r\nx\r\n".repeat(60_000)));
  const isOver = new Promise((resolve) => socket.on("close", resolve));
  await begun.promise;
  socket.destroy();
  listener.destroy();
  await isOver;
  // As many as one read of the socket may hold, and 4 KiB.
  assert.ok(waiting < 16_384, String(waiting));
});

Deno.test("invalid connections are closed, and proxies are not affected", async () => {
  await using scene = await startStream({ limits: { head: 300 } });
  scene.server.update(snapshot(1));
  const client = scene.connect();
  await client.line("snapshot");
  const { port } = scene.server.address;
  const raw = (text: string | Uint8Array | null) => ended(net.connect(port, "127.0.0.1"), text);
  const secure = (text: string | null) =>
    ended(
      tls.connect({ port, host: "127.0.0.1", servername: "localhost", ca: authority.certificate }),
      text,
      "secureConnect",
    );
  const head = "POST /v1/stream HTTP/1.1\r\nhost: x\r\n";
  await Promise.all([
    raw(null),
    raw("GET / HTTP/1.1\r\nhost: x\r\n\r\n"),
    raw(crypto.getRandomValues(new Uint8Array(4096))),
    // The beginning of a handshake.
    raw(new Uint8Array([22, 3, 1, 2, 0, 1, 0])),
    secure(null),
    secure("\0\0\0 garbage\r\n\r\n"),
    secure(head),
    secure(`${head}x: ${"y".repeat(100_000)}\r\n\r\n`),
    secure(`${head}transfer-encoding: chunked\r\n\r\nzz\r\n`),
    secure("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    secure(`${head}upgrade: websocket\r\nconnection: upgrade\r\n\r\n`),
    secure("CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n"),
    secure(`${head}expect: something\r\n\r\n`),
  ]);
  // A port scan: whoever connects and goes.
  await Promise.all(Array.from({ length: 50 }, () =>
    new Promise<void>((resolve) => {
      const socket = net.connect(port, "127.0.0.1", () => {
        socket.resetAndDestroy();
        resolve();
      });
      socket.on("error", () => resolve());
    })));
  scene.server.update(snapshot(2, ["b.example.com"]));
  await client.line("delta");
});

/** Sends something, and waits until the other side ends the connection. */
function ended(
  socket: net.Socket,
  text: string | Uint8Array | null,
  event = "connect",
): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      socket.destroy();
      reject(new Error(`Still open after ${String(text).slice(0, 40)}`));
    }, 10_000);
    socket.on("error", () => {});
    socket.on("data", () => {});
    socket.on("close", () => {
      clearTimeout(late);
      resolve();
    });
    socket.once(event, () => text !== null && socket.write(text));
  });
}

Deno.test("slow unauthenticated connections make room for new ones", async () => {
  const limits = { strangers: 8, strangersOfAddress: 100, head: 60_000 };
  await using scene = await startStream({ limits });
  const { port } = scene.server.address;
  const slow = Array.from({ length: 20 }, () => net.connect(port, "127.0.0.1"));
  for (const socket of slow) socket.on("error", () => {});
  scene.server.update(snapshot(1));
  await scene.connect().line("snapshot");
  for (const socket of slow) socket.destroy();
});

Deno.test("one address may have 16 unauthenticated connections, and other addresses are still accepted", async () => {
  const limits = { head: 60_000 };
  await using scene = await startStream({ limits, address: { hostname: "0.0.0.0", port: 0 } });
  const { port } = scene.server.address;
  const from = (localAddress: string) => {
    const socket = net.connect({ port, host: "127.0.0.1", localAddress });
    socket.on("error", () => {});
    return socket;
  };
  const slow = Array.from({ length: 16 }, () => from("127.0.0.2"));
  await Promise.all(
    slow.map((socket) => new Promise((resolve) => socket.once("connect", resolve))),
  );
  await new Promise((resolve) => from("127.0.0.2").resume().once("close", resolve));
  assert.ok(slow.every((socket) => !socket.destroyed));
  scene.server.update(snapshot(1));
  await scene.connect().line("snapshot");
  // One that leaves makes room.
  slow[0].destroy();
  await eventually("a handshake", () =>
    new Promise<boolean>((resolve) => {
      const ca = authority.certificate;
      const socket = tls.connect({ socket: from("127.0.0.2"), servername: "localhost", ca });
      socket.on("error", () => {});
      socket.once("close", () => resolve(false));
      socket.once("secureConnect", () => {
        resolve(true);
        socket.destroy();
      });
    }));
  for (const socket of slow) socket.destroy();
});

Deno.test("a connection sends one request: pipelined ones are not kept, however many", async () => {
  let reviews = 0;
  const gate = Promise.withResolvers<Verdict>();
  const review = () => (reviews++, gate.promise);
  await using scene = await startStream({ reviews: { review, stop: () => {}, forget: () => {} } });
  const { port } = scene.server.address;
  const socket = tls.connect({ port, servername: "localhost", ca: authority.certificate });
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  const request = "POST /v1/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer proxy-1\r\n" +
    "content-type: application/x-ndjson\r\npingress-protocol: 1\r\ncontent-length: 0\r\n\r\n";
  socket.write(request.repeat(100));
  await eventually("end of the connection", () => Promise.resolve(socket.closed));
  assert.equal(reviews, 1);
  gate.resolve(judge("proxy-1"));
});

Deno.test("data sent before the token is checked is kept up to the size of a report", async () => {
  const checked = Promise.withResolvers<Verdict>();
  await using scene = await startStream({
    reviews: { review: () => checked.promise, stop: () => {}, forget: () => {} },
  });
  const client = scene.connect("proxy-1");
  client.report("x".repeat(200_000));
  await client.ended();
  checked.resolve(judge("proxy-1"));
  assert.equal(client.status, null);
  assert.equal(scene.server.sessions.length, 0);
});

const REPORTS: readonly [string, string][] = [
  ["invalid JSON", "{\n"],
  ["a line without an end", "x".repeat(70_000)],
  ["no hello at first", `${JSON.stringify({ kind: "lost", reason: "" })}\n`],
  ["reports without a pause", `${JSON.stringify(HELLO)}\n${'{"kind":"x"}\n'.repeat(2000)}`],
];

for (const [name, text] of REPORTS) {
  Deno.test(`a proxy that sends ${name} gets an error, and only its stream ends`, async () => {
    await using scene = await startStream();
    scene.server.update(snapshot(1));
    const good = scene.connect("proxy-2");
    await good.line("snapshot");
    const client = scene.connect("proxy-1", { hello: null });
    await client.answered();
    client.report(text);
    await client.line("bye");
    await client.ended();
    scene.server.update(snapshot(2, ["b.example.com"]));
    await good.line("delta");
  });
}

/** Bytes that a slow proxy reads before it stops: handshake, head and the beginning of the line. */
const SLOW_AFTER = 65_536;

/** Some 6 MB as a line, more than sockets take for a reader that does not read. */
const manyHosts = (from: number) =>
  Array.from({ length: 20_000 }, (_, i) => `h${from + i}.example.com`);

Deno.test("a slow reader gets one combined change when it reads again, and none is kept for it before", async () => {
  await using scene = await startStream({ timing: { stall: Infinity, silence: Infinity } });
  const { server } = scene;
  server.update(snapshot(1, manyHosts(0)));
  await using pipe = await stoppingPipe(server.address.port, SLOW_AFTER);
  const slow = scene.connect("proxy-1", { port: pipe.port });
  const session = await slow.until(
    "a session that waits",
    () => server.sessions.find(({ unsent }) => unsent > 0),
  );
  const good = scene.connect("proxy-2");
  await good.line("snapshot");
  for (let i = 2; i < 12; i++) {
    const before = session.unsent;
    server.update(snapshot(i, manyHosts(i * 10)));
    assert.ok(before > 0 && session.unsent <= before, `${before}, then ${session.unsent} bytes`);
    await good.until(`change ${i}`, () => good.latest?.hash === server.updates.current!.hash);
  }
  assert.deepEqual(slow.lines.map(({ kind }) => kind), ["hello"]);
  pipe.resume();
  await slow.until("the newest", () => slow.latest?.hash === server.updates.current!.hash);
  assert.deepEqual(slow.lines.map(({ kind }) => kind), ["hello", "snapshot", "delta"]);
});

Deno.test("a reader without progress is disconnected, and others are not affected", async () => {
  const clock = new ManualClock();
  const stall = 5_000;
  const review = (token: Secret) =>
    Promise.resolve({ ...judge(token.reveal()), expiresAt: Infinity });
  await using scene = await startStream({
    clock,
    timing: { stall, silence: Infinity },
    reviews: { review, stop: () => {}, forget: () => {} },
  });
  const { server } = scene;
  server.update(snapshot(1, manyHosts(0)));
  await using pipe = await stoppingPipe(server.address.port, SLOW_AFTER);
  const slow = scene.connect("proxy-1", { port: pipe.port });
  const session = await slow.until(
    "a session that waits",
    () => server.sessions.find(({ unsent }) => unsent > 0),
  );
  const good = scene.connect("proxy-2");
  await good.line("snapshot");
  server.update(snapshot(2, manyHosts(10)));
  // It is sent only to a proxy that has read what came before.
  await good.line("delta");
  assert.ok(session.unsent > 0);
  clock.advance(stall + 1);
  await slow.until("end of the slow proxy", () => server.sessions.length === 1);
  assert.equal(server.sessions[0].name, "proxy-2");
  assert.match(await scene.metrics.text(), /ends_total\{reason="slow"\} 1/);
});

Deno.test("a port that stops accepting is reopened, and streams continue", async () => {
  const folder = `${import.meta.dirname!}/..`;
  const code = `
    import { silentProbe } from "${folder}/../tests/support/silent_stream.ts";
    await silentProbe();
  `;
  const { success, stdout, stderr } = await new Deno.Command("bash", {
    args: [
      "-c",
      `ulimit -n 160; exec "$0" eval --config "$1" "$2"`,
      Deno.execPath(),
      `${folder}/../deno.json`,
      code,
    ],
  }).output();
  const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert.ok(success, said);
  assert.match(said, /silent and open again/);
});
