import assert from "node:assert/strict";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { begin, config, meanwhile, scene, until } from "../../tests/support/source_scene.ts";
import { readConfigFile } from "./config_file.ts";
import type { FileSourceOptions } from "./file_source.ts";

function write(name: string, text: string): (folder: string) => void {
  return (folder) => Deno.writeTextFileSync(`${folder}/${name}`, text);
}

Deno.test("the first read gives the snapshot", async () => {
  await scene(write("proxy.json", config("a.org")), async ({ source, hosts, events, folder }) => {
    const result = await source.load();
    assert.equal(result.ok && result.snapshot.routes[0].host, "a.org");
    assert.deepEqual(hosts, ["a.org"]);
    assert.deepEqual(events, []);
    assert.equal(source.folder, folder);
  });
});

Deno.test("a file that cannot be read at the start is an error that names file, place and remedy", async (t) => {
  const table: [says: string, prepare: (folder: string) => void, message: string][] = [
    ["no file", () => {}, "$: it does not exist; create it, or correct the path"],
    [
      "a folder in its place",
      (folder) => Deno.mkdirSync(`${folder}/proxy.json`),
      "$: it is a folder; name a file in it, such as proxy.json",
    ],
    [
      "a device in its place",
      (folder) => Deno.symlinkSync("/dev/zero", `${folder}/proxy.json`),
      "$: it is not a regular file; name one",
    ],
    [
      "bytes that are no text",
      (folder) => Deno.writeFileSync(`${folder}/proxy.json`, new Uint8Array([0x7b, 0xff, 0x7d])),
      "$: it is not UTF-8 text; write it as UTF-8",
    ],
    [
      "a half-written file",
      write("proxy.json", '{"rules": [\n'),
      "$: the file is not JSON: line 2, column 1: the text ends too early; write the rest of it; " +
      "to replace a file that is in use, write another and rename it",
    ],
    [
      "a bad part",
      write("proxy.json", '{"format": 2, "routes": [{"host": 5}]}'),
      '$.routes[0].host: a text is needed, not a number; write "…" here',
    ],
  ];
  for (const [says, prepare, message] of table) {
    await t.step(says, () =>
      scene(prepare, async ({ source, folder, hosts, events }) => {
        const result = await source.load();
        assert.ok(!result.ok);
        assert.equal(result.message, `configuration ${folder}/proxy.json: ${message}`);
        assert.match(events[0], /^error Configuration rejected: /);
        assert.equal(events.length, result.problems.length);
        assert.deepEqual(hosts, []);
      }));
  }
});

Deno.test({
  name: "a file that Deno may not read is an error that names the missing permission",
  permissions: { read: [] },
  fn: async () => {
    assert.deepEqual(await readConfigFile("/etc/hosts"), {
      ok: false,
      message: "Deno was started without the permission to read it",
      remedy: "add --allow-read=/etc/hosts",
      stamp: "",
      missing: false,
    });
  },
});

Deno.test("problems are logged one per line, and at most twenty", async () => {
  const rules = Array.from({ length: 30 }, (_, i) => ({ host: `h${i}` }));
  await scene(write("proxy.json", JSON.stringify({ rules })), async ({ source, events, hosts }) => {
    assert.equal((await source.load()).ok, true);
    assert.deepEqual(hosts, ["h0"]);
    assert.equal(events.length, 21);
    assert.equal(
      events[0],
      "error Configuration has a bad part: the rule has no path and is left out",
    );
    assert.equal(events[20], "warn Configuration has more problems");
  });
});

Deno.test("a file that is written in place is read again", async () => {
  await scene(write("proxy.json", config("a")), async (scene) => {
    await begin(scene);
    Deno.writeTextFileSync(`${scene.folder}/proxy.json`, config("b"));
    await until(() => scene.hosts.includes("b"), "b is served");
    assert.deepEqual(scene.hosts, ["b"]);
  });
});

Deno.test("a file that another is renamed over is read again", async () => {
  await scene(write("proxy.json", config("a")), async (scene) => {
    await begin(scene);
    for (const host of ["b", "c", "d"]) {
      Deno.writeTextFileSync(`${scene.folder}/.proxy.json.swp`, config(host));
      Deno.renameSync(`${scene.folder}/.proxy.json.swp`, `${scene.folder}/proxy.json`);
      await until(() => scene.hosts.includes(host), `${host} is served`);
    }
    assert.deepEqual(scene.hosts, ["b", "c", "d"]);
  });
});

