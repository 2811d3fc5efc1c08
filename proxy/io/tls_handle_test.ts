/** Transports over TLS: past a socket's streams, where this Deno has what that needs, and by them. */
import assert from "node:assert/strict";
import net from "node:net";
import tls from "node:tls";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { tlsHandle } from "./tls_handle.ts";
import { TlsTransport } from "./tls_transport.ts";

const authority = await CertificateAuthority.create("Test");
const { chain, key } = await authority.issue({ names: ["a.test"] });

type Way = "past the streams" | "by the streams";
const WAYS: readonly Way[] = ["past the streams", "by the streams"];

/** Both ends of a connection: the transport, and a client of Deno's own. */
async function connected(
  way: Way,
  use: (transport: TlsTransport, client: Deno.TlsConn) => Promise<void>,
): Promise<void> {
  const accepted = Promise.withResolvers<TlsTransport>();
  const server = net.createServer({ allowHalfOpen: true }, (raw) => {
    raw.on("error", () => {});
    const secureContext = tls.createSecureContext({ cert: chain, key: key.reveal() });
    const socket = new tls.TLSSocket(
      raw,
      { isServer: true, allowHalfOpen: true, secureContext } as tls.TLSSocketOptions,
    );
    socket.on("error", () => {});
    socket.once("secure", () => {
      const handle = tlsHandle(socket);
      assert.ok(handle !== null, "this Deno has another handle");
      accepted.resolve(
        new TlsTransport(socket, raw, way === "past the streams" ? handle : null),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as net.AddressInfo;
  const client = await Deno.startTls(await Deno.connect({ hostname: "127.0.0.1", port }), {
    hostname: "a.test",
    caCerts: [authority.certificate],
  });
  await client.handshake();
  const transport = await accepted.promise;
  try {
    await use(transport, client);
  } finally {
    transport.close();
    try {
      client.close();
    } catch {
      // The test has.
    }
    await new Promise((resolve) => server.close(resolve));
  }
}

/** All that the client gets, which must be what `pattern` gives for its length. */
async function readAll(client: Deno.TlsConn, pattern: (at: number) => number): Promise<number> {
  const view = new Uint8Array(64 * 1024);
  let count = 0;
  for (;;) {
    const read = await client.read(view);
    if (read === null) return count;
    for (let i = 0; i < read; i++) {
      if (view[i] !== pattern(count + i)) assert.fail(`wrong byte at ${count + i}`);
    }
    count += read;
  }
}

const pattern = (at: number) => (at * 31 + (at >> 8)) & 255;

function patterned(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at++) bytes[at] = pattern(at);
  return bytes;
}

for (const way of WAYS) {
  Deno.test(`TLS ${way}: data arrives in both directions, and each end is reported`, async () => {
    await connected(way, async (transport, client) => {
      const view = new Uint8Array(1000);
      for (let round = 0; round < 20; round++) {
        await client.write(patterned(200));
        assert.equal(await transport.read(view), 200);
        assert.deepEqual(view.subarray(0, 200), patterned(200));
        assert.equal(await transport.write(view.subarray(0, 200)), 200);
        assert.equal(await client.read(view), 200);
      }
      await client.closeWrite();
      assert.ok(!(await transport.read(view)));
      await transport.write(patterned(5000));
      await transport.closeWrite();
      assert.equal(await readAll(client, pattern), 5000);
    });
  });

  Deno.test(`TLS ${way}: long writes stay complete and in order, and wait for a slow reader`, async () => {
    await connected(way, async (transport, client) => {
      const bytes = patterned(6_000_000);
      let written = 0;
      const writing: Promise<unknown>[] = [];
      for (let at = 0; at < bytes.length; at += 60_000) {
        const part = bytes.subarray(at, at + 60_000);
        writing.push(transport.write(part).then((count) => written += count));
      }
      const closing = transport.closeWrite();
      // Nobody reads: what has not been written fills the system's buffers first.
      await client.write(patterned(10));
      await transport.read(new Uint8Array(10));
      assert.ok(written < bytes.length);
      assert.equal(await readAll(client, pattern), bytes.length);
      await Promise.all(writing);
      await closing;
      assert.equal(written, bytes.length);
    });
  });

  Deno.test(`TLS ${way}: a long write is sent in parts, and reports its progress`, async () => {
    await connected(way, async (transport, client) => {
      const bytes = patterned(1_000_000);
      const reading = readAll(client, pattern);
      let pieces = 0;
      for (let at = 0; at < bytes.length; pieces++) at += await transport.write(bytes.subarray(at));
      await transport.closeWrite();
      assert.equal(await reading, bytes.length);
      assert.ok(pieces > 10, `${pieces} pieces`);
    });
  });

  Deno.test(`TLS ${way}: incoming data is buffered up to a bound while nobody reads`, async () => {
    await connected(way, async (transport, client) => {
      const length = 24 * 1024 * 1024;
      let sent = 0;
      const sending = (async () => {
        const block = new Uint8Array(64 * 1024);
        for (; sent < length; sent += block.length) {
          for (let at = 0; at < block.length;) at += await client.write(block.subarray(at));
        }
        await client.closeWrite();
      })();
      for (let before = -1; before !== sent;) {
        before = sent;
        await new Promise((resume) => setTimeout(resume, 100));
      }
      assert.ok(sent < length, "all of it was taken");
      const view = new Uint8Array(16 * 1024);
      let count = 0;
      for (let read; (read = await transport.read(view));) count += read;
      assert.equal(count, length);
      await sending;
    });
  });

  Deno.test(`TLS ${way}: a write that a close cuts off rejects, and so do later ones`, async () => {
    await connected(way, async (transport) => {
      const writing = Array.from({ length: 100 }, () => transport.write(patterned(60_000)));
      const rejected = Promise.all(writing.map((each) => assert.rejects(each)));
      transport.close();
      await rejected;
      await assert.rejects(transport.write(patterned(1)));
      await assert.rejects(transport.read(new Uint8Array(1)));
    });
  });

  Deno.test(`TLS ${way}: writes to a peer that has closed reject eventually`, async () => {
    await connected(way, async (transport, client) => {
      client.close();
      const block = patterned(100_000);
      await assert.rejects(async () => {
        for (;;) await transport.write(block);
      });
    });
  });
}

Deno.test("TLS falls back to streams with an unknown version of Deno or another handle", () => {
  const whole = { onread() {}, setOnread() {}, writeBuffer() {} };
  const cases: readonly [string, unknown, boolean][] = [
    ["2.9.6", whole, true],
    ["2.10.0", whole, false],
    ["3.0.0", whole, false],
    ["2.9.6", { ...whole, setOnread: undefined }, false],
    ["2.9.6", null, false],
    ["2.9.6", undefined, false],
  ];
  for (const [version, _handle, expected] of cases) {
    const handle = tlsHandle({ _handle } as unknown as tls.TLSSocket, version);
    assert.equal(handle !== null, expected, `${version} ${JSON.stringify(_handle)}`);
  }
});
