/** Mounted volumes, several watched folders, and file systems that tell of no change. */
import assert from "node:assert/strict";
import { MountedVolume } from "../../tests/support/mounted_volume.ts";
import { begin, config, meanwhile, scene, until } from "../../tests/support/source_scene.ts";

/** A configuration whose certificate stands in these folders' `tls.crt` and `tls.key`. */
function withCertificateIn(folder: string): string {
  return config("a", { cert: `${folder}/tls.crt`, key: `${folder}/tls.key` });
}

function pair(version: string): Record<string, string> {
  return { "tls.crt": `chain ${version}`, "tls.key": `key ${version}` };
}

/** Publishes until the first change is seen, since the watch may not have begun. */
async function untilWatched(
  volume: MountedVolume,
  versions: () => Record<string, string>,
  isSeen: () => boolean,
): Promise<void> {
  let next = 0;
  await until(() => {
    if (isSeen()) return true;
    if (next++ % 20 === 0) volume.publish(versions());
    return false;
  }, "the folder is watched");
}

Deno.test("a mounted ConfigMap is followed over many swaps, and each is read once", async () => {
  let volume: MountedVolume | null = null;
  const prepare = (folder: string) => {
    volume = new MountedVolume(folder);
    volume.publish({ "proxy.json": config("a") });
  };
  await scene(prepare, async ({ source, hosts, events }) => {
    await source.load();
    source.start();
    let version = 0;
    const next = () => ({ "proxy.json": config(`h${++version}`) });
    await untilWatched(volume!, next, () => hosts.length > 1);
    await meanwhile();
    hosts.length = 0;
    for (const host of ["b", "c", "d"]) {
      volume!.publish({ "proxy.json": config(host), "another": host });
      await until(() => hosts.at(-1) === host, `${host} is served`);
    }
    await meanwhile();
    assert.deepEqual(hosts, ["b", "c", "d"]);
    assert.deepEqual(events, []);
  });
});

Deno.test("the swap of a mounted Secret gives the same snapshot again", async () => {
  const secret = new MountedVolume(Deno.makeTempDirSync());
  try {
    secret.publish(pair("1"));
    const prepare = (folder: string) =>
      Deno.writeTextFileSync(`${folder}/proxy.json`, withCertificateIn(secret.folder));
    await scene(prepare, async ({ source, snapshots, events }) => {
      await source.load();
      source.start();
      let version = 1;
      await untilWatched(secret, () => pair(`${++version}`), () => snapshots.length > 1);
      await meanwhile();
      const before = snapshots.length;
      secret.publish(pair("the last"));
      await until(() => snapshots.length > before, "it is noticed");
      await meanwhile();
      assert.equal(snapshots.length, before + 1);
      assert.equal(new Set(snapshots).size, 1);
      assert.deepEqual(events, []);
    }, () => ({ watch: [secret.folder] }));
  } finally {
    Deno.removeSync(secret.folder, { recursive: true });
  }
});

