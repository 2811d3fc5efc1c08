/** What connections that have ended keep in memory, until all of it is looked through. */
import assert from "node:assert/strict";
import { join } from "node:path";

const PROGRAM = join(import.meta.dirname!, "..", "support", "retained_connections.ts");

/** In bytes: those of Deno's own are some 300 to 600, a connection with its exchange has 5,400. */
const MOST = 3_000;

Deno.test("connections that have ended are freed by collections of the young generation", async () => {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--no-check", "--quiet", "--v8-flags=--expose-gc", PROGRAM],
  }).output();
  const text = new TextDecoder();
  assert.equal(code, 0, text.decode(stderr));
  const retained: number[] = JSON.parse(text.decode(stdout));
  const [, , median] = retained.toSorted((a, b) => a - b);
  assert.ok(median < MOST, `${median} bytes of a connection, of ${retained.join()}`);
});
