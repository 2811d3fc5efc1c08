import assert from "node:assert/strict";
import { compareHosts } from "./host_order.ts";

Deno.test("exact hosts come before wildcards, and any host comes last", () => {
  const ordered = ["a.test", "b.a.test", "b.test", "*.a.test", "*.b.test", "*"];
  assert.deepEqual(ordered.toReversed().sort(compareHosts), ordered);
  assert.equal(compareHosts("*", "*"), 0);
  assert.equal(compareHosts("a.test", "a.test"), 0);
});
