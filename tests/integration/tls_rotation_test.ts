/** Certificates that change, break and expire while connections are open. */
import assert from "node:assert/strict";
import { CertificateLoader } from "../../proxy/certificates/loader.ts";
import type { ServerCertificate } from "../../proxy/certificates/store.ts";
import type { LogFields } from "../../shared/log.ts";
import { Redacted } from "../../shared/redacted.ts";
import type { Certificate, Snapshot } from "../../shared/snapshot/types.ts";
import { Backend } from "../support/backend.ts";
import { snapshotOf } from "../support/test_proxy.ts";
import {
  authority,
  certificateFor,
  handshakeError,
  TlsClient,
  TlsProxy,
} from "../support/tls_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test";

/** With a second name, which tells the versions apart. */
function version(name: string): Promise<ServerCertificate> {
  return certificateFor(name, { names: ["a.test", `${name}.test`] });
}

Deno.test("a rotated certificate is used from the next handshake on, and connections stay", async () => {
  await using backend = new Backend();
  const [one, two, other] = await Promise.all([
    version("one"),
    version("two"),
    certificateFor("other", { names: ["b.test"] }),
  ]);
  using proxy = await TlsProxy.start({ certificates: [one, other], endpoints: [backend.port] });
  using before = await proxy.connect();
  using elsewhere = await proxy.connect({ name: "b.test" });
  // A handshake that has begun, and not yet said for whom.
  using slow = await Deno.connect({ hostname: "127.0.0.1", port: proxy.port });
  assert.equal(before.names, "a.test one.test");
  proxy.apply([two, other]);
  using after = await proxy.connect();
  assert.equal(after.names, "a.test two.test");
  for (const client of [before, elsewhere, after]) {
    const host = client === elsewhere ? "b.test" : "a.test";
    assert.match(await client.ask(GET.replace("a.test", host)), /^HTTP\/1\.1 200 /);
  }
  proxy.apply([other]);
  assert.match(await handshakeError(proxy.connect()), /UnrecognisedName/);
  assert.match(await before.ask(GET), /^HTTP\/1\.1 200 /);
  slow.close();
});

/** Passes a client's first flight on to `port`, and what comes after it once it is released. */
class SlowClient {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #released = Promise.withResolvers<void>();
  readonly #answered = Promise.withResolvers<void>();

  constructor(port: number) {
    this.#relay(port).catch(this.#answered.reject);
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  /** The proxy has answered the first flight. */
  get answered(): Promise<void> {
    return this.#answered.promise;
  }

  release(): void {
    this.#released.resolve();
  }

  async #relay(port: number): Promise<void> {
    using client = await this.#listener.accept();
    this.#listener.close();
    using proxy = await Deno.connect({ hostname: "127.0.0.1", port });
    const toClient = async () => {
      const piece = new Uint8Array(65536);
      for (let size; (size = await proxy.read(piece)) !== null;) {
        await client.write(piece.subarray(0, size));
        this.#answered.resolve();
      }
    };
    const toProxy = async () => {
      const piece = new Uint8Array(65536);
      for (let size; (size = await client.read(piece)) !== null;) {
        await proxy.write(piece.subarray(0, size));
        await this.#released.promise;
      }
      proxy.close();
    };
    await Promise.allSettled([toClient(), toProxy()]);
  }
}

Deno.test("a certificate that is removed during a handshake is still used for it", async () => {
  await using backend = new Backend();
  const [one, other] = await Promise.all([
    version("one"),
    certificateFor("other", { names: ["b.test"] }),
  ]);
  for (const name of ["a.test", ""]) {
    using proxy = await TlsProxy.start({
      certificates: [one, other],
      defaultCertificate: "one",
      endpoints: [backend.port],
    });
    const slow = new SlowClient(proxy.port);
    const connecting = TlsClient.connect(slow.port, { name });
    await slow.answered;
    proxy.apply([other]);
    slow.release();
    using client = await connecting;
    assert.equal(client.names, "a.test one.test");
    assert.match(await client.ask(GET.replace("a.test", "b.test")), /^HTTP\/1\.1 421 /);
    assert.match(await client.ask(GET), /^HTTP\/1\.1 200 /);
  }
});

interface Loading {
  readonly loader: CertificateLoader;
  readonly logged: { message: string; fields: LogFields }[];
}

