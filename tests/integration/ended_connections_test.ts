/** What connections that have ended keep in memory, until all of it is looked through. */
import assert from "node:assert/strict";
import { runWithGc } from "../support/gc_program.ts";

/** In bytes: those of Deno's own are some 300 to 600, a connection with its exchange has 5,400. */
const MOST = 3_000;

Deno.test("connections that have ended are freed by collections of the young generation", async () => {
  const retained = await runWithGc<number[]>("retained_connections.ts");
  const [, , median] = retained.toSorted((a, b) => a - b);
  assert.ok(median < MOST, `${median} bytes of a connection, of ${retained.join()}`);
});
