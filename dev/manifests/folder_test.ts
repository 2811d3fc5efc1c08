import assert from "node:assert/strict";
import { basename, join } from "node:path";
import { findManifestFiles, ManifestFolder } from "./folder.ts";

async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function service(name: string): string {
  return `apiVersion: v1\nkind: Service\nmetadata: { name: ${name} }\n`;
}

Deno.test("folders are read recursively, except hidden and foreign ones", async () => {
  await withFolder(async (folder) => {
    for (
      const path of [
        "a.yaml",
        "b/c.yml",
        "b/d/e.json",
        ".git/f.yaml",
        "node_modules/g.yaml",
        "h.txt",
      ]
    ) {
      await Deno.mkdir(join(folder, path, ".."), { recursive: true });
      await Deno.writeTextFile(join(folder, path), "");
    }
    await Deno.symlink(folder, join(folder, "b", "circle"));
    await Deno.symlink(join(folder, "a.yaml"), join(folder, "link.yaml"));
    await Deno.symlink(join(folder, "nowhere"), join(folder, "broken"));
    const found = await findManifestFiles([`${folder}/`]);
    assert.deepEqual(
      found.files.map(({ file }) => file.slice(folder.length)),
      ["/a.yaml", "/b/c.yml", "/b/d/e.json"],
    );
    assert.deepEqual(found.problems, []);
  });
});

Deno.test("a pipe that is named is no file, and is not waited for", async () => {
  await withFolder(async (folder) => {
    const pipe = join(folder, "pipe.yaml");
    const { success } = await new Deno.Command("mkfifo", { args: [pipe] }).output();
    assert.ok(success);
    const { problems } = await new ManifestFolder([pipe]).read();
    assert.deepEqual(problems.map(({ problem: { reason, message } }) => `${reason} ${message}`), [
      "NotReadable cannot read it: it is neither a file nor a folder",
    ]);
    // As before in a folder, where it may be of another program.
    const all = await new ManifestFolder([folder]).read();
    assert.ok(all.problems.every(({ problem }) => problem.reason !== "NotReadable"));
  });
});

Deno.test("links of manifests that lead nowhere or in a circle are named, with what to do", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(join(folder, "a.yaml"), service("web"));
    await Deno.symlink(join(folder, "nowhere"), join(folder, "gone.yaml"));
    await Deno.symlink("two.yaml", join(folder, "one.yaml"));
    await Deno.symlink("one.yaml", join(folder, "two.yaml"));
    const { refs, problems } = await new ManifestFolder([folder]).read();
    assert.deepEqual(refs.map(({ name }) => name), ["web"]);
    assert.deepEqual(
      problems.map(({ at, problem: { severity, message, remedy } }) =>
        [basename(at!.file), severity, message, remedy].join(" | ")
      ),
      ["gone.yaml | warning", "one.yaml | error", "two.yaml | error"].map((start, i) =>
        `${start} | cannot read it: ${
          i === 0 ? "it is a link to what is not there" : "its links lead in a circle"
        } | Remove the link, or correct where it leads`
      ),
    );
  });
});

Deno.test("a named file is read whatever its name, and once", async () => {
  await withFolder(async (folder) => {
    const file = join(folder, "manifest.txt");
    await Deno.writeTextFile(file, service("web"));
    const { refs, problems } = await new ManifestFolder([file, file, folder]).read();
    assert.deepEqual(refs.map(({ name }) => name), ["web"]);
    assert.deepEqual(problems, []);
  });
});

Deno.test("a named file that does not exist is a problem", async () => {
  await withFolder(async (folder) => {
    const { problems } = await new ManifestFolder([join(folder, "none")]).read();
    assert.deepEqual(problems.map(({ problem }) => problem.reason), ["NotReadable"]);
    assert.equal(problems[0].at?.file, join(folder, "none"));
  });
});

