/** The name that a client asks for is read from its own first bytes, however they are cut. */
import assert from "node:assert/strict";
import net from "node:net";
import tls from "node:tls";
import { ClientHelloReader, type ServerName } from "./client_hello.ts";

/** What a client sends first that asks for this name; none where it is undefined. */
async function helloOf(servername: string | undefined): Promise<Uint8Array> {
  const heard = Promise.withResolvers<Uint8Array>();
  const server = net.createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (bytes: Uint8Array) => {
      heard.resolve(bytes);
      socket.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as net.AddressInfo;
  const client = tls.connect({ port, host: "127.0.0.1", servername, rejectUnauthorized: false });
  client.on("error", () => {});
  const hello = await heard.promise;
  client.destroy();
  server.close();
  return new Uint8Array(hello);
}

/** The same message in records of at most so many bytes. */
function inRecords(hello: Uint8Array, size: number): Uint8Array {
  const bytes: number[] = [];
  for (let at = 5; at < hello.length; at += size) {
    const part = hello.subarray(at, at + size);
    bytes.push(0x16, 3, 1, part.length >> 8, part.length & 255, ...part);
  }
  return new Uint8Array(bytes);
}

const named = await helloOf("app.example.test");

/** What is read of bytes that come in packets of at most so many. */
function readServerName(bytes: Uint8Array, packet = Infinity): ServerName {
  const reader = new ClientHelloReader();
  let read: ServerName = "more";
  for (let at = 0; at < bytes.length && read === "more"; at += packet) {
    read = reader.read(bytes.slice(at, at + packet));
  }
  return read;
}

Deno.test("the server name is read once the ClientHello is complete", () => {
  for (let length = 0; length < named.length; length++) {
    assert.equal(readServerName(named.subarray(0, length)), "more", `${length} bytes`);
  }
  assert.deepEqual(readServerName(named), { name: "app.example.test" });
  const followed = new Uint8Array([...named, 0x14, 3, 3, 0, 1, 1]);
  assert.deepEqual(readServerName(followed), { name: "app.example.test" });
});

Deno.test("a ClientHello in up to 16 records is one, however its packets are split", () => {
  const length = named.length - 5;
  for (const records of [1, 2, 5, 16]) {
    const bytes = inRecords(named, Math.ceil(length / records));
    for (const packet of [1, 2, 7, 100, Infinity]) {
      const what = `${records} records in packets of ${packet}`;
      assert.deepEqual(readServerName(bytes, packet), { name: "app.example.test" }, what);
      assert.equal(readServerName(bytes.subarray(0, -1), packet), "more", what);
    }
  }
});

Deno.test("a ClientHello in more than 16 records is left for TLS to reject", () => {
  assert.equal(readServerName(inRecords(named, Math.floor((named.length - 5) / 17))), null);
});

Deno.test("the packets of a ClientHello reach TLS together and unmodified", () => {
  const reader = new ClientHelloReader();
  const packets = [named.slice(0, 3), named.slice(3, 60), named.slice(60)];
  const before = packets.map((packet) => [...packet]);
  for (const packet of packets) reader.read(packet);
  assert.deepEqual([...reader.bytes], [...named]);
  assert.deepEqual(packets.map((packet) => [...packet]), before);
});

/** How many bytes and ranges of arrays `task` touches by `set` and `subarray`. */
function touchedBy(task: () => void): number {
  let touched = 0;
  const { set, subarray } = Uint8Array.prototype;
  Uint8Array.prototype.set = function (from, at) {
    touched += from.length;
    set.call(this, from, at);
  };
  Uint8Array.prototype.subarray = function (start, end) {
    touched++;
    return subarray.call(this, start, end) as Uint8Array<ArrayBuffer>;
  };
  try {
    task();
  } finally {
    delete (Uint8Array.prototype as Partial<Uint8Array>).set;
    delete (Uint8Array.prototype as Partial<Uint8Array>).subarray;
  }
  return touched;
}

Deno.test("a ClientHello that arrives byte by byte costs time linear in its length", () => {
  const message = new Uint8Array(15_000);
  message.set([1, 0, 0xff, 0xff]);
  const bytes = inRecords(new Uint8Array([0, 0, 0, 0, 0, ...message]), 1_000);
  const touched = touchedBy(() => assert.equal(readServerName(bytes, 1), "more"));
  assert.ok(touched < 16 * bytes.length, `${touched} for ${bytes.length} bytes`);
});

Deno.test("a ClientHello has the signature schemes that its client can verify", () => {
  const reader = new ClientHelloReader();
  reader.read(named.slice());
  const schemes = reader.signatureSchemes;
  // ECDSA with P-256, and RSA-PSS.
  assert.ok(schemes.includes(0x0403) && schemes.includes(0x0804), String(schemes));
  const truncated = new ClientHelloReader();
  truncated.read(new Uint8Array([0x16, 3, 1, 0, 10, 1, 0, 0, 6, 3, 3, 0, 0, 0, 0]));
  assert.deepEqual(truncated.signatureSchemes, []);
});

Deno.test("a ClientHello without a server name has none", async () => {
  assert.deepEqual(readServerName(await helloOf(undefined)), { name: "" });
});

/** `named` with the bytes of its server name extension changed by `change`. */
function withName(change: (extension: Uint8Array) => void): Uint8Array {
  const bytes = named.slice();
  const name = new TextEncoder().encode("app.example.test");
  const at = bytes.findIndex((_, i) => name.every((byte, j) => bytes[i + j] === byte));
  change(bytes.subarray(at - 5, at + name.length));
  return bytes;
}

const STRANGE: readonly { what: string; bytes: Uint8Array }[] = [
  { what: "plain HTTP", bytes: new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n") },
  { what: "a record without bytes", bytes: new Uint8Array([0x16, 3, 1, 0, 0]) },
  { what: "another message", bytes: new Uint8Array([0x16, 3, 1, 0, 4, 2, 0, 0, 0]) },
  { what: "a name longer than its list", bytes: withName((it) => it.fill(255, 3, 5)) },
  { what: "a name of an unknown kind", bytes: withName((it) => it.fill(7, 2, 3)) },
  {
    what: "a message without end",
    bytes: inRecords(
      new Uint8Array([0, 0, 0, 0, 0, 1, 255, 255, 255, ...new Uint8Array(17_000)]),
      9_000,
    ),
  },
];

for (const { what, bytes } of STRANGE) {
  Deno.test(`${what} is left for TLS to reject`, () => {
    assert.equal(readServerName(bytes), null);
  });
}

Deno.test("a truncated ClientHello has no server name", () => {
  const bytes = new Uint8Array([0x16, 3, 1, 0, 10, 1, 0, 0, 6, 3, 3, 0, 0, 0, 0]);
  assert.deepEqual(readServerName(bytes), { name: "" });
});
