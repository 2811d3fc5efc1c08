/** What a mistake of the proxy's own in an exchange does: it ends that one's connection alone. */
import assert from "node:assert/strict";
import { Backend, Peer, playOk, reply, statusOf } from "../support/backend.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { TestProxy } from "../support/test_proxy.ts";

const REQUEST = "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n";

const quiet = () => {};
const warn = () => {
  throw new Error("a mistake");
};
const LOG = { debug: quiet, info: quiet, warn, error: quiet };

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
    using proxy = new TestProxy([backend.port], {}, { log: LOG });
    using client = await Peer.connect(proxy.port);
    assert.equal(statusOf(await client.ask(REQUEST)), 200);
    await client.send(REQUEST);
    assert.notEqual(await client.ended(), "");
    using other = await Peer.connect(proxy.port);
    assert.equal(statusOf(await other.ask(REQUEST)), 200);
  });
}

Deno.test("a request that an internal error ends is counted and logged, and active no longer", async () => {
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send("nonsense\r\n\r\n");
  });
  using observed = new ObservedProxy([backend.port], { server: { log: LOG } });
  using client = await Peer.connect(observed.port);
  await client.send(REQUEST);
  await client.ended();
  await using other = await H2Peer.connect(observed.port);
  await other.ask();
  assert.deepEqual((await observed.lines()).map(({ version }) => version), ["1.1", "2"]);
  const series = await observed.series();
  assert.equal(series.get("pingress_requests_active"), undefined);
  const counted = [...series].filter(([name]) => name.startsWith("pingress_requests_total"));
  assert.deepEqual(counted.map(([, count]) => count), [1, 1]);
});
