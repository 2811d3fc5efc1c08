/** What open streams keep in memory after events on all of them at once. */
import assert from "node:assert/strict";
import { join } from "node:path";

const PROGRAM = join(import.meta.dirname!, "..", "support", "burst_streams.ts");

/** In bytes: the 64 buffers that are kept for writes are 2,600 for each of the streams. */
const MOST = 4_000;

Deno.test("an event on each of many streams at once leaves no stream with a buffer for writes", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--no-check", "--quiet", "--v8-flags=--expose-gc", PROGRAM],
  }).output();
  const text = new TextDecoder();
  assert.equal(code, 0, text.decode(stderr));
  const held = Number(text.decode(stdout));
  assert.ok(held < MOST, `${held} bytes of a stream`);
});
