/** A published configuration in a mounted volume: complete, incomplete, damaged, and swapped. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { gzipSync } from "node:zlib";
import { type LayoutOptions, layPublishedSet } from "../../controller/outputs/publish/layout.ts";
import { sha256Of } from "../../shared/snapshot/published_set.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { serialiseIndex, serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import { MountedVolume } from "../../tests/support/mounted_volume.ts";
import { largeSnapshot, toFiles } from "../../tests/support/published_scene.ts";
import { config, meanwhile, type Scene, scene, until } from "../../tests/support/source_scene.ts";
import { MAX_CONFIG_FILE } from "./config_file.ts";
import type { FileSourceOptions } from "./file_source.ts";

type Files = Record<string, Uint8Array | string>;

function files(snapshot: Snapshot, options?: LayoutOptions): Files {
  return toFiles(layPublishedSet(snapshot, options));
}

function without(set: Files, name: string): Files {
  const { [name]: _, ...rest } = set;
  return rest;
}

function keyNames(set: Files): string[] {
  return Object.keys(set).filter((name) => name.length === 64);
}

const SMALL = largeSnapshot({ routes: 3, certificates: 3 });
// Chains as long as those of 800 certificates, and an eighth of the files: making these, again and
// again, is what takes the time.
const SIZE = { routes: 300, certificates: 100, chainBytes: 12_800 };
const LARGE = largeSnapshot(SIZE);
const LATER = largeSnapshot({ ...SIZE, seed: 2, seen: "2" });

function revealed(snapshot: Snapshot): string {
  return serialiseSnapshot(snapshot, { revealKeys: true });
}

/** A scene on a mounted volume; polled, so that it does not hang on when the watch begins. */
async function mounted(
  first: Files | null,
  run: (scene: Scene & { volume: MountedVolume; counts: Counts }) => Promise<void>,
  options: Partial<FileSourceOptions> = {},
): Promise<void> {
  const made: MountedVolume[] = [];
  const counts: Counts = { refused: 0, none: [] };
  await scene(
    (folder) => {
      made.push(new MountedVolume(folder));
      if (first !== null) made[0].publish(first);
    },
    (scene) => run({ ...scene, volume: made[0], counts }),
    () => ({
      poll: 10,
      onRefused: () => counts.refused++,
      onNone: (reason) => counts.none.push(reason),
      ...options,
    }),
  );
}

interface Counts {
  refused: number;
  none: string[];
}

Deno.test("a published configuration is read completely, with its keys", async (t) => {
  const cases: [says: string, snapshot: Snapshot, options?: LayoutOptions][] = [
    ["one file", SMALL],
    ["parts", LARGE],
    ["parts of any number", LARGE, { slots: [4, 2] }],
  ];
  for (const [says, snapshot, options] of cases) {
    await t.step(
      says,
      () =>
        mounted(files(snapshot, options), async ({ source, snapshots, events }) => {
          assert.equal((await source.load()).ok, true);
          assert.equal(revealed(snapshots[0]), revealed(snapshot));
          assert.deepEqual(events, []);
        }),
    );
  }
});

Deno.test("each swap of the volume gives the next configuration, once", async () => {
  await mounted(files(SMALL), async ({ source, volume, snapshots, events }) => {
    await source.load();
    source.start();
    for (const next of [LARGE, LATER]) {
      volume.publish(files(next));
      await until(() => revealed(snapshots.at(-1)!) === revealed(next), "the next is in force");
    }
    await meanwhile();
    assert.equal(snapshots.length, 3);
    assert.deepEqual(events, []);
  });
});

Deno.test("missing parts and parts of another configuration are waited for, with one log line", async (t) => {
  const next = files(LATER);
  const before = files(LARGE);
  const [key] = keyNames(next);
  const cases: [says: string, incomplete: Files, lacks: RegExp][] = [
    ["a part", without(next, "proxy-v2-2.json"), /^proxy-v2-2\.json: it does not exist$/],
    [
      "a part of the one before",
      { ...next, "proxy-v2-1.json": before["proxy-v2-1.json"] },
      /^proxy-v2-1\.json: it is of another configuration, or damaged$/,
    ],
    [
      "parts of the next already, index of the one before",
      { ...next, "proxy-v2.json": before["proxy-v2.json"], "more": "x" },
      // It is in force, whatever else is in the folder.
      /^$/,
    ],
    [
      "a damaged part",
      { ...next, "proxy-v2-1.json": (next["proxy-v2-1.json"] as Uint8Array).slice(0, 1000) },
      /^proxy-v2-1\.json: it is of another/,
    ],
    [
      "a part and a key",
      without(without(next, "proxy-v2-1.json"), key),
      /^proxy-v2-1\.json: it does not/,
    ],
  ];
  for (const [says, incomplete, lacks] of cases) {
    await t.step(
      says,
      () =>
        mounted(before, async ({ source, volume, snapshots, events, counts }) => {
          await source.load();
          source.start();
          volume.publish(incomplete);
          if (lacks.source !== "^$") await until(() => events.length > 0, "it is told");
          await meanwhile();
          assert.equal(snapshots.length, 1, "the last good one stays");
          assert.equal(events.length, lacks.source === "^$" ? 0 : 1);
          volume.publish(next);
          await until(() => snapshots.length === 2, "the whole one is in force");
          assert.equal(revealed(snapshots[1]), revealed(LATER));
          if (lacks.source !== "^$") {
            assert.deepEqual(events, [
              "info Configuration is not complete yet, keeping the active one",
              "info Configuration is complete",
            ]);
          }
          assert.deepEqual(counts, { refused: 0, none: [] });
        }),
    );
  }
});