function startLoading(now = Date.now): Loading {
  const logged: Loading["logged"] = [];
  const log = (message: string, fields: LogFields = {}) => void logged.push({ message, fields });
  const logger = { debug: log, info: log, warn: log, error: log };
  return { loader: new CertificateLoader({ folder: ".", log: logger, now }), logged };
}

function snapshotWith(certificates: readonly Certificate[]): Snapshot {
  return { ...snapshotOf([]), certificates };
}

function asWritten({ id, hosts, chain, key }: ServerCertificate): Certificate {
  return {
    id,
    hosts,
    chain: { kind: "pem", pem: chain },
    key: { kind: "secret", pem: key },
    origin: { kind: "Secret", namespace: "test", name: id, field: "data" },
  };
}

const half = (text: string) => text.slice(0, text.length / 2);

Deno.test("an invalid pair affects only its own host, whose last good certificate stays", async (t) => {
  const [good, other, stranger] = await Promise.all([
    version("good"),
    certificateFor("other", { names: ["b.test"] }),
    version("stranger"),
  ]);
  const written = asWritten(good);
  const broken: readonly [string, Certificate, RegExp][] = [
    ["another's key", { ...written, key: asWritten(stranger).key }, /does not belong/],
    ["half a chain", { ...written, chain: { kind: "pem", pem: half(good.chain) } }, /end line/],
    [
      "half a key",
      { ...written, key: { kind: "secret", pem: new Redacted(half(good.key.reveal())) } },
      /end line/,
    ],
    ["no PEM", { ...written, chain: { kind: "pem", pem: "hello" } }, /no certificate/],
    [
      "a chain of junk",
      {
        ...written,
        chain: {
          kind: "pem",
          pem: "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n",
        },
      },
      /cannot be read/,
    ],
    [
      "a file that is not there",
      { ...written, chain: { kind: "file", path: "no/such.crt" } },
      /read/,
    ],
  ];
  for (const [name, bad, reason] of broken) {
    await t.step(name, async () => {
      const { loader, logged } = startLoading();
      const first = snapshotWith([asWritten(good), asWritten(other)]);
      using proxy = await TlsProxy.start({ certificates: loader.load(first) });
      const changed = { ...bad, id: "changed" };
      proxy.apply(loader.load(snapshotWith([changed, asWritten(other)])));
      for (const [host, names] of [["a.test", "a.test good.test"], ["b.test", "b.test"]]) {
        using client = await proxy.connect({ name: host });
        assert.equal(client.names, names);
      }
      const [{ message, fields }, ...more] = logged;
      assert.equal(more.length, 0);
      assert.equal(message, "Certificate rejected");
      assert.match(String(fields.problem), reason);
      assert.equal(fields.consequence, "the last good one stays for its hosts");
      assert.ok(!JSON.stringify(logged).includes(good.key.reveal().split("\n")[1]));

      // Without a last good one, the host alone has none.
      const late = startLoading();
      proxy.apply(late.loader.load(snapshotWith([changed, asWritten(other)])));
      assert.match(await handshakeError(proxy.connect()), /UnrecognisedName/);
      using client = await proxy.connect({ name: "b.test" });
      assert.equal(client.names, "b.test");
    });
  }
});

Deno.test("an expired certificate is served, and reported as expired", async () => {
  const expired = await certificateFor("expired", {
    names: ["a.test"],
    validFrom: Date.now() - 2_000_000_000,
    validTo: Date.now() - 1_000_000_000,
  });
  const { loader, logged } = startLoading();
  const certificates = loader.load(snapshotWith([asWritten(expired)]));
  using proxy = await TlsProxy.start({ certificates });
  const raw = await Deno.connect({ hostname: "127.0.0.1", port: proxy.port });
  const caCerts = [authority.certificate];
  using client = await Deno.startTls(raw, { hostname: "a.test", caCerts });
  await assert.rejects(client.handshake(), /certificate expired/);
  assert.deepEqual(logged.map(({ message }) => message), ["Certificate has expired"]);
  assert.deepEqual(logged[0].fields.hosts, ["a.test"]);
});

