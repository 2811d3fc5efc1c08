/** Which certificate a name gets, which versions and protocols are spoken, and who is refused. */
import assert from "node:assert/strict";
import { Backend } from "../support/backend.ts";
import { certificateFor, handshakeError, TlsProxy } from "../support/tls_proxy.ts";

const EXACT = await certificateFor("exact", { names: ["a.test"] });
const DEEP = await certificateFor("deep", { names: ["deep.w.test"], key: "rsa" });
const WILDCARD = await certificateFor("wildcard", { names: ["*.w.test"] });
const DEFAULT = await certificateFor("default", { names: ["default.test"] });
const ALL = [EXACT, DEEP, WILDCARD, DEFAULT];
const GET = (host: string) => `GET / HTTP/1.1\r\nHost: ${host}`;
const LONG = `${"l".repeat(63)}.${"l".repeat(63)}.${"l".repeat(63)}.${"l".repeat(56)}.test`;

interface NameCase {
  readonly name: string;
  /** Names of the certificate shown; null for a refusal. */
  readonly withDefault: string;
  readonly without: string | null;
}

const NAMES: readonly NameCase[] = [
  { name: "a.test", withDefault: "a.test", without: "a.test" },
  { name: "A.TeSt", withDefault: "a.test", without: "a.test" },
  { name: "x.w.test", withDefault: "*.w.test", without: "*.w.test" },
  { name: "X.W.TEST", withDefault: "*.w.test", without: "*.w.test" },
  { name: "deep.w.test", withDefault: "deep.w.test", without: "deep.w.test" },
  { name: "w.test", withDefault: "default.test", without: null },
  { name: "y.x.w.test", withDefault: "default.test", without: null },
  { name: "sub.a.test", withDefault: "default.test", without: null },
  { name: "other.test", withDefault: "default.test", without: null },
  { name: "", withDefault: "default.test", without: null },
  { name: "__proto__", withDefault: "default.test", without: null },
  { name: LONG, withDefault: "default.test", without: null },
];

Deno.test("a name gets the certificate of its host, then of its wildcard, then the default", async (t) => {
  using withDefault = await TlsProxy.start({ certificates: ALL, defaultCertificate: "default" });
  using without = await TlsProxy.start({ certificates: ALL });
  for (const { name, ...expected } of NAMES) {
    await t.step(name.slice(0, 40) || "(no name)", async () => {
      using client = await withDefault.connect({ name });
      assert.equal(client.names, expected.withDefault);
      if (expected.without === null) {
        const error = await handshakeError(without.connect({ name }));
        assert.match(error, /UnrecognisedName/);
      } else {
        using client = await without.connect({ name });
        assert.equal(client.names, expected.without);
      }
    });
  }
});

Deno.test("a trailing dot is not part of a name", async () => {
  using proxy = await TlsProxy.start({ certificates: ALL });
  // The client library takes it off, so the bytes are our own: a ClientHello with its dot.
  const hello = clientHello("a.test.");
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: proxy.port });
  await connection.write(hello);
  const answer = new Uint8Array(6);
  assert.equal(await connection.read(answer), 6);
  assert.deepEqual([answer[0], answer[5]], [0x16, 0x02], "a ServerHello");
});

Deno.test("a rejected name affects nobody else", async () => {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({ certificates: [EXACT], endpoints: [backend.port] });
  using before = await proxy.connect();
  const refused = Array.from(
    { length: 20 },
    (_, i) => handshakeError(proxy.connect({ name: `${i}.test` })),
  );
  using during = await proxy.connect();
  assert.match(await during.ask(GET("a.test")), /^HTTP\/1\.1 200 /);
  for (const error of await Promise.all(refused)) assert.match(error, /UnrecognisedName/);
  assert.match(await before.ask(GET("a.test")), /^HTTP\/1\.1 200 /);
});

