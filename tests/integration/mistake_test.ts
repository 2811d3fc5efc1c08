/** What a mistake of the proxy's own in an exchange does: it ends that one's connection alone. */
import assert from "node:assert/strict";
import { Backend, Peer, playOk, reply, statusOf } from "../support/backend.ts";
import { TestProxy } from "../support/test_proxy.ts";

const REQUEST = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n";

for (
  const [where, answer] of [
    ["while it replies for a backend", "nonsense\r\n\r\n"],
    ["during a response", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nbegun"],
    ["after an interim response", "HTTP/1.1 103 Early Hints\r\n\r\nnonsense\r\n\r\n"],
  ] as const
) {
  Deno.test(`an internal error ${where} ends its client's connection, and no other`, async () => {
    await using backend = new Backend(async (peer, index) => {
      if (index > 0) return await playOk(peer);
      await peer.request();
      await peer.send(reply("ok"));
      await peer.request();
      await peer.send(answer);
    });
    const quiet = () => {};
    const warn = () => {
      throw new Error("a mistake");
    };
    const log = { debug: quiet, info: quiet, warn, error: quiet };
    using proxy = new TestProxy([backend.port], {}, { log });
    using client = await Peer.connect(proxy.port);
    assert.equal(statusOf(await client.ask(REQUEST)), 200);
    await client.send(REQUEST);
    assert.notEqual(await client.ended(), "");
    using other = await Peer.connect(proxy.port);
    assert.equal(statusOf(await other.ask(REQUEST)), 200);
  });
}
