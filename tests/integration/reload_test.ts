/** Reloads of the whole process under load; `deno task soak:reload` does the same a thousand times. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { runReloads } from "../soak/reloads.ts";
import { Backend, Peer, statusOf } from "../support/backend.ts";
import { MountedVolume } from "../support/mounted_volume.ts";
import type { Publish } from "../support/proxy_process.ts";
import { snapshotOf, TestProxy } from "../support/test_proxy.ts";

/** Ways in which a configuration reaches the folder that is watched. */
function asVolume(): Publish {
  let volume: MountedVolume | null = null;
  return (folder, text) => {
    volume ??= new MountedVolume(folder);
    volume.publish({ "snapshot.json": text });
  };
}

function inPlace(folder: string, text: string): void {
  Deno.writeTextFileSync(join(folder, "snapshot.json"), text);
}

const CASES: readonly [says: string, workers: number, publish: Publish | undefined][] = [
  ["in one event loop, from a file that is renamed", 1, undefined],
  ["in two workers, from a mounted ConfigMap", 2, asVolume()],
  ["in one event loop, from a file that is written in place", 1, inPlace],
];

for (const [says, workers, publish] of CASES) {
  Deno.test(`no request fails and no connection closes over reloads ${says}`, async () => {
    const report = await runReloads({ reloads: 16, workers, publish, routes: 100 });
    assert.deepEqual(report.failures, []);
    assert.equal(report.closed, 0);
    assert.equal(report.applied, 16);
    assert.equal(report.refused, 2);
    const { requests, handshakes, frames } = report;
    assert.ok(requests > 100 && handshakes > 10 && frames > 50, "there was a load");
  });
}

Deno.test("pooled connections to an endpoint survive changes around it", async () => {
  await using backend = new Backend();
  await using other = new Backend();
  using proxy = new TestProxy([backend.port]);
  using client = await Peer.connect(proxy.port);
  const ask = async () => statusOf(await client.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"));
  assert.equal(await ask(), 200);
  for (
    const endpoints of [[backend.port, other.port], [backend.port], [other.port, backend.port]]
  ) {
    proxy.server.apply(snapshotOf(endpoints));
    assert.deepEqual([await ask(), await ask()], [200, 200]);
  }
  assert.equal(backend.accepted, 1);
});