Deno.test("a file that no longer parses keeps its last valid content until it parses again", async () => {
  await withFolder(async (folder) => {
    const file = join(folder, "a.yaml");
    const manifests = new ManifestFolder([folder]);
    const read = async () => {
      const { refs, problems } = await manifests.read();
      return [refs.map(({ name }) => name), problems.map(({ problem }) => problem.reason)];
    };
    await Deno.writeTextFile(file, service("one"));
    await Deno.writeTextFile(join(folder, "b.yaml"), service("other"));
    assert.deepEqual(await read(), [["one", "other"], []]);
    await Deno.writeTextFile(file, `${service("two")}---\n{`);
    assert.deepEqual(await read(), [["one", "other"], ["NotParsable"]]);
    const [{ problem, at }] = (await manifests.read()).problems;
    assert.match(problem.message, /last good version is served$/);
    assert.equal(at?.line, 5);
    await Deno.writeTextFile(file, "");
    assert.deepEqual(await read(), [["one", "other"], ["NotParsable"]]);
    await Deno.writeTextFile(file, service("two"));
    assert.deepEqual(await read(), [["two", "other"], []]);
    await Deno.writeTextFile(file, "# nothing any more\n");
    assert.deepEqual(await read(), [["other"], []]);
    await Deno.remove(file);
    assert.deepEqual(await read(), [["other"], []]);
  });
});

Deno.test("a file that never parsed serves its valid documents", async () => {
  await withFolder(async (folder) => {
    await Deno.writeTextFile(join(folder, "a.yaml"), `{\n---\n${service("web")}`);
    const { refs, problems } = await new ManifestFolder([folder]).read();
    assert.deepEqual(refs.map(({ name }) => name), ["web"]);
    assert.equal(problems.length, 1);
  });
});

Deno.test("a file larger than any manifest is a problem and is not read", async () => {
  await withFolder(async (folder) => {
    const file = await Deno.open(join(folder, "a.yaml"), { write: true, create: true });
    await file.truncate(17 * 1024 * 1024);
    file.close();
    const { problems } = await new ManifestFolder([folder]).read();
    assert.match(problems[0].problem.message, /17825792 bytes/);
  });
});

Deno.test("a folder without anything to read is a warning that says why", async () => {
  await withFolder(async (folder) => {
    const messages = async () => {
      const { problems } = await new ManifestFolder([folder]).read();
      return problems.map(({ problem: { severity, reason, message } }) =>
        `${severity} ${reason} ${message.replace(folder, "DIR")}`
      );
    };
    await Deno.writeTextFile(join(folder, "README.md"), "# Manifests");
    assert.deepEqual(await messages(), [
      "warning ManifestsMissing no file in DIR ends with .yaml, .yml or .json",
    ]);
    await Deno.writeTextFile(join(folder, "a.yaml"), "# later\n---\n");
    assert.deepEqual(await messages(), [
      "warning ManifestsMissing the only file in DIR has no object that is read",
    ]);
    await Deno.writeTextFile(join(folder, "values.yaml"), "replicas: 1\n");
    const [missing, ...others] = await messages();
    assert.equal(
      missing,
      "warning ManifestsMissing none of the 2 files in DIR has an object that is read",
    );
    assert.deepEqual(others.map((text) => text.split(" ")[1]), ["FileIgnored"]);
    await Deno.writeTextFile(join(folder, "a.yaml"), service("web"));
    await Deno.remove(join(folder, "values.yaml"));
    assert.deepEqual(await messages(), []);
  });
});

Deno.test("a file that is saved in Latin-1 is a problem, and its last good version is served", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "a.yaml");
    const manifests = new ManifestFolder([folder]);
    await Deno.writeTextFile(path, service("web"));
    await manifests.read();
    await Deno.writeFile(
      path,
      Uint8Array.from([...service("web")].map((char) => char.charCodeAt(0)).concat(0xe4)),
    );
    for (let i = 0; i < 2; i++) {
      const { refs, problems } = await manifests.read();
      assert.deepEqual(refs.map(({ name }) => name), ["web"]);
      assert.match(
        problems[0].problem.message,
        /^byte 0xE4 here is not UTF-8.*last good version is served$/,
      );
      assert.equal(problems[0].at?.line, 4);
    }
  });
});
