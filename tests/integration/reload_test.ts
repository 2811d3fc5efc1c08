/** Reloads of the whole process under load; `deno task soak:reload` does the same a thousand times. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { runReloads } from "../soak/reloads.ts";
import { MountedVolume } from "../support/mounted_volume.ts";
import type { Publish } from "../support/proxy_process.ts";

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
