import assert from "node:assert/strict";
import net from "node:net";
import tls from "node:tls";
import { CertificateAuthority } from "../dev/certificate_authority.ts";
import { silentLogger } from "../shared/log.ts";
import { Redacted } from "../shared/redacted.ts";
import type { Snapshot, SnapshotVersion } from "../shared/snapshot.ts";
import { eventually } from "../tests/cluster/support/condition.ts";
import { HELLO, StreamClient } from "../tests/support/stream_client.ts";
import { ControllerMetrics } from "./metrics.ts";
import type { ServingCertificate, ServingCertificates } from "./stream/authority.ts";
import type { Verdict } from "./stream/token_reviews.ts";
import { type StreamOptions, StreamServer } from "./stream.ts";

const authority = await CertificateAuthority.create("stream tests");

class Certificates implements ServingCertificates {
  current: ServingCertificate | null = null;
  readonly #listeners: (() => void)[] = [];

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async present(...names: string[]): Promise<void> {
    const { chain, key } = await authority.issue({ names });
    this.#replace(chain, key as Redacted);
  }

  async break(): Promise<void> {
    const { chain } = await authority.issue({ names: ["localhost"] });
    this.#replace(chain, new Redacted("no key"));
  }

  #replace(certPem: string, keyPem: Redacted): void {
    this.current = { certPem, keyPem, authority: "", validTo: Infinity };
    for (const listener of this.#listeners) listener();
  }
}

/** The token is the name of the pod; `bad` and `foreign` are not let in. */
function judge(token: string): Verdict {
  if (token === "bad") return { kind: "bad", status: 401, reason: "no" };
  if (token === "foreign") return { kind: "bad", status: 403, reason: "not you" };
  if (token === "outage") return { kind: "unknown", reason: "nobody can tell" };
  const [pod, life] = token.split("/");
  return {
    kind: "good",
    identity: { pod, podUid: `uid-${pod}`, node: "node-1" },
    expiresAt: performance.now() + Number(life ?? 3_600_000),
  };
}

interface Scene extends AsyncDisposable {
  readonly server: StreamServer;
  readonly certificates: Certificates;
  readonly metrics: ControllerMetrics;
  readonly claims: SnapshotVersion[];
  connect(
    token?: string,
    options?: Partial<ConstructorParameters<typeof StreamClient>[0]>,
  ): StreamClient;
}

async function start(options: Partial<StreamOptions> = {}): Promise<Scene> {
  const certificates = new Certificates();
  await certificates.present("localhost");
  const metrics = new ControllerMetrics();
  const claims: SnapshotVersion[] = [];
  const server = new StreamServer({
    address: { hostname: "127.0.0.1", port: 0 },
    certificates,
    reviews: {
      review: (token) => Promise.resolve(judge(token.reveal())),
      stop: () => {},
    },
    zoneOf: (node) => Promise.resolve(node === "node-1" ? "zone-a" : null),
    name: "controller-0",
    metrics,
    log: silentLogger,
    onClaim: (version) => claims.push(version),
    onNews: () => {},
    ...options,
  });
  await server.start();
  const clients: StreamClient[] = [];
  return {
    server,
    certificates,
    metrics,
    claims,
    connect(token = "proxy-1", more = {}) {
      const { port } = server.address;
      const client = new StreamClient({ port, token, caPem: authority.certificate, ...more });
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.close();
      await Promise.all(clients.map((client) => client.ended()));
      await server.stop();
    },
  };
}

function snapshot(revision: number, hosts: readonly string[] = ["a.example.com"]): Snapshot {
  const origin = { kind: "Ingress", namespace: "default", name: "web", field: "" };
  return {
    format: 1,
    version: { epoch: "e", seen: { Ingress: String(revision) } },
    routes: hosts.toSorted().map((host) => ({
      id: `${host} Prefix /`,
      host,
      path: { type: "Prefix", value: "/" },
      action: { kind: "forward", upstream: "default/web:80" },
      origin,
    })),
    defaultAction: null,
    upstreams: [{
      id: "default/web:80",
      protocol: "http",
      addresses: { kind: "endpoints", endpoints: [{ address: "10.0.0.1", port: 80 }] },
    }],
    certificates: [],
    defaultCertificate: null,
  };
}

function hostsOf(line: { readonly [field: string]: unknown }): string[] {
  return (line.hosts as { host: string }[]).map(({ host }) => host);
}

