import assert from "node:assert/strict";
import { HpackFuzzer } from "./hpack_fuzzer.ts";
import { Random } from "./random.ts";

Deno.test("mutated header blocks are decoded as by a simple decoder", () => {
  const { inputs, accepted, failures } = new HpackFuzzer(new Random(7541)).run(Infinity, 3_000);
  assert.deepEqual(failures, []);
  assert.equal(inputs, 3_000);
  assert(accepted > 1_000, `${accepted} blocks are no nonsense`);
});
