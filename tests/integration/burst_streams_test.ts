/** What open streams keep in memory after events on all of them at once. */
import assert from "node:assert/strict";
import { runWithGc } from "../support/gc_program.ts";

/** In bytes: the 64 buffers that are kept for writes are 2,600 for each of the streams. */
const MOST = 4_000;

Deno.test("an event on each of many streams at once leaves no stream with a buffer for writes", async () => {
  const held = await runWithGc<number>("burst_streams.ts");
  assert.ok(held < MOST, `${held} bytes of a stream`);
});