Deno.test("a missing or different key is waited for, also beside a complete single file", async () => {
  const before = largeSnapshot({ routes: 3 });
  const whole = files(SMALL);
  const [key, other] = keyNames(whole);
  for (const incomplete of [without(whole, key), { ...whole, [key]: whole[other] }]) {
    await mounted(files(before), async ({ source, volume, snapshots, events }) => {
      await source.load();
      source.start();
      volume.publish(incomplete);
      await until(() => events.length > 0, "it is told");
      await meanwhile();
      assert.equal(snapshots.length, 1);
      volume.publish(whole);
      await until(() => snapshots.length === 2, "the whole one is in force");
      assert.equal(revealed(snapshots[1]), revealed(SMALL));
    });
  }
});

Deno.test("keys in use need not be in the files again", async () => {
  const next = { ...SMALL, routes: SMALL.routes.slice(1) };
  await mounted(files(SMALL), async ({ source, volume, snapshots }) => {
    await source.load();
    source.start();
    const set = files(next);
    volume.publish({ "proxy-v2.json": set["proxy-v2.json"] });
    await until(() => snapshots.length === 2, "it is in force");
    assert.equal(revealed(snapshots[1]), revealed(next));
  });
});

Deno.test("at the start an incomplete configuration is waited for, and the reason is logged", async () => {
  const set = files(LARGE);
  await mounted(without(set, "proxy-v2-1.json"), async (scene) => {
    const { source, volume, snapshots, events, counts } = scene;
    const loaded = await source.load();
    assert.ok(!loaded.ok && loaded.waits);
    assert.match(
      loaded.message,
      /proxy\.json: \$: proxy-v2-1\.json: it does not exist; it is applied/,
    );
    assert.deepEqual(counts.none, ["proxy-v2-1.json: it does not exist"]);
    source.start();
    volume.publish(without(set, "proxy-v2-2.json"));
    await until(() => counts.none.at(-1)!.startsWith("proxy-v2-2.json"), "the next reason is told");
    volume.publish(set);
    await source.first;
    assert.equal(revealed(snapshots[0]), revealed(LARGE));
    assert.deepEqual(events, [
      "info Waiting for the configuration",
      "info Configuration is complete",
    ]);
    assert.equal(counts.refused, 0);
  });
});

Deno.test("at the start a missing file is waited for if a flag says so", async (t) => {
  for (const awaitFile of [true, false]) {
    await t.step(
      awaitFile ? "asked" : "not asked",
      () =>
        mounted(null, async ({ source, volume, snapshots, events, counts }) => {
          const loaded = await source.load();
          assert.ok(!loaded.ok);
          assert.equal(loaded.waits, awaitFile);
          assert.equal(counts.refused, awaitFile ? 0 : 1);
          if (!awaitFile) return;
          assert.deepEqual(counts.none, ["it does not exist"]);
          assert.deepEqual(events, ["info Waiting for the configuration"]);
          source.start();
          volume.publish(files(SMALL));
          await source.first;
          assert.equal(revealed(snapshots[0]), revealed(SMALL));
        }, { awaitFile }),
    );
  }
});

Deno.test("an invalid configuration during the wait for the first one is logged, and the wait continues", async () => {
  await mounted(null, async ({ source, volume, snapshots, events, counts }) => {
    await source.load();
    source.start();
    volume.publish({ "proxy-v2.json": "{" });
    await until(() => counts.refused === 1, "it is refused");
    assert.match(events[1], /^error Configuration rejected: the file is not JSON/);
    assert.match(counts.none.at(-1)!, /the file is not JSON/);
    volume.publish(files(SMALL));
    await source.first;
    assert.equal(snapshots.length, 1);
  }, { awaitFile: true });
});

