import assert from "node:assert/strict";
import { readCorpus } from "./corpus.ts";
import { FrameFuzzer } from "./frame_fuzzer.ts";

Deno.test("stored HTTP/2 streams end correctly, in both roles", async () => {
  const count = readCorpus("http2_clients").length + readCorpus("http2_backends").length;
  const { inputs, failures } = await new FrameFuzzer(1, false).run(0);
  assert.deepEqual(failures, []);
  assert.equal(inputs, count);
});

Deno.test("mutated HTTP/2 streams end correctly, in both roles", async () => {
  const { exchanges, ends, failures } = await new FrameFuzzer(2, false).run(Infinity, 400);
  assert.deepEqual(failures, []);
  assert(exchanges > 400, `${exchanges} exchanges`);
  assert(ends > 50, `${ends} different ends`);
});
