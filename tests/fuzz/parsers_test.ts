import assert from "node:assert/strict";
import { readCorpus } from "./corpus.ts";
import { SplitFuzzer } from "./split.ts";

Deno.test("stored streams are parsed the same as a whole and in parts", async () => {
  const fuzzer = new SplitFuzzer(1);
  for (const { bytes } of readCorpus("requests")) await fuzzer.check(bytes, "request");
  for (const { bytes } of readCorpus("responses")) await fuzzer.check(bytes, "response");
  const { inputs, failures } = await fuzzer.run(0);
  assert.deepEqual(failures, []);
  assert.ok(inputs > 80, `${inputs} streams`);
});

Deno.test("mutated streams are parsed the same as a whole and in parts, and end", async () => {
  const { inputs, failures } = await new SplitFuzzer(2).run(Infinity, 5_000);
  assert.deepEqual(failures, []);
  assert.equal(inputs, 5_000);
});
