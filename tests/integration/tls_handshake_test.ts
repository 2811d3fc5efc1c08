/** Handshakes that stall, break off or are no handshakes; sessions that are resumed; many names. */
import assert from "node:assert/strict";
import { Backend, until } from "../support/backend.ts";
import { authority, certificateFor, TlsClient, TlsProxy } from "../support/tls_proxy.ts";

const A = await certificateFor("a", { names: ["a.test"] });
const B = await certificateFor("b", { names: ["b.test"] });
const GET = "GET / HTTP/1.1\r\nHost: a.test";

/** How a raw connection ends, after it has sent these bytes. */
async function endAfter(port: number, bytes: Uint8Array): Promise<"ends" | "resets"> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const buffer = new Uint8Array(4096);
  try {
    if (bytes.length > 0) await connection.write(bytes);
    while (await connection.read(buffer) !== null);
    return "ends";
  } catch {
    return "resets";
  }
}

/** The first bytes of a handshake: its record is announced and does not come whole. */
const BEGUN = new Uint8Array([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]);

/** Connections whose handshakes stall, each in one of three places. */
function stall(port: number): Promise<"ends" | "resets">[] {
  return [new Uint8Array(0), BEGUN, BEGUN.subarray(0, 1)].flatMap((bytes) =>
    Array.from({ length: 30 }, () => endAfter(port, bytes))
  );
}

Deno.test("handshakes that stall delay nobody", async () => {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({
    certificates: [A],
    endpoints: [backend.port],
    limits: { handshakeTimeout: 120_000 },
  });
  const stalled = stall(proxy.port);
  let ended = 0;
  for (const one of stalled) one.then(() => ended++);
  for (let i = 0; i < 10; i++) {
    using client = await proxy.connect();
    assert.match(await client.ask(GET), /^HTTP\/1\.1 200 /);
  }
  assert.equal(ended, 0, "they are still open");
  proxy.server.close();
  await Promise.all(stalled);
});

Deno.test("a handshake that stalls ends at its deadline", async () => {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({
    certificates: [A],
    endpoints: [backend.port],
    limits: { handshakeTimeout: 1000 },
  });
  await Promise.all(stall(proxy.port));
  assert.equal(proxy.codes.filter((code) => code === "handshake_failed").length, 90);
  const told = () => proxy.lines.filter(({ message }) => message === "TLS handshakes failed");
  assert.equal(told().length, 1, "strangers do not fill the log");
  assert.match(told()[0].level, /^(info|warn)$/);
  proxy.server.close();
  assert.equal(told().reduce((sum, { fields }) => sum + Number(fields.count), 0), 90);
});

Deno.test("stalled handshakes are closed for new ones when there are too many", async () => {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({
    certificates: [A],
    endpoints: [backend.port],
    limits: { handshakes: 20, handshakeTimeout: 60_000 },
  });
  const stalled = Array.from({ length: 60 }, () => endAfter(proxy.port, BEGUN));
  let ended = 0;
  for (const one of stalled) one.then(() => ended++);
  await until("40 have given way", () => ended >= 40);
  // The others have had their second by now.
  await new Promise((resume) => setTimeout(resume, 1100));
  for (let i = 0; i < 5; i++) {
    using client = await proxy.connect();
    assert.match(await client.ask(GET), /^HTTP\/1\.1 200 /);
  }
  proxy.server.close();
  await Promise.all(stalled);
});

Deno.test("invalid data on the port closes only its own connection", async (t) => {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({ certificates: [A], endpoints: [backend.port] });
  using bystander = await proxy.connect();
  const text = (data: string) => new TextEncoder().encode(data);
  const random = crypto.getRandomValues(new Uint8Array(4096));
  const cases: Record<string, Uint8Array> = {
    "plain HTTP": text("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"),
    "random bytes": random,
    "zeros": new Uint8Array(4096),
    "a record of no known type": new Uint8Array([0x19, 3, 3, 0, 1, 0]),
    "a record that is too long": new Uint8Array([0x16, 3, 3, 0xff, 0xff, ...random]),
    "an empty ClientHello": new Uint8Array([0x16, 3, 1, 0, 4, 1, 0, 0, 0]),
    "a ClientHello of junk": new Uint8Array([
      0x16,
      3,
      1,
      1,
      4,
      1,
      0,
      1,
      0,
      ...random.slice(0, 256),
    ]),
    "data before the handshake": new Uint8Array([0x17, 3, 3, 0, 1, 0]),
    "SSL 2": new Uint8Array([0x80, 0x2e, 1, 0, 2, 0, 0x15, 0, 0, 0, 0x10, ...random.slice(0, 40)]),
    "an alert": new Uint8Array([0x15, 3, 3, 0, 2, 2, 40]),
  };
  for (const [name, bytes] of Object.entries(cases)) {
    await t.step(name, async () => {
      await endAfter(proxy.port, bytes);
      assert.match(await bystander.ask(GET), /^HTTP\/1\.1 200 /);
    });
  }
});

