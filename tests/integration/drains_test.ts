/** Proxies that take turns under load; `deno task soak:drain` does the same a hundred times. */
import assert from "node:assert/strict";
import { runDrains } from "../soak/drains.ts";

Deno.test("two drains under load lose no request", async () => {
  const { requests, uploads, http2, streams, webSockets, lost } = await runDrains(2);
  assert.deepEqual(lost, []);
  assert.ok(
    requests > 100 && uploads > 0 && http2 > 0 && streams > 0 && webSockets > 0,
    "there was a load",
  );
});