Deno.test("the swap of a mounted ConfigMap's link is noticed", async () => {
  const publish = (folder: string, version: string, host: string) => {
    Deno.mkdirSync(`${folder}/..${version}`);
    Deno.writeTextFileSync(`${folder}/..${version}/proxy.json`, config(host));
    Deno.symlinkSync(`..${version}`, `${folder}/..data_tmp`);
    Deno.renameSync(`${folder}/..data_tmp`, `${folder}/..data`);
  };
  const prepare = (folder: string) => {
    publish(folder, "2026_1", "a");
    Deno.symlinkSync("..data/proxy.json", `${folder}/proxy.json`);
  };
  await scene(prepare, async (scene) => {
    const { folder, hosts, source } = scene;
    await source.load();
    source.start();
    // Until the first of these swaps is seen, the watch may not have begun.
    let version = 2;
    await until(() => {
      if (hosts.length < 2) publish(folder, `2026_${version}`, `b${version++}`);
      return hosts.length >= 2;
    }, "the folder is watched");
    publish(folder, "2026_last", "last");
    Deno.removeSync(`${folder}/..2026_1`, { recursive: true });
    await until(() => hosts.at(-1) === "last", "the last one is served");
  });
});

Deno.test("a half-written file leaves the active snapshot until it is complete", async () => {
  await scene(write("proxy.json", config("a")), async (scene) => {
    const { folder, hosts, events } = scene;
    await begin(scene);
    const whole = config("b");
    Deno.writeTextFileSync(`${folder}/proxy.json`, whole.slice(0, 50));
    await until(() => events.length > 0, "it is refused");
    Deno.writeTextFileSync(`${folder}/proxy.json`, whole);
    await until(() => hosts.length > 0, "the whole one is served");
    assert.deepEqual(hosts, ["b"]);
    assert.equal(
      events[0],
      "error Configuration rejected, keeping the active one: the file is not JSON: " +
        "line 1, column 51: the text ends too early",
    );
    assert.equal(events.at(-1), "info Configuration is readable again");
  });
});

Deno.test("a deleted file leaves the active snapshot, and is logged once", async () => {
  await scene(write("proxy.json", config("a")), async (scene) => {
    const { folder, hosts, events } = scene;
    await begin(scene);
    Deno.removeSync(`${folder}/proxy.json`);
    const gone = "error Configuration rejected, keeping the active one: it does not exist";
    await until(() => events.length > 0, "it is missed");
    await meanwhile();
    assert.deepEqual(events, [gone]);
    Deno.writeTextFileSync(`${folder}/proxy.json`, config("watched"));
    await until(() => events.length > 1, "it is back");
    await meanwhile();
    assert.deepEqual(events, [gone, "info Configuration is readable again"]);
    assert.deepEqual(hosts, []);
  }, () => ({ poll: 20 }));
});

Deno.test("a file that is touched or rewritten unchanged changes nothing", async () => {
  await scene(write("proxy.json", config("a")), async (scene) => {
    await begin(scene);
    Deno.writeTextFileSync(`${scene.folder}/proxy.json`, config("watched"));
    Deno.writeTextFileSync(`${scene.folder}/another`, "x");
    Deno.utimeSync(`${scene.folder}/proxy.json`, 1, 1);
    await meanwhile();
    assert.deepEqual(scene.hosts, []);
    assert.deepEqual(scene.events, []);
  }, () => ({ poll: 20 }));
});

Deno.test("a folder that is deleted and recreated is watched again", async () => {
  const prepare = (folder: string) => {
    Deno.mkdirSync(`${folder}/etc`);
    Deno.writeTextFileSync(`${folder}/etc/proxy.json`, config("a"));
  };
  await scene(prepare, async ({ folder, source, hosts, events }) => {
    await source.load();
    source.start();
    for (const host of ["b", "c"]) {
      Deno.removeSync(`${folder}/etc`, { recursive: true });
      await until(() => events.some((event) => event.startsWith("error")), "it is missed");
      Deno.mkdirSync(`${folder}/etc`);
      Deno.writeTextFileSync(`${folder}/etc/proxy.json`, config(host));
      await until(() => hosts.at(-1) === host, `${host} is served`);
      assert.ok(events.filter((event) => event.startsWith("warn")).length <= 1);
      events.length = 0;
    }
  }, (folder) => ({ file: `${folder}/etc/proxy.json`, poll: 20 }));
});