Deno.test("a client that leaves during its handshake leaves nothing behind", async () => {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({
    certificates: [A],
    endpoints: [backend.port],
    // Not what makes an end of them.
    limits: { handshakeTimeout: 60_000 },
  });
  for (let length = 0; length <= BEGUN.length; length++) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: proxy.port });
    if (length > 0) await connection.write(BEGUN.subarray(0, length));
    connection.close();
  }
  using client = await proxy.connect();
  assert.match(await client.ask(GET), /^HTTP\/1\.1 200 /);
  await until("nothing but that client is left", () => proxy.server.connectionCount === 1);
});

Deno.test("at the connection limit there is no room for one more handshake, and later there is", async () => {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({
    certificates: [A],
    endpoints: [backend.port],
    limits: { connections: 2 },
  });
  const first = await proxy.connect();
  using second = await proxy.connect();
  await endAfter(proxy.port, BEGUN);
  first.close();
  await until("there is room", () => proxy.server.connectionCount === 1);
  using third = await proxy.connect();
  for (const client of [second, third]) assert.match(await client.ask(GET), /^HTTP\/1\.1 200 /);
});

Deno.test("a session is resumed, for its own name only", async (t) => {
  const hasOpenssl = await new Deno.Command("openssl", { args: ["version"], stdout: "null" })
    .output().then(({ success }) => success, () => false);
  if (!hasOpenssl) {
    console.log("skipped: resumption; install openssl");
    return;
  }
  await using backend = new Backend();
  using proxy = await TlsProxy.start({ certificates: [A, B], endpoints: [backend.port] });
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/ca.pem`, authority.certificate);
    const visit = async (version: string, name: string, session: "in" | "out") => {
      const child = new Deno.Command("openssl", {
        args: [
          ...["s_client", "-connect", `127.0.0.1:${proxy.port}`, version, "-servername", name],
          ...["-CAfile", `${folder}/ca.pem`, `-sess_${session}`, `${folder}/session`],
          ...["-ign_eof", "-verify_return_error"],
        ],
        stdin: "piped",
        stdout: "piped",
        stderr: "null",
      }).spawn();
      const input = child.stdin.getWriter();
      await input.write(
        new TextEncoder().encode(`GET / HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`),
      );
      const { stdout } = await child.output();
      await input.close().catch(() => {});
      const text = new TextDecoder().decode(stdout);
      assert.match(text, /HTTP\/1\.1 200 /);
      return /^(New|Reused), /m.exec(text)?.[1];
    };
    for (const version of ["-tls1_2", "-tls1_3"]) {
      await t.step(version, async () => {
        assert.equal(await visit(version, "a.test", "out"), "New");
        assert.equal(await visit(version, "a.test", "in"), "Reused");
        assert.equal(await visit(version, "b.test", "in"), "New");
        proxy.apply([A, await certificateFor("b2", { names: ["b.test"] })]);
        assert.equal(await visit(version, "a.test", "in"), "Reused", "after a change elsewhere");
      });
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("ten thousand certificates cost memory, not handshake time", async () => {
  await using backend = new Backend();
  const copy = (i: number) => ({ ...A, id: `n${i}`, hosts: [`n${i}.test`], chain: `${A.chain}\n` });
  const handshakes = async (proxy: TlsProxy, names: readonly string[]) => {
    const start = performance.now();
    for (const name of names) {
      const client: TlsClient = await proxy.connect({ name });
      client.close();
    }
    return ((performance.now() - start) / names.length).toFixed(1);
  };
  const names = Array.from({ length: 50 }, (_, i) => `n${i * 199}.test`);
  using few = await TlsProxy.start({ certificates: names.map((_, i) => copy(i * 199)) });
  await handshakes(few, names);
  const before = Deno.memoryUsage().heapUsed;
  const start = performance.now();
  const certificates = Array.from({ length: 10_000 }, (_, i) => copy(i));
  using proxy = await TlsProxy.start({ certificates, endpoints: [backend.port] });
  const applied = performance.now() - start;
  const grown = (Deno.memoryUsage().heapUsed - before) / 2 ** 20;
  console.log(
    `10,000 certificates applied in ${applied.toFixed(0)} ms, heap ${grown.toFixed(1)} MiB; ` +
      `first handshake of a name ${await handshakes(proxy, names)} ms, ` +
      `later ones ${await handshakes(proxy, names)} ms; of 50 certificates ` +
      `${await handshakes(few, names)} ms`,
  );
  using client = await proxy.connect({ name: "n9999.test" });
  assert.match(await client.ask(GET.replace("a.test", "n9999.test")), /^HTTP\/1\.1 200 /);
});
