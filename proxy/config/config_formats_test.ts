/** Two formats in one mounted volume, as an upgrade and a rollback show them to a proxy. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { layPublishedSet } from "../../controller/outputs/publish/layout.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import { format1Set } from "../../tests/support/format1_set.ts";
import { MountedVolume } from "../../tests/support/mounted_volume.ts";
import { filesOf, largeSnapshot, toFiles } from "../../tests/support/published_scene.ts";
import { scene, until } from "../../tests/support/source_scene.ts";
import { ConfigFormats, isMissing } from "./config_formats.ts";

const at = (seen: string): Snapshot => largeSnapshot({ routes: 3, certificates: 2, seen });
const format1 = (snapshot: Snapshot) => filesOf(format1Set(snapshot));
const format2 = (snapshot: Snapshot) => toFiles(layPublishedSet(snapshot));
const revealed = (snapshot: Snapshot) => serialiseSnapshot(snapshot, { revealKeys: true });

type Files = Record<string, Uint8Array>;

const CASES: readonly [says: string, files: Files, seen: string][] = [
  ["format 1 alone, before the controller is upgraded", format1(at("1")), "1"],
  ["format 2 alone, of a new installation", format2(at("2")), "2"],
  [
    "an older format 1 beside format 2, after an upgrade",
    { ...format1(at("1")), ...format2(at("2")) },
    "2",
  ],
  [
    "an older format 2 beside format 1, after a rollback",
    { ...format1(at("3")), ...format2(at("2")) },
    "3",
  ],
  [
    "a configuration of the controller in Rust beside format 2",
    { ...format2(at("2")), "proxy.json": new TextEncoder().encode('{"rules":[]}') },
    "2",
  ],
];

for (const [says, files, seen] of CASES) {
  Deno.test(`a proxy starts from the newer configuration: ${says}`, async () => {
    await scene(
      (folder) => new MountedVolume(folder).publish(files),
      async ({ source, snapshots, events }) => {
        assert.equal((await source.load()).ok, true);
        assert.deepEqual(snapshots.map(revealed), [revealed(at(seen))]);
        assert.deepEqual(events, []);
      },
    );
  });
}

Deno.test("a file is found while one format takes the place of the other", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const volume = new MountedVolume(folder);
    const sets = [format1(at("1")), format2(at("2"))];
    volume.publish(sets[0]);
    const formats = new ConfigFormats(join(folder, "proxy.json"));
    for (let i = 1; i <= 400; i++) {
      const reading = formats.read();
      // Each time somewhere else between the files that it looks at.
      for (let turns = i % 8; turns > 0; turns--) await new Promise(setImmediate);
      volume.publish(sets[i % 2]);
      assert.deepEqual([i, isMissing(await reading)], [i, false]);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a running proxy follows an upgrade and a rollback of the controller", async () => {
  const volumes: MountedVolume[] = [];
  await scene(
    (folder) => {
      volumes.push(new MountedVolume(folder));
      volumes[0].publish(format1(at("1")));
    },
    async ({ source, snapshots }) => {
      await source.load();
      source.start();
      const steps: readonly [format1: string, format2: string, seen: string][] = [
        ["1", "2", "2"],
        ["1", "3", "3"],
        ["4", "3", "4"],
        ["4", "5", "5"],
      ];
      for (const [earlier, current, seen] of steps) {
        volumes[0].publish({ ...format1(at(earlier)), ...format2(at(current)) });
        await until(() => snapshots.at(-1)!.version.seen.Ingress === seen, `version ${seen}`);
      }
    },
    () => ({ poll: 10 }),
  );
});

Deno.test("an unreadable file of format 2 is reported, even if format 1 is readable", async () => {
  const files = { ...format1(at("1")), "proxy-v2.json": new TextEncoder().encode("{") };
  await scene(
    (folder) => new MountedVolume(folder).publish(files),
    async ({ source, events }) => {
      const loaded = await source.load();
      assert.equal(loaded.ok, false);
      assert.match(events[0], /^error Configuration rejected: the file is not JSON/);
    },
  );
});

Deno.test("a file named by a flag is read alone, whatever is beside it", async () => {
  await scene(
    (folder) => {
      Deno.writeTextFileSync(`${folder}/mine.json`, '{"rules":[]}');
      new MountedVolume(folder).publish(format2(at("2")));
    },
    async ({ source, snapshots }) => {
      assert.equal((await source.load()).ok, true);
      assert.deepEqual(snapshots[0].routes, []);
    },
    (folder) => ({ file: `${folder}/mine.json` }),
  );
});
