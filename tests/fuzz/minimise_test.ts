import assert from "node:assert/strict";
import { bytesOf, textOf } from "../support/latin1.ts";
import { minimise } from "./minimise.ts";
import { mutate } from "./mutation.ts";
import { Random } from "./random.ts";

Deno.test("minimising keeps the relevant parts and nothing else", async () => {
  const small = await minimise(
    bytesOf("some bytes X, more of them Y and a tail"),
    (streams) => Promise.resolve(streams.map((stream) => /X.*Y/.test(textOf(stream)))),
  );
  assert.equal(textOf(small), "XY");
});

Deno.test("the same seed gives the same mutations", () => {
  const streams = ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "1\r\nx\r\n0\r\n\r\n"].map(bytesOf);
  const mutations = (seed: number) => {
    const random = new Random(seed);
    return Array.from({ length: 200 }, () => textOf(mutate(streams[0], random, streams)));
  };
  assert.deepEqual(mutations(7), mutations(7));
  assert.notDeepEqual(mutations(7), mutations(8));
});