Deno.test("an error of a certificate is logged once, however often others change", async () => {
  const [good, stranger] = await Promise.all([version("good"), version("stranger")]);
  const expired = await certificateFor("expired", {
    names: ["b.test"],
    validFrom: Date.now() - 2_000_000_000,
    validTo: Date.now() - 1_000_000_000,
  });
  const bad = { ...asWritten(good), key: asWritten(stranger).key };
  const junk = { ...asWritten(good), chain: { kind: "pem" as const, pem: "hello" } };
  const { loader, logged } = startLoading();
  const load = (...certificates: Certificate[]) => {
    logged.length = 0;
    loader.load(snapshotWith(certificates));
    return logged.map(({ message }) => message);
  };
  const both = ["Certificate rejected", "Certificate has expired"];
  assert.deepEqual(load(bad, asWritten(expired)), both);
  assert.deepEqual(load(bad, asWritten(expired)), []);
  assert.deepEqual(load(junk, asWritten(expired)), ["Certificate rejected"], "another problem");
  assert.deepEqual(load(asWritten(good)), []);
  assert.deepEqual(load(bad, asWritten(expired)), both, "it is back");
});

Deno.test("certificate files are read again, and may be missing for a while", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [one, two] = await Promise.all([version("one"), version("two")]);
    const write = async ({ chain, key }: ServerCertificate) => {
      await Deno.writeTextFile(`${folder}/tls.crt`, chain);
      await Deno.writeTextFile(`${folder}/tls.key`, key.reveal());
    };
    const { loader, logged } = startLoading();
    const snapshot = snapshotWith([{
      ...asWritten(one),
      id: `${folder}/tls.crt`,
      chain: { kind: "file", path: `${folder}/tls.crt` },
      key: { kind: "file", path: `${folder}/tls.key` },
    }]);
    const id = snapshot.certificates[0].id;
    await write(one);
    using proxy = await TlsProxy.start({});
    const shown = async () => {
      proxy.apply(loader.load(snapshot), id);
      using client = await proxy.connect({ name: "default.test" });
      return client.names;
    };
    assert.equal(await shown(), "a.test one.test");
    await write(two);
    assert.equal(await shown(), "a.test two.test");
    await Deno.remove(`${folder}/tls.crt`);
    assert.equal(await shown(), "a.test two.test");
    await Deno.writeTextFile(`${folder}/tls.crt`, one.chain);
    assert.equal(await shown(), "a.test two.test", "half an update");
    await write(one);
    assert.equal(await shown(), "a.test one.test");
    assert.equal(logged.length, 2);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the default certificate stays while its file is partly written", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [one, two] = await Promise.all([version("one"), version("two")]);
    const path = `${folder}/tls.crt`;
    // As of an old proxy.json: for no host.
    const certificate: Certificate = {
      ...asWritten(one),
      id: path,
      hosts: [],
      chain: { kind: "file", path },
    };
    const snapshot = { ...snapshotWith([certificate]), defaultCertificate: path };
    const { loader, logged } = startLoading();
    using proxy = await TlsProxy.start({});
    const shown = async () => {
      proxy.apply(loader.load(snapshot), path);
      using client = await proxy.connect({ name: "default.test" });
      return client.names;
    };
    await Deno.writeTextFile(path, one.chain);
    assert.equal(await shown(), "a.test one.test");
    assert.equal(loader.refused, 0);
    for (const text of [half(one.chain), two.chain, ""]) {
      await Deno.writeTextFile(path, text);
      assert.equal(await shown(), "a.test one.test");
      assert.equal(loader.refused, 1);
    }
    assert.deepEqual(
      [...new Set(logged.map(({ fields }) => fields.consequence))],
      ["the last good one stays as the default"],
    );
    const late = startLoading();
    proxy.apply(late.loader.load(snapshot), path);
    assert.match(await handshakeError(proxy.connect({ name: "default.test" })), /UnrecognisedName/);
    assert.equal(
      late.logged[0].fields.consequence,
      "names that no other certificate covers are refused",
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("an invalid default with another id leaves the previous one", async () => {
  const [good, stranger] = await Promise.all([version("good"), version("stranger")]);
  const { loader } = startLoading();
  using proxy = await TlsProxy.start({});
  for (const hosts of [[], ["a.test"]]) {
    const written = { ...asWritten(good), hosts };
    const broken = { ...written, id: "broken", key: asWritten(stranger).key };
    for (const certificate of [written, broken, broken, written]) {
      const snapshot = { ...snapshotWith([certificate]), defaultCertificate: certificate.id };
      proxy.apply(loader.load(snapshot), certificate.id);
      for (const name of ["a.test", "nobody.test"]) {
        using client = await proxy.connect({ name });
        assert.equal(client.names, "a.test good.test");
      }
    }
  }
});