Deno.test("each of several watched folders is followed, including one that is created later", async () => {
  const folders = [Deno.makeTempDirSync(), Deno.makeTempDirSync()];
  const [there, late] = folders.map((folder) => `${folder}/certificates`);
  try {
    Deno.mkdirSync(there);
    Deno.writeTextFileSync(`${there}/tls.crt`, "1");
    const prepare = (folder: string) => {
      const text = config("a", { cert: `${there}/tls.crt`, key: `${late}/tls.key` });
      Deno.writeTextFileSync(`${folder}/proxy.json`, text);
    };
    await scene(prepare, async ({ source, snapshots, events }) => {
      await source.load();
      source.start();
      await until(() => events.length > 0, "the missing folder is said");
      assert.deepEqual(events, [
        "warn Cannot watch folder, polling instead: the folder does not exist or cannot be read",
      ]);
      for (const file of [`${there}/tls.crt`, `${late}/tls.key`]) {
        if (file.startsWith(late)) Deno.mkdirSync(late);
        const before = snapshots.length;
        let content = "1";
        await until(() => {
          Deno.writeTextFileSync(file, content += "1");
          return snapshots.length > before;
        }, `${file} is noticed`);
      }
      assert.equal(events.length, 1, "it is said once");
    }, () => ({ watch: [there, late], poll: 20 }));
  } finally {
    for (const folder of folders) Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("a change without a file system event is found by polling", async (t) => {
  const elsewhere = Deno.makeTempDirSync();
  // The system tells of a change in the folder through which it is made, and in no other.
  await t.step("of the configuration", () =>
    scene((folder) => {
      Deno.writeTextFileSync(`${elsewhere}/real.json`, config("a"));
      Deno.linkSync(`${elsewhere}/real.json`, `${folder}/proxy.json`);
    }, async ({ source, hosts }) => {
      await source.load();
      source.start();
      await meanwhile();
      Deno.writeTextFileSync(`${elsewhere}/real.json`, config("b"));
      await until(() => hosts.at(-1) === "b", "b is served");
    }, () => ({ poll: 20 })));
  await t.step("of a certificate's file in a watched folder", () =>
    scene((folder) => {
      Deno.mkdirSync(`${folder}/certificates`);
      for (const name of ["tls.crt", "tls.key"]) {
        Deno.writeTextFileSync(`${elsewhere}/${name}`, "1");
        Deno.linkSync(`${elsewhere}/${name}`, `${folder}/certificates/${name}`);
      }
      Deno.writeTextFileSync(`${folder}/proxy.json`, withCertificateIn("certificates"));
    }, async ({ source, snapshots }) => {
      await source.load();
      source.start();
      await meanwhile();
      const before = snapshots.length;
      Deno.writeTextFileSync(`${elsewhere}/tls.key`, "another");
      await until(() => snapshots.length > before, "it is noticed");
    }, (folder) => ({ watch: [`${folder}/certificates`], poll: 20 })));
  Deno.removeSync(elsewhere, { recursive: true });
});

Deno.test("a certificates' folder that is deleted and recreated is watched again", async () => {
  const prepare = (folder: string) => {
    Deno.mkdirSync(`${folder}/certificates`);
    Deno.writeTextFileSync(`${folder}/certificates/tls.crt`, "1");
    Deno.writeTextFileSync(`${folder}/certificates/tls.key`, "1");
    Deno.writeTextFileSync(`${folder}/proxy.json`, withCertificateIn("certificates"));
  };
  await scene(prepare, async ({ folder, source, snapshots }) => {
    await source.load();
    source.start();
    for (const round of [1, 2]) {
      const before = snapshots.length;
      let content = `${round}`;
      await until(() => {
        Deno.writeTextFileSync(`${folder}/certificates/tls.key`, content += "x");
        return snapshots.length > before;
      }, "a change is noticed");
      const there = snapshots.length;
      Deno.removeSync(`${folder}/certificates`, { recursive: true });
      await until(() => snapshots.length > there, "it is missed");
      Deno.mkdirSync(`${folder}/certificates`);
    }
  }, (folder) => ({ watch: [`${folder}/certificates`], poll: 20 }));
});

Deno.test("a file that is written slowly is rejected with one log line, and applied once complete", async () => {
  let refused = 0;
  await scene(
    (folder) => Deno.writeTextFileSync(`${folder}/proxy.json`, config("a")),
    async (scene) => {
      const { folder, hosts, events } = scene;
      await begin(scene);
      const whole = config("b");
      for (let end = 20; end < 100; end += 10) {
        const before = refused;
        Deno.writeTextFileSync(`${folder}/proxy.json`, whole.slice(0, end));
        await until(() => refused > before, "it is refused");
      }
      Deno.writeTextFileSync(`${folder}/proxy.json`, whole);
      await until(() => hosts.length > 0, "the whole one is served");
      assert.deepEqual(hosts, ["b"]);
      assert.equal(refused, 8, "all are counted");
      const [refusal, ...more] = events;
      assert.match(
        refusal,
        /^error Configuration rejected, keeping the active one: .*end/,
      );
      assert.deepEqual(more, ["info Configuration is readable again"]);
    },
    () => ({ refusalInterval: 3_600_000, onRefused: () => refused++ }),
  );
});

Deno.test("the final error is logged, even after many earlier ones", async () => {
  await scene(
    (folder) => Deno.writeTextFileSync(`${folder}/proxy.json`, config("a")),
    async (scene) => {
      await begin(scene);
      let refused = 0;
      for (const text of ["{", "[1]"]) {
        Deno.writeTextFileSync(`${scene.folder}/proxy.json`, text);
        await until(() => scene.events.length > refused, `${text} is refused`);
        refused = scene.events.length;
      }
      assert.match(scene.events.at(-1)!, /an object is needed, not an array/);
    },
    () => ({ refusalInterval: 100 }),
  );
});

Deno.test("a part that stays invalid over many changes is logged once", async () => {
  const withBadPart = (host: string) => {
    const { rules } = JSON.parse(config(host));
    return JSON.stringify({ rules: [...rules, { host: "x" }] });
  };
  await scene(
    (folder) => Deno.writeTextFileSync(`${folder}/proxy.json`, config("a")),
    async (scene) => {
      await begin(scene);
      for (const host of ["b", "c", "d"]) {
        Deno.writeTextFileSync(`${scene.folder}/proxy.json`, withBadPart(host));
        await until(() => scene.hosts.at(-1) === host, `${host} is served`);
      }
      assert.equal(scene.events.length, 1);
      assert.match(scene.events[0], /^error Configuration has a bad part: the rule has no path/);
    },
  );
});
