/** HTTP/2 to backends over TLS: what is offered, what the backend chooses, and what comes of it. */
import assert from "node:assert/strict";
import tls from "node:tls";
import { Peer, statusOf, until } from "../support/backend.ts";
import { GrpcClient } from "../support/grpc_client.ts";
import { answerText, H2Server } from "../support/h2_backend.ts";
import { H2UpstreamProxy } from "../support/h2_upstream.ts";
import { TlsBackend } from "../support/tls_backend.ts";
import { authority, certificateFor } from "../support/tls_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
const WEB = await certificateFor("web", { names: ["web.default.svc"] });
const TLS = {
  serverName: "web.default.svc",
  ca: { kind: "pem", pem: authority.certificate },
} as const;

async function ask(port: number, request = GET): Promise<string> {
  using client = await Peer.connect(port);
  const answer = await client.ask(request);
  return `${statusOf(answer)} ${statusOf(answer) === 200 ? answer.body : ""}`.trim();
}

const version = (stream: { session?: { encrypted?: boolean; alpnProtocol?: string } }) =>
  `${stream.session?.alpnProtocol}`;

for (const protocol of ["https", "h2"] as const) {
  Deno.test(`${protocol}: a backend that supports both versions gets HTTP/2, over one connection`, async () => {
    await using backend = await H2Server.start((stream, head) => {
      stream.respond({ ":status": 200 });
      stream.end(`${version(stream)} ${head[":scheme"]}`);
    }, { certificate: WEB, allowHTTP1: true });
    using proxy = new H2UpstreamProxy([backend.port], { protocol, tls: TLS });
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask(proxy.port)));
    assert.deepEqual(new Set(answers), new Set(["200 h2 https"]));
    assert.equal(await ask(proxy.port), "200 h2 https");
    assert.equal(backend.connections, 1);
  });
}

Deno.test("https: a backend that supports only HTTP/1.1 gets that, with a connection per request", async () => {
  await using backend = await TlsBackend.start(WEB);
  using proxy = new H2UpstreamProxy([backend.port], { protocol: "https", tls: TLS });
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask(proxy.port)));
  assert.deepEqual(new Set(answers), new Set(["200 web.default.svc unknown http/1.1"]));
  const opened = backend.connections;
  for (let i = 0; i < 20; i++) await ask(proxy.port);
  assert.equal(backend.connections, opened, "idle connections are used again");
});

Deno.test("https: a backend without ALPN gets HTTP/1.1", async () => {
  await using backend = await TlsBackend.start(WEB, { ALPNProtocols: undefined });
  using proxy = new H2UpstreamProxy([backend.port], { protocol: "https", tls: TLS });
  assert.match(await ask(proxy.port), /^200 web\.default\.svc unknown -$/);
  assert.match(await ask(proxy.port), /^200 web\.default\.svc unknown -$/);
  assert.equal(backend.connections, 1);
});

for (
  const [name, options] of [
    ["chooses nothing", { ALPNProtocols: undefined }],
    ["knows HTTP/1.1 alone", { ALPNProtocols: ["http/1.1"] }],
  ] as [string, tls.TlsOptions][]
) {
  Deno.test(`h2: a backend that ${name} gives 502, and the log says why`, async () => {
    await using backend = await TlsBackend.start(WEB, options);
    using proxy = new H2UpstreamProxy([backend.port], {
      protocol: "h2",
      tls: TLS,
      limits: { tries: 1 },
    });
    assert.equal(await ask(proxy.port), "502");
    assert.match(
      proxy.failures[0],
      /^upstream_malformed: .* speaks none of what is offered by ALPN \(h2\): it /,
    );
  });
}

Deno.test("https: a change of a backend's version is followed", async () => {
  const first = await TlsBackend.start(WEB);
  const { port } = first;
  using proxy = new H2UpstreamProxy([port], { protocol: "https", tls: TLS });
  assert.match(await ask(proxy.port), /^200 .* http\/1\.1$/);
  await first[Symbol.asyncDispose]();
  await until("the pool is empty", () => proxy.server.idleUpstreamCount === 0);
  {
    await using second = await H2Server.start(answerText("two"), { certificate: WEB, port });
    assert.equal(await ask(proxy.port), "200 two");
    assert.equal(await ask(proxy.port), "200 two");
    assert.equal(second.connections, 1);
  }
  await until("the pool is empty", () => proxy.server.idleUpstreamCount === 0);
  await using _third = await TlsBackend.start(WEB, {}, port);
  assert.match(await ask(proxy.port), /^200 .* http\/1\.1$/);
  assert.match(await ask(proxy.port), /^200 .* http\/1\.1$/);
});

Deno.test("https: a call's deadline expires during the wait for a backend that changed its version", async () => {
  const first = await TlsBackend.start(WEB);
  const { port } = first;
  using proxy = new H2UpstreamProxy([port], {
    protocol: "https",
    tls: TLS,
    limits: { connectTimeout: 60_000 },
    server: { h2c: true },
  });
  assert.match(await ask(proxy.port), /^200 .* http\/1\.1$/);
  await first[Symbol.asyncDispose]();
  await until("the pool is empty", () => proxy.server.idleUpstreamCount === 0);
  // It chooses HTTP/2, and then sends no SETTINGS.
  const sockets = new Set<tls.TLSSocket>();
  const { chain: cert, key } = WEB;
  const silent = tls.createServer({ cert, key: key.reveal(), ALPNProtocols: ["h2"] }, (socket) => {
    sockets.add(socket.on("error", () => {}));
  });
  await new Promise<void>((resolve) => silent.listen(port, "127.0.0.1", resolve));
  try {
    await using client = await GrpcClient.connect(proxy.port);
    const outcome = await client.call("Echo", ["hello"], [["grpc-timeout", "200m"]]);
    assert.equal(outcome.grpcStatus, 4);
    assert.equal(sockets.size, 1);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => silent.close(resolve));
  }
});

Deno.test("https: a backend that demands HTTP/1.1 later gets that from then on", async () => {
  await using backend = await H2Server.start((stream) => stream.close(13), {
    certificate: WEB,
    allowHTTP1: true,
  });
  using proxy = new H2UpstreamProxy([backend.port], { protocol: "https", tls: TLS });
  const post = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello";
  for (let i = 0; i < 3; i++) assert.equal(await ask(proxy.port, post), "200 http/1.1");
  assert.equal(backend.heads.length, 1);
  assert.deepEqual(proxy.failures, []);
});

Deno.test("an untrusted certificate gives 502 over HTTP/2 too", async () => {
  await using backend = await H2Server.start(answerText("x"), { certificate: WEB });
  using proxy = new H2UpstreamProxy([backend.port], {
    protocol: "h2",
    tls: { ...TLS, serverName: "other.default.svc" },
  });
  assert.equal(await ask(proxy.port), "502");
  assert.match(proxy.failures[0], /^upstream_untrusted: TLS with .* failed: /);
});

Deno.test("the three protocols of one address share no connections", async () => {
  await using backend = await H2Server.start(answerText("x"), { certificate: WEB });
  using one = new H2UpstreamProxy([backend.port], { protocol: "h2", tls: TLS });
  assert.equal(await ask(one.port), "200 x");
  using other = new H2UpstreamProxy([backend.port], { protocol: "h2c", limits: { tries: 1 } });
  assert.equal(await ask(other.port), "502");
  assert.equal(await ask(one.port), "200 x");
});
