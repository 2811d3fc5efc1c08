/**
 * Bodies that a backend sends where none may be (RFC 9112 §6.3), and a client that has its next
 * request ready. The proxy is a process of its own here: in one with its backend, the two writes
 * would always be read as one.
 */
import assert from "node:assert/strict";
import { Backend, Peer, reply } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";

const VICTIM = "GET /victim HTTP/1.1\r\nHost: a.test\r\n\r\n";

for (
  const [name, method, answer] of [
    ["a body after the response to HEAD", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n"],
    ["a body behind 204", "GET", "HTTP/1.1 204 No Content\r\n\r\n"],
    ["a body behind 304", "GET", "HTTP/1.1 304 Not Modified\r\n\r\n"],
  ] as const
) {
  Deno.test(`${name} is never part of another response`, async () => {
    await using backend = new Backend(async (peer) => {
      for (let message; (message = await peer.request()) !== null;) {
        if (message.head.includes("/victim ")) await peer.send(reply("ok"));
        else {
          await peer.send(answer);
          await peer.send(reply("evil"));
        }
      }
    });
    await using proxy = await ProxyProcess.start({
      snapshot: snapshotOf([backend.port]),
      args: ["--workers=1", "--allow-loopback-upstreams"],
    });
    for (let i = 0; i < 60; i++) {
      using client = await Peer.connect(proxy.httpPort);
      await client.send(`${method} / HTTP/1.1\r\nHost: a.test\r\n\r\n${VICTIM}`);
      await client.answer(method === "HEAD" ? "response to HEAD" : "response");
      assert.equal((await client.answer()).body, "ok");
    }
  });
}