Deno.test("TLS 1.2 and 1.3 are supported, and nothing older", async () => {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({ certificates: ALL, endpoints: [backend.port] });
  for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
    for (const name of ["a.test", "deep.w.test"]) {
      using client = await proxy.connect({ version, name });
      assert.equal(client.socket.getProtocol(), version);
      assert.match(await client.ask(GET(name)), /^HTTP\/1\.1 200 /);
    }
  }
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: proxy.port });
  await connection.write(clientHello("a.test", 0x0302));
  const answer = new Uint8Array(7);
  assert.equal(await connection.read(answer), 7);
  assert.deepEqual([answer[0], answer[6]], [0x15, 70], "the alert protocol_version");
});

Deno.test("the best common protocol is negotiated, and a client without one gets an alert", async () => {
  using proxy = await TlsProxy.start({ certificates: ALL });
  for (
    const [offered, chosen] of [
      [["http/1.1"], "http/1.1"],
      [["h2", "http/1.1"], "h2"],
      [["http/1.1", "h2"], "h2"],
      [["h2"], "h2"],
      [undefined, false],
    ] as const
  ) {
    using client = await proxy.connect(offered === undefined ? {} : { protocols: offered });
    assert.equal(client.socket.alpnProtocol || false, chosen);
  }
  const error = await handshakeError(proxy.connect({ protocols: ["h3", "spdy/3"] }));
  assert.match(error, /NoApplicationProtocol/);
});

Deno.test("a host with another certificate than the one of the connection gets 421", async () => {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({
    certificates: ALL,
    defaultCertificate: "default",
    endpoints: [backend.port],
  });
  const cases = [
    ["a.test", "a.test", 200],
    ["a.test", "A.TEST:8443", 200],
    ["a.test", "x.w.test", 421],
    ["a.test", "nobody.test", 200],
    ["x.w.test", "y.w.test", 200],
    // Covered, be it by another one than its own.
    ["x.w.test", "deep.w.test", 200],
    ["x.w.test", "a.test", 421],
    ["nobody.test", "nobody.test", 200],
    ["nobody.test", "a.test", 421],
    ["", "a.test", 421],
    ["", "default.test", 200],
  ] as const;
  for (const [name, host, status] of cases) {
    using client = await proxy.connect({ name });
    const answer = await client.ask(GET(host));
    assert.equal(Number(answer.slice(9, 12)), status, `${name || "no name"}, Host ${host}`);
    if (status === 421) {
      assert.match(await client.ask(GET(name || "default.test")), /^HTTP\/1\.1 200 /);
    }
  }
});

Deno.test("a host that the default certificate gets later is served on connections that have it", async () => {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({
    certificates: ALL,
    defaultCertificate: "default",
    endpoints: [backend.port],
  });
  using client = await proxy.connect({ name: "nobody.test" });
  assert.match(await client.ask(GET("later.test")), /^HTTP\/1\.1 200 /);
  const certificates = ALL.map((one) =>
    one.id === "default" ? { ...one, hosts: [...one.hosts, "later.test"] } : one
  );
  proxy.apply(certificates, "default");
  assert.match(await client.ask(GET("later.test")), /^HTTP\/1\.1 200 /);
});

/** A ClientHello of TLS 1.2 with this server name. */
function clientHello(name: string, version = 0x0303): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(name);
  const extension = (type: number, body: readonly number[]) => [...u16(type), ...vector(body)];
  const extensions = [
    ...extension(0x0000, vector([0, ...vector([...bytes])])),
    ...extension(0x000a, vector([0x00, 0x1d, 0x00, 0x17])),
    ...extension(0x000b, [1, 0]),
    ...extension(0x000d, vector([0x04, 0x03, 0x08, 0x04, 0x04, 0x01])),
    ...extension(0x0017, []),
  ];
  const body = [
    ...u16(version),
    ...crypto.getRandomValues(new Uint8Array(32)),
    0,
    ...vector([0xc0, 0x2b, 0xc0, 0x2f]),
    1,
    0,
    ...vector(extensions),
  ];
  const handshake = [1, 0, ...u16(body.length), ...body];
  return new Uint8Array([0x16, 0x03, 0x01, ...vector(handshake)]);
}

function u16(value: number): number[] {
  return [value >> 8, value & 0xff];
}

function vector(body: readonly number[]): number[] {
  return [...u16(body.length), ...body];
}