Deno.test("a proxy gets everything first, then what changes, each with a hash", async () => {
  await using scene = await start();
  const client = scene.connect();
  const hello = await client.line("hello");
  assert.deepEqual(
    [hello.controller, hello.heartbeat, hello.zone],
    ["controller-0", 1500, "zone-a"],
  );
  assert.deepEqual(client.lines.length, 1, "nothing is streamed before there is anything");
  scene.server.update(snapshot(1));
  const whole = await client.line("snapshot");
  assert.deepEqual(hostsOf(whole), ["a.example.com"]);
  scene.server.update(snapshot(2, ["a.example.com", "b.example.com"]));
  const delta = await client.line("delta");
  assert.equal(delta.base, whole.hash);
  assert.deepEqual(hostsOf(delta), ["b.example.com"]);
  const [session] = scene.server.sessions;
  await client.until("sync", () => session.isInSync);
  assert.deepEqual(session.inForce, { version: delta.version, hash: delta.hash });
  assert.match(await scene.metrics.text(), /propagation_seconds_count 1/);
});

Deno.test("a proxy that has it all already is told so, under whatever version", async () => {
  await using scene = await start();
  scene.server.update(snapshot(1));
  const first = scene.connect();
  const { hash } = await first.line("snapshot");
  scene.server.update(snapshot(2));
  const version = { epoch: "e", seen: { Ingress: "1" } };
  const second = scene.connect("proxy-2", { hello: { ...HELLO, version, hash } });
  assert.deepEqual((await second.line("same")).version, { epoch: "e", seen: { Ingress: "2" } });
  assert.deepEqual(scene.claims.at(0), version);
  const { version: later } = await first.line("delta");
  assert.deepEqual(later, { epoch: "e", seen: { Ingress: "2" } });
});

Deno.test("what is translated again and comes to the same is told to nobody", async () => {
  await using scene = await start({ timing: { heartbeat: 100 } });
  scene.server.update(snapshot(1));
  const client = scene.connect();
  await client.line("snapshot");
  scene.server.update(snapshot(1));
  await client.until("pings", () => client.pings > 3);
  assert.equal(client.lines.length, 2);
});

Deno.test("a proxy that is lost gets everything again, and not more than once a second", async () => {
  await using scene = await start();
  scene.server.update(snapshot(1));
  const client = scene.connect();
  await client.line("snapshot");
  const at = performance.now();
  client.report({ kind: "lost", reason: "a hash does not match" });
  client.report({ kind: "lost", reason: "a hash does not match" });
  await client.line("snapshot", client.lines.length);
  assert.ok(performance.now() - at > 500);
  assert.equal(client.lines.filter(({ kind }) => kind === "snapshot").length, 2);
});

Deno.test("what a proxy refuses is shown, and it goes on from there", async () => {
  await using scene = await start();
  scene.server.update(snapshot(1));
  const client = scene.connect("proxy-1", { acknowledges: false });
  const { version, hash } = await client.line("snapshot");
  client.report({ kind: "refused", version, hash, code: "invalid", reason: "$.hosts[0]: no" });
  const [session] = scene.server.sessions;
  await client.until("refusal", () => session.refusal);
  assert.deepEqual([session.refusal?.code, session.isInSync], ["invalid", false]);
  scene.server.update(snapshot(2, ["b.example.com"]));
  const delta = await client.line("delta");
  assert.equal(delta.base, hash);
  client.report({ kind: "applied", version: delta.version, hash: delta.hash });
  await client.until("sync", () => session.isInSync && session.refusal === null);
});

Deno.test("what a proxy refuses again and again is one refusal, told once and since its first", async () => {
  const told: string[] = [];
  const log = { ...silentLogger, info: (message: string) => void told.push(message) };
  await using scene = await start({ log });
  scene.server.update(snapshot(1));
  const client = scene.connect("proxy-1", { acknowledges: false });
  const { version, hash } = await client.line("snapshot");
  const refuse = () =>
    client.report({ kind: "refused", version, hash, code: "older", reason: "older" });
  refuse();
  const [session] = scene.server.sessions;
  const first = await client.until("refusal", () => session.refusal);
  refuse();
  const second = await client.until(
    "second refusal",
    () => session.refusal === first ? null : session.refusal,
  );
  assert.equal(second.at, first.at);
  assert.equal(told.filter((message) => message === "A proxy refuses an update").length, 1);
});

