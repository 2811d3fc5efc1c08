/** A connection as a transport carries what it carries by itself, with Deno's operations or without. */
import assert from "node:assert/strict";
import { findOperations, tcpTransport } from "./tcp_transport.ts";
import type { Transport } from "./transport.ts";

const WAYS = [
  { way: "by Deno's operations", operations: findOperations() },
  { way: "without them", operations: null },
];

/** Both ends of a connection; the first one is the transport that is tested. */
async function connected(
  operations: ReturnType<typeof findOperations>,
): Promise<{ transport: Transport; connection: Deno.TcpConn; peer: Deno.TcpConn }> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const [peer, connection] = await Promise.all([
    listener.accept(),
    Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port }),
  ]);
  return { transport: tcpTransport(connection, operations), connection, peer };
}

/** What a read has said of FIN. */
const isEnd = (count: number | null): boolean => count === null || count === 0;

Deno.test("this version of Deno has the ops that connections are read and written with", () => {
  assert.notEqual(findOperations(), null);
});

/** Sizes of writes, and before which of them the system is told to delay none. */
const DELAYS: readonly (readonly [sizes: readonly number[], told: number])[] = [
  [[100], -1],
  [[100, 100, 100], 1],
  [[0, 100], 1],
  [[10_000, 100], 0],
];

for (const [sizes, told] of DELAYS) {
  Deno.test(`writes of ${sizes} bytes: none is delayed behind another one`, async () => {
    const { transport, connection, peer } = await connected(findOperations());
    let written = 0;
    const calls: number[] = [];
    // The transport keeps no connection: it makes one like it anew.
    const type = Object.getPrototypeOf(connection);
    const { setNoDelay } = type;
    type.setNoDelay = function (on: boolean) {
      calls.push(written);
      setNoDelay.call(this, on);
    };
    try {
      for (const size of sizes) {
        await transport.write(new Uint8Array(size));
        written++;
      }
    } finally {
      type.setNoDelay = setNoDelay;
    }
    assert.deepEqual(calls, told < 0 ? [] : [told]);
    transport.close();
    peer.close();
  });
}

for (const { way, operations } of WAYS) {
  Deno.test(`bytes and ends are transferred in both directions, ${way}`, async () => {
    const { transport, peer } = await connected(operations);
    assert.equal(await transport.write(new Uint8Array([1, 2, 3])), 3);
    const view = new Uint8Array(8);
    assert.equal(await peer.read(view), 3);
    await peer.write(new Uint8Array([4, 5]));
    const into = new Uint8Array(16);
    assert.equal(await transport.read(into.subarray(3)), 2);
    assert.deepEqual([...into.subarray(0, 6)], [0, 0, 0, 4, 5, 0]);
    await transport.closeWrite();
    assert.equal(await peer.read(view), null);
    await peer.closeWrite();
    assert.ok(isEnd(await transport.read(into)));
    transport.close();
    peer.close();
  });

  Deno.test(`a close ends the read in progress, and rejects later ones, ${way}`, async () => {
    const { transport, peer } = await connected(operations);
    const reading = transport.read(new Uint8Array(8));
    transport.close();
    await assert.rejects(reading);
    await assert.rejects(async () => await transport.write(new Uint8Array(1)));
    await assert.rejects(async () => await transport.read(new Uint8Array(1)));
    peer.close();
  });

  Deno.test(`a write blocks while the peer does not read, until the connection closes, ${way}`, async () => {
    const { transport, peer } = await connected(operations);
    const much = new Uint8Array(1 << 20);
    const writing = (async () => {
      for (;;) await transport.write(much);
    })();
    peer.close();
    await assert.rejects(writing);
    transport.close();
  });
}