Deno.test("a configuration that stays incomplete becomes an error, once, and counts as rejected", async () => {
  const before = files(LARGE);
  const next = files(LATER);
  await mounted(before, async ({ source, volume, events, counts, snapshots }) => {
    await source.load();
    source.start();
    volume.publish(without(next, "proxy-v2-1.json"));
    await until(() => counts.refused > 0, "it counts");
    await meanwhile();
    assert.deepEqual(events, [
      "info Configuration is not complete yet, keeping the active one",
      "error Configuration is still incomplete, keeping the active one",
    ]);
    assert.equal(counts.refused, 1);
    volume.publish(next);
    await until(() => snapshots.length === 2, "it is in force");
  }, { patience: 40 });
});

Deno.test("after a return to the active configuration nothing is missing any more", async () => {
  const before = files(LARGE);
  await mounted(before, async ({ source, volume, events, snapshots }) => {
    await source.load();
    source.start();
    volume.publish(without(files(LATER), "proxy-v2-1.json"));
    await until(() => events.length > 0, "it is waited for");
    volume.publish(before);
    await until(() => events.length > 1, "it is back");
    assert.equal(events[1], "info Configuration is complete");
    assert.equal(snapshots.length, 1);
  });
});

Deno.test("a complete but invalid set is rejected with the reason", async (t) => {
  const part = (bytes: Uint8Array, text: string): Files => ({
    "proxy-v2-1.json": bytes,
    "proxy-v2.json": serialiseIndex(SMALL, {
      sha256: sha256Of(text),
      parts: [{ path: "proxy-v2-1.json", sha256: sha256Of(bytes) }],
      keys: [],
    }),
  });
  const text = serialiseSnapshot(largeSnapshot({ routes: 1 }), { revealKeys: false });
  const packed = gzipSync(text);
  const cases: [says: string, set: Files, problem: RegExp][] = [
    ["gzip cut short", part(packed.subarray(0, 50), text), /: it is gzip that cannot be unpacked/],
    ["another text", part(packed, "another"), /: its parts are .* but make up another text$/],
    ["no JSON", part(gzipSync("{"), "{"), /: the file is not JSON/],
    ["not UTF-8", part(Uint8Array.of(0xff), "x"), /: it is not UTF-8 text$/],
    ["a part that is elsewhere", {
      "proxy-v2.json": serialiseIndex(SMALL, {
        sha256: sha256Of("x"),
        parts: [{ path: "../proxy-v2-1.json", sha256: sha256Of("x") }],
        keys: [],
      }),
    }, /: it is not the name of a file in the same folder$/],
    [
      "a bomb",
      part(gzipSync(Buffer.alloc(MAX_CONFIG_FILE + 1)), "x"),
      /: it has more than \d+ byt/,
    ],
    [
      "a bomb in one file",
      { "proxy-v2.json": gzipSync(Buffer.alloc(MAX_CONFIG_FILE + 1)) },
      /: it has more than 268435456 bytes when it is unpacked$/,
    ],
  ];
  for (const [says, set, problem] of cases) {
    await t.step(says, () =>
      mounted(set, async ({ source, events, counts }) => {
        const loaded = await source.load();
        assert.ok(!loaded.ok && !loaded.waits);
        assert.match(events[0], problem);
        assert.equal(counts.refused, 1);
      }));
  }
});

Deno.test("a single gzip file is decompressed and read", async () => {
  const whole = files(SMALL);
  const texts: Files[] = [
    { ...whole, "proxy-v2.json": gzipSync(whole["proxy-v2.json"]) },
    { "proxy.json": gzipSync(config("old.test")) },
  ];
  for (const set of texts) {
    await mounted(set, async ({ source, snapshots }) => {
      assert.equal((await source.load()).ok, true);
      assert.ok(snapshots[0].routes.length > 0);
    });
  }
});

Deno.test("the old proxy.json can replace a published configuration, and be replaced by one", async () => {
  await mounted({ "proxy.json": config("old.test") }, async ({ source, volume, hosts, events }) => {
    await source.load();
    source.start();
    volume.publish(files(LARGE));
    await until(() => hosts.length === 2, "the set is in force");
    volume.publish({ "proxy.json": config("back.test") });
    await until(() => hosts.at(-1) === "back.test", "the old format is");
    assert.deepEqual(events, []);
  });
});

Deno.test("no key appears in the log", async () => {
  const whole = files(SMALL);
  const [key] = keyNames(whole);
  await mounted({ ...whole, [key]: "-----BEGIN PRIVATE KEY-----" }, async (scene) => {
    const loaded = await scene.source.load();
    const said = JSON.stringify([loaded, scene.events, scene.counts]);
    assert.ok(!said.includes("PRIVATE"));
    assert.ok(said.includes(key), "its file is named");
  });
});
