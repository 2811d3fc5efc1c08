import assert from "node:assert/strict";
import { refusingPort } from "../../tests/support/backend.ts";
import { connectTcp } from "./tcp_connect.ts";

/** A listener on loopback, and what has been accepted from it. */
function listen() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { hostname, port } = listener.addr as Deno.NetAddr;
  return { listener, address: { hostname, port } };
}

Deno.test("a connection to a listening address opens", async () => {
  const { listener, address } = listen();
  using connection = await connectTcp(address, new AbortController().signal);
  using accepted = await listener.accept();
  assert.equal(connection.remoteAddr.port, address.port);
  assert.deepEqual(accepted.remoteAddr, connection.localAddr);
  listener.close();
});

Deno.test("a port without a listener rejects with ConnectionRefused", async () => {
  const address = { hostname: "127.0.0.1", port: refusingPort() };
  const connecting = connectTcp(address, new AbortController().signal);
  await assert.rejects(connecting, Deno.errors.ConnectionRefused);
});

Deno.test("an abort rejects with its reason, and a connection that still opens is closed", async () => {
  const { listener, address } = listen();
  const aborting = new AbortController();
  const connecting = connectTcp(address, aborting.signal);
  const reason = new Error("the client has left");
  aborting.abort(reason);
  await assert.rejects(connecting, reason);
  using accepted = await listener.accept();
  assert.equal(await accepted.read(new Uint8Array(1)), null);
  listener.close();
});

Deno.test("an aborted signal opens no connection", async () => {
  const { listener, address } = listen();
  const reason = new Error("too late");
  await assert.rejects(connectTcp(address, AbortSignal.abort(reason)), reason);
  const accepting = listener.accept().then(() => "accepted", () => "nobody came");
  listener.close();
  assert.equal(await accepting, "nobody came");
});