Deno.test("a proxy for which the version was too old gets the next one at once", async () => {
  await using scene = await start({ timing: { heartbeat: 60_000 } });
  scene.server.update(snapshot(1));
  const client = scene.connect("proxy-1", { acknowledges: false });
  const { version, hash } = await client.line("snapshot");
  client.report({ kind: "refused", version, hash, code: "older", reason: "older" });
  await client.until("refusal", () => scene.server.sessions[0].refusal);
  scene.server.update(snapshot(2));
  assert.deepEqual((await client.line("delta")).version, { epoch: "e", seen: { Ingress: "2" } });
});

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
  Deno.test(`${name}: ${status} with a line that says why, and the end`, async () => {
    await using scene = await start();
    const client = scene.connect("proxy-1", options);
    assert.equal(await client.answered(), status);
    await client.ended();
    assert.match(client.text, /^[^\n]+\n$/);
    assert.equal(scene.server.sessions.length, 0);
  });
}

Deno.test("whatever connects and says what it should not is ended, and proxies go on", async () => {
  await using scene = await start({ limits: { head: 300 } });
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

Deno.test("slow strangers make room for others", async () => {
  await using scene = await start({ limits: { strangers: 8, head: 60_000 } });
  const { port } = scene.server.address;
  const slow = Array.from({ length: 20 }, () => net.connect(port, "127.0.0.1"));
  for (const socket of slow) socket.on("error", () => {});
  scene.server.update(snapshot(1));
  await scene.connect().line("snapshot");
  for (const socket of slow) socket.destroy();
});

Deno.test("a connection asks once: requests behind the first are not kept, however many", async () => {
  let reviews = 0;
  const gate = Promise.withResolvers<Verdict>();
  const review = () => (reviews++, gate.promise);
  await using scene = await start({ reviews: { review, stop: () => {} } });
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

Deno.test("what comes before a token is checked is kept to the length of a report", async () => {
  const checked = Promise.withResolvers<Verdict>();
  await using scene = await start({ reviews: { review: () => checked.promise, stop: () => {} } });
  const client = scene.connect("proxy-1");
  client.report("x".repeat(200_000));
  await client.ended();
  checked.resolve(judge("proxy-1"));
  assert.equal(client.status, null);
  assert.equal(scene.server.sessions.length, 0);
});

const REPORTS: readonly [string, string][] = [
  ["what is no JSON", "{\n"],
  ["a line without an end", "x".repeat(70_000)],
  ["no hello at first", `${JSON.stringify({ kind: "lost", reason: "" })}\n`],
  ["reports without a pause", `${JSON.stringify(HELLO)}\n${'{"kind":"x"}\n'.repeat(2000)}`],
];

for (const [name, text] of REPORTS) {
  Deno.test(`a proxy that sends ${name} is told, and ended alone`, async () => {
    await using scene = await start();
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

Deno.test("a mistake of ours in one stream ends that one alone", async () => {
  await using scene = await start({
    onClaim({ seen }) {
      if (seen.Ingress === "666") throw new Error("a mistake");
    },
  });
  scene.server.update(snapshot(1));
  const good = scene.connect("proxy-2");
  await good.line("snapshot");
  const version = { epoch: "e", seen: { Ingress: "666" } };
  const client = scene.connect("proxy-1", { hello: { ...HELLO, version } });
  await client.ended();
  scene.server.update(snapshot(2, ["b.example.com"]));
  await good.line("delta");
  assert.match(await scene.metrics.text(), /ends_total\{reason="failed"\} 1/);
});

Deno.test("a proxy of which nothing is heard is ended, and pings tell it that we are here", async () => {
  await using scene = await start({ timing: { silence: 1000, heartbeat: 200 } });
  const client = scene.connect();
  await client.line("bye");
  assert.ok(client.pings >= 2);
  const mute = scene.connect("proxy-2", { hello: null });
  await mute.answered();
});

Deno.test("a stream ends with its token, unless a newer one of the same pod comes", async () => {
  await using scene = await start();
  const client = scene.connect("proxy-1/600");
  const other = scene.connect("proxy-2/600");
  await other.line("hello");
  const alive = { kind: "alive", version: null, hash: null };
  other.report({ ...alive, token: "proxy-2/60000" });
  await client.line("bye");
  await client.ended();
  assert.equal(other.isEnded, false);
  other.report({ ...alive, token: "outage" });
  other.report({ ...alive, token: "proxy-2" });
  await other.until(
    "longer life",
    () => scene.server.sessions[0].expiresAt > performance.now() + 1_000_000,
  );
  other.report({ ...alive, token: "proxy-3" });
  await other.line("bye");
});

Deno.test("streams end when their time is up, so that proxies spread anew", async () => {
  await using scene = await start({ timing: { age: 500 } });
  const client = scene.connect();
  await client.line("bye");
  await client.ended();
});

Deno.test("a proxy that comes again has its stream before ended", async () => {
  await using scene = await start();
  const first = scene.connect();
  await first.line("hello");
  const second = scene.connect();
  await second.line("hello");
  await first.line("bye");
  await first.ended();
  assert.equal(scene.server.sessions.length, 1);
});

Deno.test("no more proxies than there is room for", async () => {
  await using scene = await start({ maxSessions: 1 });
  await scene.connect("proxy-1").line("hello");
  assert.equal(await scene.connect("proxy-2").answered(), 503);
});

Deno.test("a controller that ends says goodbye to all", async () => {
  const scene = await start();
  const clients = ["proxy-1", "proxy-2"].map((token) => scene.connect(token));
  await Promise.all(clients.map((client) => client.line("hello")));
  await scene.server.stop();
  for (const client of clients) {
    assert.equal((await client.line("bye")).reason, "this controller ends");
    await client.ended();
  }
});

Deno.test("the next handshake has the new certificate, and streams go on", async () => {
  await using scene = await start();
  const client = scene.connect();
  await client.line("hello");
  await scene.certificates.present("localhost", "other.example.com");
  const next = scene.connect("proxy-2", { servername: "other.example.com" });
  await next.line("hello");
  scene.server.update(snapshot(1));
  await client.line("snapshot");
});

Deno.test("a certificate that cannot be used leaves the one before", async () => {
  await using scene = await start();
  await scene.certificates.break();
  await scene.connect().line("hello");
});

Deno.test("before there is a certificate handshakes fail, and then succeed", async () => {
  const certificates = new Certificates();
  await using scene = await start({ certificates });
  const early = scene.connect();
  await early.ended();
  await certificates.present("localhost");
  await scene.connect("proxy-2").line("hello");
});

Deno.test("a reader that does not read gets one change for many, and is ended after a while", async () => {
  await using scene = await start({ timing: { stall: 1500 } });
  const hosts = (from: number) =>
    Array.from({ length: 20_000 }, (_, i) => `h${from + i}.example.com`);
  scene.server.update(snapshot(1, hosts(0)));
  const deaf = await deafProxy(scene.server.address.port);
  const good = scene.connect("proxy-2");
  await good.line("snapshot");
  const before = Deno.memoryUsage().rss;
  for (let i = 2; i < 12; i++) {
    scene.server.update(snapshot(i, hosts(i * 10)));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await eventually("end of the deaf proxy", () => scene.server.sessions.length === 1);
  assert.match(await scene.metrics.text(), /ends_total\{reason="slow"\} 1/);
  // One line is about 6 MB; what was not read is not kept once for each change.
  assert.ok(Deno.memoryUsage().rss - before < 400e6);
  deaf.close();
});

/** Says hello and reads nothing after the head of the answer, below TLS. */
async function deafProxy(port: number): Promise<{ close(): void }> {
  const [near, far] = await pipe(port);
  const socket = tls.connect({ socket: near, servername: "localhost", ca: authority.certificate });
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  const hello = `${JSON.stringify(HELLO)}\n`;
  socket.write(
    "POST /v1/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer proxy-1\r\n" +
      "content-type: application/x-ndjson\r\npingress-protocol: 1\r\n" +
      `transfer-encoding: chunked\r\n\r\n${hello.length.toString(16)}\r\n${hello}\r\n`,
  );
  await new Promise((resolve) => socket.once("data", resolve));
  far.stop();
  return {
    close() {
      socket.destroy();
      near.destroy();
      far.close();
    },
  };
}

/** A connection through a pipe whose way back can be stopped. */
async function pipe(port: number): Promise<[net.Socket, { stop(): void; close(): void }]> {
  const upstream = await Deno.connect({ hostname: "127.0.0.1", port });
  let isStopped = false;
  const server = net.createServer((socket) => {
    socket.on("error", () => {});
    socket.on(
      "data",
      (chunk: Uint8Array) => void upstream.write(new Uint8Array(chunk)).catch(() => {}),
    );
    (async () => {
      const buffer = new Uint8Array(65536);
      while (!isStopped) {
        const count = await upstream.read(buffer).catch(() => null);
        if (count === null) return void socket.destroy();
        socket.write(buffer.slice(0, count));
      }
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const near = net.connect((server.address() as net.AddressInfo).port, "127.0.0.1");
  near.on("error", () => {});
  return [near, {
    stop: () => isStopped = true,
    close() {
      server.close();
      upstream.close();
    },
  }];
}

Deno.test("a port that has gone silent is opened again, and streams go on", async () => {
  const folder = import.meta.dirname!;
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
