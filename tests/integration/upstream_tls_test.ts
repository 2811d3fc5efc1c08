/** Backends that speak TLS: whom the proxy believes, and what a client gets where it does not. */
import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import tls from "node:tls";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { CertificateLoader } from "../../proxy/certificates/loader.ts";
import type { ServerCertificate } from "../../proxy/certificates/store.ts";
import { DEFAULT_LIMITS } from "../../proxy/http/limits.ts";
import { ProxyServer } from "../../proxy/server.ts";
import { CidrList } from "../../shared/net/cidr.ts";
import { type LogFields, silentLogger } from "../../shared/log.ts";
import type { Snapshot, Upstream, UpstreamTls } from "../../shared/snapshot/types.ts";
import { Peer, statusOf, until } from "../support/backend.ts";
import { chainOf } from "../support/certificate_chain.ts";
import { startFleet } from "../support/fleet.ts";
import { TlsBackend } from "../support/tls_backend.ts";
import { authority, certificateFor } from "../support/tls_proxy.ts";

const stranger = await CertificateAuthority.create("Stranger");
const WEB = await certificateFor("web", { names: ["web.default.svc"] });
const RSA = await certificateFor("rsa", { names: ["web.default.svc"], key: "rsa" });
const OTHER = await certificateFor("other", { names: ["other.default.svc"] });
const ADDRESS = await certificateFor("address", { names: ["127.0.0.1"] });
const EXPIRED = await certificateFor("expired", {
  names: ["web.default.svc"],
  validFrom: Date.now() - 2_000_000_000,
  validTo: Date.now() - 1_000_000_000,
});
const FOREIGN: ServerCertificate = {
  id: "foreign",
  hosts: [],
  ...await stranger.issue({ names: ["web.default.svc"] }),
};
const CLIENT = await certificateFor("client", { names: ["pingress"] });
const ca = { kind: "pem", pem: authority.certificate } as const;

interface Case {
  readonly port: number;
  readonly protocol?: Upstream["protocol"];
  readonly tls?: UpstreamTls;
}

/** A proxy with one upstream for each case; `/0` leads to the first. */
class Proxy {
  readonly server: ProxyServer;
  readonly port: number;
  readonly details: string[] = [];

  constructor(cases: readonly Case[], certificates: readonly ServerCertificate[] = []) {
    const log = (_message: string, fields?: LogFields) => {
      if (fields?.code !== undefined) this.details.push(`${fields.code}: ${fields.detail}`);
    };
    this.server = new ProxyServer({
      limits: { ...DEFAULT_LIMITS, tries: 1, connectTimeout: 2000 },
      trustedProxies: CidrList.empty,
      upstreamNetworks: CidrList.empty,
      allowLoopbackUpstreams: true,
      sslRedirect: false,
      sslRedirectPort: 0,
      log: { debug: log, info: log, warn: log, error: log },
    });
    this.port = this.server.listen({ hostname: "127.0.0.1", port: 0 }).port;
    this.apply(cases, certificates);
  }

  apply(cases: readonly Case[], certificates: readonly ServerCertificate[] = []): void {
    this.server.apply(snapshotOf(cases), certificates);
  }

