/**
 * Bodies of HTTP/2 on their way to a backend of HTTP/1.1: however they come, the backend finds their
 * end, or else it takes what follows for another request.
 */
import assert from "node:assert/strict";
import { Backend, reply } from "../support/backend.ts";
import { data, type Field, headers, join, post } from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { TestProxy } from "../support/test_proxy.ts";
import type { WireMessage } from "../support/wire_message.ts";

const BODY = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a.test\r\n\r\n";

/** What a backend of HTTP/1.1 receives when these frames come in one read; `{stream}` is theirs. */
async function receivedFor(frames: (stream: number) => Uint8Array): Promise<WireMessage[]> {
  const received: WireMessage[] = [];
  await using backend = new Backend(async (peer) => {
    for (;;) {
      const message = await peer.request();
      if (message === null) return;
      received.push(message);
      await peer.send(reply("ok"));
    }
  });
  using proxy = new TestProxy([backend.port]);
  await using peer = await H2Peer.connect(proxy.port);
  const stream = peer.nextStream();
  await peer.send(frames(stream));
  assert.equal((await peer.answer(stream)).body, "ok");
  // Whatever has been left over goes before it.
  assert.equal((await peer.ask("/next")).body, "ok");
  return received;
}

for (const type of ["application/grpc", "application/grpc-web+proto", "text/plain"]) {
  for (const length of [null, String(BODY.length)]) {
    const how = length === null ? "of unknown length" : "whose length is said";
    Deno.test(`a body of ${type} ${how} is not parsed as another request`, async () => {
      const fields: Field[] = [["content-type", type]];
      if (length !== null) fields.push(["content-length", length]);
      const received = await receivedFor((stream) =>
        join(headers(stream, post("/", fields)), data(stream, BODY, { end: true }))
      );
      assert.deepEqual(received.map(({ head }) => head.split(" ")[1]), ["/", "/next"]);
      assert.equal(received[0].body, BODY);
    });
  }
}

for (const type of ["application/grpc", "text/plain"]) {
  Deno.test(`trailers without a body, of ${type}, end a chunked body, and are dropped`, async () => {
    const received = await receivedFor((stream) =>
      join(
        headers(stream, post("/", [["content-type", type]])),
        headers(stream, [["x-sum", "1"]], { end: true }),
      )
    );
    assert.deepEqual(received.map(({ head }) => head.split(" ")[1]), ["/", "/next"]);
    assert.deepEqual([received[0].body, received[0].trailers], ["", ""]);
  });
}
