/**
 * Requests whose empty body ends apart from its head, as some clients of HTTP/2 send all of theirs:
 * they are sent again like those that end on their head.
 */
import assert from "node:assert/strict";
import { Backend, reply } from "../support/backend.ts";
import { CODE, data, get, goAway, headers, post, rstStream } from "../support/h2_frames.ts";
import { answerOk, H2Backend, H2Peer } from "../support/h2_peer.ts";
import { H2UpstreamProxy } from "../support/h2_upstream.ts";
import { TestProxy } from "../support/test_proxy.ts";

const ENDS: readonly (readonly [string, (stream: number) => Uint8Array])[] = [
  ["an empty DATA", (stream) => data(stream, "", { end: true })],
  ["trailers", (stream) => headers(stream, [["x-sum", "0"]], { end: true })],
];

for (const [says, end] of ENDS) {
  for (
    const [refusal, frame] of [
      ["REFUSED_STREAM", rstStream(1, CODE.REFUSED_STREAM)],
      ["GOAWAY", goAway(0)],
    ] as const
  ) {
    Deno.test(`a POST that ends with ${says} is retried after ${refusal}`, async () => {
      await using backend = new H2Backend(async (peer, index) => {
        if (index === 0) {
          await peer.until("the request", () => peer.stream(1).over);
          peer.stream(1).reset = CODE.REFUSED_STREAM;
          await peer.send(frame);
        }
        await answerOk(peer);
      });
      using proxy = new H2UpstreamProxy([backend.port], { server: { h2c: true } });
      await using peer = await H2Peer.connect(proxy.port);
      await peer.send(headers(1, post("/")), end(1));
      assert.equal((await peer.answer(1)).status, 200);
    });
  }

  Deno.test(`a GET that ends with ${says} is retried if an idle connection closes`, async () => {
    let asked = 0;
    await using backend = new Backend(async (peer) => {
      // The second request comes by the connection of the first, and meets its end.
      while (await peer.request() !== null && ++asked !== 2) await peer.send(reply("ok"));
    });
    using proxy = new TestProxy([backend.port], {}, { h2c: true });
    await using peer = await H2Peer.connect(proxy.port);
    assert.equal((await peer.ask()).status, 200);
    await peer.send(headers(3, get("/")), end(3));
    assert.equal((await peer.answer(3)).status, 200);
    assert.equal(asked, 3);
  });
}
