/** The name that a client asks for is read from its own first bytes, however they are cut. */
import assert from "node:assert/strict";
import net from "node:net";
import tls from "node:tls";
import { readServerName } from "./client_hello.ts";

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

Deno.test("a client's name is read once its first message is whole", () => {
  for (let length = 0; length < named.length; length++) {
    assert.equal(readServerName(named.subarray(0, length)), "more", `${length} bytes`);
  }
  assert.deepEqual(readServerName(named), { name: "app.example.test" });
  const followed = new Uint8Array([...named, 0x14, 3, 3, 0, 1, 1]);
  assert.deepEqual(readServerName(followed), { name: "app.example.test" });
});

Deno.test("a first message in many records is one", () => {
  for (const size of [1, 3, 100]) {
    const bytes = inRecords(named, size);
    assert.deepEqual(readServerName(bytes), { name: "app.example.test" }, `of ${size} bytes`);
    assert.equal(readServerName(bytes.subarray(0, -1)), "more");
  }
});

/** How many bytes `task` copies from one array to another. */
function copiedBy(task: () => void): number {
  let copied = 0;
  const { set } = Uint8Array.prototype;
  Uint8Array.prototype.set = function (from, at) {
    copied += from.length;
    set.call(this, from, at);
  };
  try {
    task();
  } finally {
    delete (Uint8Array.prototype as Partial<Uint8Array>).set;
  }
  return copied;
}

Deno.test("a first message in thousands of records costs no more than its bytes", () => {
  const message = new Uint8Array(4_000);
  message.set([1, 0xff, 0xff, 0xff]);
  const bytes = inRecords(new Uint8Array([0, 0, 0, 0, 0, ...message]), 1);
  assert.equal(copiedBy(() => assert.equal(readServerName(bytes), null)) < bytes.length, true);
});

Deno.test("a client that asks for no name has none", async () => {
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
  Deno.test(`${what} is left for TLS to refuse`, () => {
    assert.equal(readServerName(bytes), null);
  });
}

Deno.test("a message that ends too soon has no name", () => {
  const bytes = new Uint8Array([0x16, 3, 1, 0, 10, 1, 0, 0, 6, 3, 3, 0, 0, 0, 0]);
  assert.deepEqual(readServerName(bytes), { name: "" });
});