Deno.test("a link that changes to another folder is followed by polling", async () => {
  const prepare = (folder: string) => {
    Deno.mkdirSync(`${folder}/elsewhere`);
    Deno.writeTextFileSync(`${folder}/elsewhere/real.json`, config("a"));
    Deno.symlinkSync("elsewhere/real.json", `${folder}/proxy.json`);
  };
  await scene(prepare, async ({ folder, source, hosts }) => {
    await source.load();
    source.start();
    await meanwhile();
    Deno.writeTextFileSync(`${folder}/elsewhere/real.json`, config("b"));
    await until(() => hosts.at(-1) === "b", "b is served");
  }, () => ({ poll: 20 }));
});

Deno.test("a changed certificate file gives the same snapshot again", async (t) => {
  const prepare = (folder: string) => {
    Deno.mkdirSync(`${folder}/keys/deep`, { recursive: true });
    Deno.writeTextFileSync(`${folder}/keys/deep/a.cert`, "1");
    Deno.writeTextFileSync(`${folder}/keys/deep/a.key`, "1");
    const tls = { cert: "keys/deep/a.cert", key: "keys/deep/a.key" };
    Deno.writeTextFileSync(`${folder}/proxy.json`, config("a", tls));
  };
  const ways: [says: string, options: (folder: string) => Partial<FileSourceOptions>][] = [
    ["in a watched folder", (folder) => ({ watch: [`${folder}/keys/`] })],
    ["by polling", () => ({ poll: 20 })],
  ];
  for (const [says, options] of ways) {
    await t.step(says, () =>
      scene(prepare, async ({ folder, source, snapshots }) => {
        await source.load();
        source.start();
        let content = "1";
        await until(() => {
          Deno.writeTextFileSync(`${folder}/keys/deep/a.key`, content += "1");
          return snapshots.length > 1;
        }, "it is noticed");
        assert.equal(snapshots[1], snapshots[0]);
      }, options));
  }
});

Deno.test("an exception of the receiver is logged, and the next snapshot arrives", async () => {
  const taken: string[] = [];
  const onSnapshot = (snapshot: Snapshot) => {
    taken.push(snapshot.routes[0].host);
    if (snapshot.routes[0].host === "b") throw new Error("cannot");
  };
  await scene(write("proxy.json", config("a")), async ({ folder, source, events }) => {
    await source.load();
    source.start();
    Deno.writeTextFileSync(`${folder}/proxy.json`, config("b"));
    await until(() => events.length > 0, "it is logged");
    assert.deepEqual(events, ["error Cannot apply configuration"]);
    Deno.writeTextFileSync(`${folder}/proxy.json`, config("c"));
    await until(() => taken.at(-1) === "c", "c is served");
    assert.deepEqual(taken, ["a", "b", "c"]);
  }, () => ({ onSnapshot, poll: 20 }));
});

Deno.test("after stop there are no snapshots", async () => {
  await scene(write("proxy.json", config("a")), async (scene) => {
    await begin(scene);
    Deno.writeTextFileSync(`${scene.folder}/proxy.json`, config("b"));
    await scene.source.stop();
    await meanwhile();
    assert.deepEqual(scene.hosts, []);
  });
});

Deno.test("an older snapshot, or one that removes too many routes, leaves the active one", async () => {
  const at = (seen: string, hosts: readonly string[]) =>
    JSON.stringify({
      format: 2,
      version: { epoch: "cluster", seen: { Ingress: seen } },
      routes: hosts.map((host) => ({
        id: `${host} Prefix /`,
        host,
        match: { path: { type: "Prefix", value: "/" } },
        action: { kind: "reply", status: 503, reason: "none" },
        origin: { kind: "Ingress", namespace: "default", name: "web", field: "spec" },
      })),
      defaultAction: null,
      upstreams: [],
      certificates: [],
      defaultCertificate: null,
    });
  await scene(write("proxy.json", config("a.org")), async (scene) => {
    const { folder, hosts, events } = scene;
    await begin(scene);
    const put = (text: string) => Deno.writeTextFileSync(`${folder}/proxy.json`, text);
    put(at("100", ["a.test", "b.test", "c.test"]));
    await until(() => hosts.at(-1) === "a.test", "the newest is in force");
    put(at("99", ["old.test", "b.test", "c.test"]));
    await until(() => events.some((event) => event.includes("it is older")), "it is refused");
    put(at("101", ["lost.test"]));
    await until(() => events.some((event) => event.includes("2 of 3 routes")), "it is refused");
    put(at("102", ["last.test", "b.test"]));
    await until(() => hosts.at(-1) === "last.test", "a newer one is taken");
    assert.deepEqual(hosts, ["a.test", "last.test"]);
  }, () => ({ maxRouteLoss: 50, refusalInterval: 5 }));
});
