/** What of a TLS socket needs no socket. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import type net from "node:net";
import type tls from "node:tls";
import { TlsHandle } from "./tls_handle.ts";
import { TlsTransport } from "./tls_transport.ts";

/** A transport, and what arrives at its socket. */
function transport(): { readonly transport: TlsTransport; readonly socket: EventEmitter } {
  const socket = new EventEmitter();
  const raw = { _handle: { readStop() {}, readStart() {} } };
  return {
    transport: new TlsTransport(
      socket as unknown as tls.TLSSocket,
      raw as unknown as net.Socket,
    ),
    socket,
  };
}

Deno.test("memory of consumed data is released at once, and not before", async () => {
  const { transport: reader, socket } = transport();
  const chunk = Buffer.from(new Uint8Array(10_000).fill(7).buffer);
  const { buffer } = chunk as unknown as { buffer: ArrayBuffer };
  socket.emit("data", chunk);
  const view = new Uint8Array(6_000);
  assert.equal(await reader.read(view), 6_000);
  assert.ok(!buffer.detached);
  assert.equal(await reader.read(view), 4_000);
  assert.ok(view.every((byte) => byte === 7));
  assert.ok(buffer.detached);
});

Deno.test("memory that others may have a view of is not released", async () => {
  const { transport: reader, socket } = transport();
  const whole = new Uint8Array(20_000).fill(7);
  socket.emit("data", Buffer.from(whole.buffer, 0, 10_000));
  assert.equal(await reader.read(new Uint8Array(10_000)), 10_000);
  assert.equal(whole.length, 20_000);
});

Deno.test("a write that the handle refuses at once fails with its error, and ends the socket", async () => {
  const socket = Object.assign(new EventEmitter(), { ends: 0, destroy: () => void socket.ends++ });
  const handle = new TlsHandle({
    onread() {},
    setOnread() {},
    writeBuffer: () => -32,
  });
  const transport = new TlsTransport(
    socket as unknown as tls.TLSSocket,
    { _handle: null } as unknown as net.Socket,
    handle,
  );
  await assert.rejects(transport.write(new Uint8Array(3)), { code: "EPIPE" });
  assert.equal(socket.ends, 1);
});
