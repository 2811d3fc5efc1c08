/** What a name may not stand for comes with the snapshot, and changes without a restart. */
import assert from "node:assert/strict";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { Backend, Peer, statusOf } from "../support/backend.ts";
import { snapshotOf, TestProxy } from "../support/test_proxy.ts";

const GET = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";

/** With an upstream by name, beside what may not be dialled. */
function byName(port: number, denied?: readonly string[]): Snapshot {
  const snapshot = snapshotOf([port]);
  return {
    ...snapshot,
    upstreams: snapshot.upstreams.map((one) => ({
      ...one,
      addresses: { kind: "dns", name: "localhost", port },
    })),
    ...(denied === undefined ? {} : { denied }),
  };
}

Deno.test("a name that resolves to denied addresses responds with 503, from one snapshot to the next", async () => {
  await using backend = new Backend();
  // Without listed endpoints, which would serve until the name is resolved.
  using proxy = new TestProxy([]);
  const ask = async () => {
    using client = await Peer.connect(proxy.port);
    return statusOf(await client.ask(GET));
  };
  proxy.server.apply(byName(backend.port));
  assert.equal(await ask(), 200);
  proxy.server.apply(byName(backend.port, ["127.0.0.0/8", "::1"]));
  assert.equal(await ask(), 503);
  proxy.server.apply(byName(backend.port, ["192.0.2.1"]));
  assert.equal(await ask(), 200);
});

Deno.test("addresses of endpoints are checked by the controller only: a pod may be on a node", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([backend.port]);
  proxy.server.apply({ ...snapshotOf([backend.port]), denied: ["127.0.0.1"] });
  using client = await Peer.connect(proxy.port);
  assert.equal(statusOf(await client.ask(GET)), 200);
});