  /** `200 body`, or the status of an error and its line in the log. */
  async ask(path: string): Promise<string> {
    using client = await Peer.connect(this.port);
    const answer = await client.ask(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`);
    const status = statusOf(answer);
    return `${status} ${status === 200 ? answer.body : this.details.at(-1)}`;
  }

  [Symbol.dispose](): void {
    this.server.close();
  }
}

function snapshotOf(cases: readonly Case[]): Snapshot {
  return {
    format: 2,
    version: { epoch: "test", seen: {} },
    routes: cases.map((_, i) => ({
      id: `* Exact /${i}`,
      host: "*",
      match: { path: { type: "Exact", value: `/${i}` } },
      action: { kind: "forward", backends: [{ upstream: `default/web:${i}` }] },
      origin: { kind: "Ingress", namespace: "test", name: "web", field: "spec" },
    })),
    defaultAction: null,
    upstreams: cases.map(({ port, protocol = "https", tls }, i) => ({
      id: `default/web:${i}`,
      protocol,
      addresses: { kind: "endpoints", endpoints: [{ address: "127.0.0.1", port }] },
      ...(tls === undefined ? {} : { tls }),
    })),
    certificates: [],
    defaultCertificate: null,
  };
}

const UNTRUSTED =
  /^502 upstream_untrusted: .* as web\.default\.svc failed: .*issuer is not trusted$/;
const NAMED: UpstreamTls = { serverName: "web.default.svc", ca };

Deno.test("a backend is trusted only by its certificate's name and issuer", async (t) => {
  const cases: readonly [string, ServerCertificate, UpstreamTls | undefined, RegExp][] = [
    ["the right name", WEB, NAMED, /^200 web\.default\.svc unknown /],
    ["a key of RSA", RSA, NAMED, /^200 web\.default\.svc /],
    ["a name of its own", OTHER, { ...NAMED, serverName: "other.default.svc" }, /^200 other/],
    ["its address", ADDRESS, { ...NAMED, serverName: "127.0.0.1" }, /^200 - /],
    [
      "another name",
      OTHER,
      NAMED,
      /^502 upstream_untrusted: .*not in the cert's altnames: DNS:other/,
    ],
    [
      "another's issuer",
      FOREIGN,
      NAMED,
      UNTRUSTED,
    ],
    ["no CA given", WEB, { serverName: "web.default.svc" }, UNTRUSTED],
    ["nothing given", WEB, undefined, UNTRUSTED],
    ["an expired one", EXPIRED, NAMED, UNTRUSTED],
    ["a stranger's, unverified", FOREIGN, { ...NAMED, verify: false }, /^200 web\.default\.svc /],
  ];
  for (const [name, certificate, settings, expected] of cases) {
    await t.step(name, async () => {
      await using backend = await TlsBackend.start(certificate);
      using proxy = new Proxy([{ port: backend.port, tls: settings }]);
      assert.match(await proxy.ask("/0"), expected);
    });
  }
});

Deno.test("a backend that requires a certificate gets the configured one, and is verified", async () => {
  const demands = { requestCert: true, rejectUnauthorized: true, ca: authority.certificate };
  await using backend = await TlsBackend.start(WEB, demands);
  await using wrong = await TlsBackend.start(OTHER, demands);
  const settings = { ...NAMED, clientCertificate: "client" };
  using proxy = new Proxy([
    { port: backend.port, tls: settings },
    { port: backend.port, tls: NAMED },
    { port: backend.port, tls: { ...NAMED, clientCertificate: "missing" } },
    { port: wrong.port, tls: settings },
  ], [{ ...CLIENT, id: `client ${"0".repeat(64)}` }]);
  assert.match(await proxy.ask("/0"), /^200 web\.default\.svc known /);
  assert.match(await proxy.ask("/0"), /^200 web\.default\.svc known /);
  assert.equal(backend.connections, 1, "the connection is kept");
  assert.match(await proxy.ask("/1"), /^502 /);
  assert.match(await proxy.ask("/2"), /^502 upstream_untrusted: the client certificate missing/);
  assert.match(await proxy.ask("/3"), /^502 upstream_untrusted: .*altnames/);
});

Deno.test("an invalid client certificate leaves the last good one for backends", async () => {
  await using backend = await TlsBackend.start(WEB, {
    requestCert: true,
    rejectUnauthorized: true,
    ca: authority.certificate,
  });
  const logged: unknown[] = [];
  const loader = new CertificateLoader({
    folder: "/",
    log: { ...silentLogger, error: (_message, fields) => logged.push(fields?.consequence) },
    now: Date.now,
  });
  const load = ({ key }: ServerCertificate, cases: readonly Case[]) =>
    loader.load({
      ...snapshotOf(cases),
      certificates: [{
        id: "client",
        hosts: [],
        chain: { kind: "pem", pem: CLIENT.chain },
        key: { kind: "secret", pem: key },
        origin: { kind: "Secret", namespace: "test", name: "client", field: "data" },
      }],
    });
  // Secured otherwise the second time: a kept connection would show nothing.
  const cases = (verify?: false): Case[] => [{
    port: backend.port,
    tls: { ...NAMED, clientCertificate: "client", ...(verify === false ? { verify } : {}) },
  }];
  using proxy = new Proxy([]);
  proxy.apply(cases(), load(OTHER, cases()));
  assert.match(await proxy.ask("/0"), /^502 .*client certificate client cannot be used/);
  proxy.apply(cases(), load(CLIENT, cases()));
  assert.match(await proxy.ask("/0"), /^200 web\.default\.svc known /);
  proxy.apply(cases(false), load(OTHER, cases(false)));
  assert.match(await proxy.ask("/0"), /^200 web\.default\.svc known /);
  assert.equal(backend.connections, 2);
  assert.deepEqual(logged, [
    "requests to the backends that it is for get 502",
    "the last good one stays for backends",
  ]);
});

Deno.test("a backend gets no name by SNI if the settings say so, and is verified by it", async () => {
  await using backend = await TlsBackend.start(WEB);
  await using wrong = await TlsBackend.start(OTHER);
  using proxy = new Proxy([
    { port: backend.port, tls: { ...NAMED, sni: false } },
    { port: backend.port, tls: NAMED },
    { port: wrong.port, tls: { ...NAMED, sni: false } },
  ]);
  assert.match(await proxy.ask("/0"), /^200 - /);
  assert.match(await proxy.ask("/1"), /^200 web\.default\.svc /);
  assert.match(await proxy.ask("/2"), /^502 upstream_untrusted: .*altnames/);
});

Deno.test("a backend that does not speak the version of TLS in the settings gets no request", async () => {
  for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
    await using backend = await TlsBackend.start(WEB, { minVersion: version, maxVersion: version });
    using proxy = new Proxy([
      { port: backend.port, tls: { ...NAMED, version: "TLSv1.2" } },
      { port: backend.port, tls: { ...NAMED, version: "TLSv1.3" } },
      { port: backend.port, tls: NAMED },
    ]);
    const statuses = [];
    for (const path of ["/0", "/1", "/2"]) statuses.push((await proxy.ask(path)).slice(0, 3));
    assert.deepEqual(
      statuses,
      version === "TLSv1.2" ? ["200", "502", "200"] : ["502", "200", "200"],
    );
  }
});

Deno.test("a chain with more intermediate certificates than the settings allow is not trusted", async () => {
  for (
    const [intermediates, allowed, expected] of [
      [0, 0, /^200 /],
      [1, 0, /^502 upstream_untrusted: .*1 intermediate certificates, more than 0$/],
      [1, 1, /^200 /],
      [2, 1, /^502 upstream_untrusted: .*2 intermediate certificates, more than 1$/],
      [2, 2, /^200 /],
      [2, undefined, /^200 /],
    ] as const
  ) {
    for (const withRoot of [false, true]) {
      const { root, server } = await chainOf("web.default.svc", intermediates, withRoot);
      await using backend = await TlsBackend.start(server);
      const settings: UpstreamTls = {
        serverName: "web.default.svc",
        ca: { kind: "pem", pem: root },
        ...(allowed === undefined ? {} : { verifyDepth: allowed }),
      };
      using proxy = new Proxy([{ port: backend.port, tls: settings }]);
      assert.match(await proxy.ask("/0"), expected, `${intermediates} of ${allowed}, ${withRoot}`);
    }
  }
});

Deno.test("connections are shared only with the same TLS settings", async () => {
  await using backend = await TlsBackend.start(WEB);
  using proxy = new Proxy([
    { port: backend.port, tls: NAMED },
    { port: backend.port, tls: { ...NAMED } },
    { port: backend.port, tls: { ...NAMED, verify: false } },
    { port: backend.port, protocol: "http" },
    { port: backend.port, tls: { serverName: "web.default.svc" } },
  ]);
  for (const path of ["/0", "/1", "/0"]) assert.match(await proxy.ask(path), /^200 /);
  assert.equal(backend.connections, 1);
  assert.match(await proxy.ask("/2"), /^200 /);
  assert.equal(backend.connections, 2);
  for (const path of ["/3", "/4"]) assert.match(await proxy.ask(path), /^502 /);
});

Deno.test("changed settings apply from the next request on", async () => {
  await using backend = await TlsBackend.start(WEB);
  using proxy = new Proxy([{ port: backend.port, tls: NAMED }]);
  assert.match(await proxy.ask("/0"), /^200 /);
  proxy.apply([{ port: backend.port, tls: { ...NAMED, serverName: "other.default.svc" } }]);
  assert.match(await proxy.ask("/0"), /^502 upstream_untrusted/);
  proxy.apply([{ port: backend.port, tls: NAMED }]);
  assert.match(await proxy.ask("/0"), /^200 /);
});

Deno.test("a backend that does not speak TLS, or stalls in the handshake, fails in time", async () => {
  const accepted: Deno.TcpConn[] = [];
  const silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepting = (async () => {
    for await (const connection of silent) accepted.push(connection);
  })();
  const plain = Deno.serve({ port: 0, onListen() {} }, () => new Response("ok"));
  using proxy = new Proxy([
    { port: (plain.addr as Deno.NetAddr).port, tls: NAMED },
    { port: silent.addr.port, tls: NAMED },
    { port: silent.addr.port, tls: { ...NAMED, verify: false } },
  ]);
  assert.match(await proxy.ask("/0"), /^502 upstream_untrusted: /);
  for (const answer of await Promise.all([proxy.ask("/1"), proxy.ask("/2")])) {
    assert.match(answer, /^502 connect_failed: .* no answer in 2000 ms$/);
  }
  const gone = await Peer.connect(proxy.port);
  await gone.send("GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\n");
  await until("the proxy is at it", () => accepted.length === 3);
  gone.close();
  // None is held open for the backend to end it.
  const last = new Uint8Array(4096);
  for (const connection of accepted) {
    while (await connection.read(last).catch(() => null) !== null);
    connection.close();
  }
  silent.close();
  await accepting;
  await plain.shutdown();
});

Deno.test("an upgraded connection works over TLS to the backend, completely in both directions", async () => {
  const server = tls.createServer({ cert: WEB.chain, key: WEB.key.reveal() }, (socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n",
      );
      socket.pipe(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    using proxy = new Proxy([{ port: (server.address() as AddressInfo).port, tls: NAMED }]);
    using client = await Deno.connect({ hostname: "127.0.0.1", port: proxy.port });
    const head = "GET /0 HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";
    await client.write(new TextEncoder().encode(head));
    const view = new Uint8Array(64 * 1024);
    const first = new TextDecoder().decode(view.subarray(0, await client.read(view) ?? 0));
    assert.match(first, /^HTTP\/1\.1 101 /);
    const sent = new Uint8Array(2 ** 20).map((_, i) => (i * 31) % 251);
    const writing = (async () => {
      for (let at = 0; at < sent.length;) at += await client.write(sent.subarray(at));
    })();
    const received = new Uint8Array(sent.length);
    for (let at = 0; at < received.length;) {
      const count = await client.read(received.subarray(at));
      assert.notEqual(count, null, `ended after ${at} bytes`);
      at += count!;
    }
    await writing;
    assert.deepEqual(received, sent);
  } finally {
    server.close();
  }
});

Deno.test("a worker without read permission verifies backends by the same rules", async () => {
  const demands = { requestCert: true, rejectUnauthorized: true, ca: authority.certificate };
  await using backend = await TlsBackend.start(WEB, demands);
  const settings = { ...NAMED, clientCertificate: "client" };
  const fleet = startFleet(1);
  try {
    fleet.serve(
      snapshotOf([
        { port: backend.port, tls: settings },
        { port: backend.port, tls: { ...settings, serverName: "other.default.svc" } },
        { port: backend.port, tls: { serverName: "web.default.svc", clientCertificate: "client" } },
      ]),
      [{ ...CLIENT, hosts: [], id: "client" }],
    );
    const { http: [{ port }] } = await fleet.listen({
      http: [{ hostname: "127.0.0.1", port: 0 }],
      https: [],
    });
    for (const [path, expected] of [["/0", 200], ["/1", 502], ["/2", 502]] as const) {
      using client = await Peer.connect(port);
      const answer = await client.ask(`GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`);
      assert.equal(statusOf(answer), expected, path);
    }
  } finally {
    fleet.close();
  }
});
