/**
 * What this folder's TLS relies on in Deno. A test here that fails after an update of Deno says which
 * detour has become needless, or does not lead there any more.
 */
import assert from "node:assert/strict";
import net from "node:net";
import tls from "node:tls";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";

const MIB = 1024 * 1024;
const authority = await CertificateAuthority.create("Test");
const { chain, key } = await authority.issue({ names: ["a.test"] });

interface Served {
  readonly socket: tls.TLSSocket;
  readonly raw: net.Socket & { readonly _handle: { readStop(): void; readStart(): void } };
  readonly port: number;
}

/** One client that sends without end, and the socket that has it on the server's side. */
async function withSender(use: (served: Served) => Promise<void>): Promise<void> {
  const accepted = Promise.withResolvers<Served>();
  const server = net.createServer({ allowHalfOpen: true }, (raw) => {
    raw.on("error", () => {});
    const secureContext = tls.createSecureContext({ cert: chain, key: key.reveal() });
    const socket = new tls.TLSSocket(raw, { isServer: true, secureContext });
    socket.on("error", () => {});
    socket.once("secure", () => {
      accepted.resolve({ socket, raw: raw as Served["raw"], port });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as net.AddressInfo;
  const raw = await Deno.connect({ hostname: "127.0.0.1", port });
  const client = await Deno.startTls(raw, {
    hostname: "a.test",
    caCerts: [authority.certificate],
  });
  await client.handshake();
  const sending = (async () => {
    const block = new Uint8Array(64 * 1024);
    try {
      for (;;) await client.write(block);
    } catch {
      // Closed at the end.
    }
  })();
  const served = await accepted.promise;
  try {
    await use(served);
  } finally {
    served.socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    client.close();
    await sending;
  }
}

/** Bytes that have come when none have come for a while, or more than `enough`. */
async function settled(count: () => number, enough: number): Promise<number> {
  for (let before = -1; before !== count() && count() < enough;) {
    before = count();
    await new Promise((resume) => setTimeout(resume, 150));
  }
  return count();
}

Deno.test("pause() on a TLS socket does not stop its reading", async () => {
  await withSender(async ({ socket, raw }) => {
    socket.on("data", () => {});
    socket.pause();
    const read = await settled(() => raw.bytesRead, 32 * MIB);
    assert.ok(read >= 32 * MIB, `pause() works now: ${read} bytes were read`);
  });
});

Deno.test("readStop() on the raw handle stops reading, and readStart() starts it again", async () => {
  await withSender(async ({ socket, raw }) => {
    let count = 0;
    socket.on("data", (part) => count += part.length);
    raw._handle.readStop();
    await settled(() => count, 4 * MIB);
    const stopped = count;
    assert.ok(stopped < 4 * MIB, `${stopped} bytes came after readStop()`);
    raw._handle.readStart();
    await settled(() => count, stopped + 16 * MIB);
    assert.ok(count >= stopped + 16 * MIB, `${count - stopped} bytes came after readStart()`);
  });
});

Deno.test("createSecureContext accepts a key that does not match its certificate", async () => {
  const other = await authority.issue({ names: ["a.test"] });
  tls.createSecureContext({ cert: chain, key: other.key.reveal() });
});
