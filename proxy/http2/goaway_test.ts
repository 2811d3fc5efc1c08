/** What a connection that ends has said before of its last stream. */
import assert from "node:assert/strict";
import { CODE, FRAME, get, headers, ping, windowUpdate } from "../../tests/support/h2_frames.ts";
import { MemoryClient } from "../../tests/support/h2_memory_client.ts";

Deno.test("the last stream id of a GOAWAY never increases (§6.8)", async () => {
  const never = Promise.withResolvers<void>();
  using client = new MemoryClient((exchange) => {
    exchange.cancellation.register(() => never.resolve());
    return never.promise;
  });
  await client.greet();
  await client.send(headers(1, get("/"), { end: true }));
  client.connection.drain();
  await client.idle();
  await client.send(ping(0, true));
  // It comes too late, and is passed over.
  await client.send(headers(3, get("/"), { end: true }));
  await client.send(windowUpdate(0, 0));
  const said = client.frames().filter(({ type }) => type === FRAME.GOAWAY)
    .map(({ payload: [, , , last, , , , code] }) => [last, code]);
  assert.deepEqual(said, [[255, CODE.NO_ERROR], [1, CODE.NO_ERROR], [1, CODE.PROTOCOL_ERROR]]);
});
