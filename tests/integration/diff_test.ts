/** `pingress diff` with real folders and a real git repository. */
import assert from "node:assert/strict";
import { join, relative } from "node:path";
import { Compile } from "typebox/compile";
import { DIFF_JSON } from "../../cli/diff/diff_schema.ts";
import { manifest, spawn, withFolder } from "../support/dev_process.ts";

interface Output {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function diff(...args: readonly string[]): Promise<Output> {
  return diffIn({}, ...args);
}

async function diffIn(
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<Output> {
  const { code, stdout, stderr } = await spawn("pingress", ["diff", ...args], env).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: decode(stdout), err: decode(stderr) };
}

async function git(folder: string, ...args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("git", {
    args: ["-c", "user.name=Test", "-c", "user.email=test@example.com", ...args],
    cwd: folder,
    env: { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" },
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}

/** An Ingress for each host, and their Service. */
function hosts(...names: readonly string[]): string {
  const [ingress, service] = manifest("HOST").split("---\n");
  const ingresses = names.map((name, i) =>
    ingress.replace("HOST", name).replace("name: app", `name: app${i}`)
  );
  return [...ingresses, service].join("---\n");
}

/** A repository with a folder `k8s`, whose first commit has `a.test` and `b.test`. */
async function withRepository(
  use: (root: string, folder: string) => Promise<void>,
): Promise<void> {
  await withFolder({}, async (root) => {
    const folder = join(root, "k8s");
    await Deno.mkdir(join(folder, "base"), { recursive: true });
    await Deno.writeTextFile(join(folder, "base", "app.yaml"), hosts("a.test", "b.test"));
    await Deno.writeTextFile(join(root, "other.yaml"), hosts("other.test"));
    await git(root, "init", "-q", "-b", "main");
    await git(root, "add", ".");
    await git(root, "commit", "-q", "-m", "first");
    await use(root, folder);
  });
}

Deno.test("a route that a commit has and the folder has not is lost", async () => {
  await withRepository(async (_root, folder) => {
    const same = await diff("-f", folder, "--against", "git:main");
    assert.equal(same.code, 0, same.err);
    assert.match(same.out, /against git:main: nothing changes\n$/);
    await Deno.writeTextFile(join(folder, "base", "app.yaml"), hosts("a.test", "c.test"));
    const { code, out } = await diff("-f", folder, "--against", "git:main");
    assert.equal(code, 1, out);
    assert.match(out, /^Lost:\n {2}- b\.test \/ \(git:main:\S*app\.yaml:\d+\)\n/m);
    assert.match(out, /\n {2}~ b\.test \/ → c\.test \/ \(\S*app\.yaml:\d+\)\n/);
    assert.doesNotMatch(out, /other\.test/);
    const json = await diff("-f", folder, "--against", "git:main", "-o", "json");
    assert.equal(json.code, 1);
    assert.deepEqual([...Compile(DIFF_JSON).Errors(JSON.parse(json.out))], []);
    const { v, lost, opened } = JSON.parse(json.out);
    assert.equal(v, 1);
    assert.deepEqual(lost.map((each: { route: { host: string } }) => each.route.host), ["b.test"]);
    assert.deepEqual(opened, []);
  });
});

Deno.test("unreadable files and links of a commit are named, and a file below two paths is read once", async () => {
  await withRepository(async (root, folder) => {
    const ingress = (name: string) => hosts(`${name}.test`).replace("app0", name).split("---\n")[0];
    const wide = ingress("wide");
    await Deno.writeTextFile(join(root, "linked.yaml"), ingress("linked"));
    const bytes = [...`\ufeff${wide}`].flatMap((char) => [
      char.charCodeAt(0) & 0xff,
      char.charCodeAt(0) >> 8,
    ]);
    await Deno.writeFile(join(folder, "wide.yaml"), Uint8Array.from(bytes));
    await Deno.symlink("../linked.yaml", join(folder, "linked.yaml"));
    await Deno.symlink("base/app.yaml", join(folder, "again.yaml"));
    await git(root, "add", ".");
    await git(root, "commit", "-q", "-m", "second");
    await Deno.writeTextFile(join(folder, "wide.yaml"), wide);
    const file = join(folder, "base", "app.yaml");
    const against = ["--against", "git:HEAD"];
    const { out, err } = await diff("-f", folder, "-f", file, ...against);
    assert.equal(err, "");
    const left = Array.from(
      out.matchAll(/^Not compared: git:HEAD:\S*\/(\S+), as (.*)$/gm),
      ([, file, why]) => `${file} ${why}`,
    );
    assert.deepEqual(left.sort(), [
      "linked.yaml:1:1 it is a link, and those of a commit are not followed",
      "wide.yaml:1:1 it is encoded in UTF-16LE, not in UTF-8",
    ]);
    assert.doesNotMatch(out, /ObjectDuplicated|[ab]\.test/);
    const { isComplete } = JSON.parse((await diff("-f", folder, ...against, "-o", "json")).out);
    assert.equal(isComplete, false);
  });
});

Deno.test("a file of a commit is compared with the file alone", async () => {
  await withRepository(async (root) => {
    const file = join(root, "other.yaml");
    await Deno.writeTextFile(file, hosts("other.test", "new.test"));
    const { code, out, err } = await diff("-f", file, "--against", "git:HEAD");
    assert.equal(code, 0, err);
    assert.match(out, /\n {2}\+ new\.test \/ /);
    assert.doesNotMatch(out, /[ab]\.test/);
  });
});

Deno.test("in a hook of git, and beside another repository, the folder's own is read", async () => {
  await withRepository(async (root, folder) => {
    await withRepository(async (other) => {
      await git(other, "commit", "-q", "--allow-empty", "-m", "other");
      await git(other, "tag", "only-other");
      // As git sets them for hooks of a worktree, and shells for repositories apart from their files.
      for (
        const env of [
          { GIT_DIR: join(root, ".git"), GIT_PREFIX: "" },
          { GIT_DIR: join(root, ".git"), GIT_INDEX_FILE: join(root, ".git", "index") },
          { GIT_DIR: ".git" },
          { GIT_DIR: join(other, ".git"), GIT_WORK_TREE: other },
        ] as readonly Record<string, string>[]
      ) {
        const { code, out, err } = await diffIn(env, "-f", folder, "--against", "git:HEAD");
        assert.equal(code, 0, `${JSON.stringify(env)}: ${out}${err}`);
        assert.match(out, /against git:HEAD: nothing changes\n$/);
      }
      const env = { GIT_DIR: join(other, ".git") };
      const { code, err } = await diffIn(env, "-f", folder, "--against", "git:only-other");
      assert.equal(code, 2);
      assert.match(err, /^git knows no commit "only-other"/);
    });
  });
});

Deno.test("a reference is never taken for an option, and one that does not exist is named", async () => {
  await withRepository(async (root, folder) => {
    const marker = join(root, "written");
    for (
      const reference of [
        `--output=${marker}`,
        `-o${marker}`,
        "--help",
        "--show-toplevel",
        "--all",
        "no-such-branch",
        "main:k8s/base/app.yaml",
        "--end-of-options",
        "main\n--all",
      ]
    ) {
      const { code, out, err } = await diff("-f", folder, `--against=git:${reference}`);
      assert.equal(code, 2, `${reference}: ${out}`);
      assert.equal(out, "");
      assert.match(err, /^git knows no commit /m, reference);
    }
    await assert.rejects(Deno.stat(marker), Deno.errors.NotFound);
  });
});

Deno.test("a commit that a shallow clone lacks is named with the command that fetches it", async () => {
  await withRepository(async (root, folder) => {
    await git(root, "commit", "-q", "--allow-empty", "-m", "second");
    const clone = await Deno.makeTempDir();
    try {
      await git(clone, "clone", "-q", "--depth", "1", `file://${root}`, "clone");
      const shallow = join(clone, "clone", relative(root, folder));
      const { code, err } = await diff("-f", shallow, "--against", "git:HEAD~1");
      assert.equal(code, 2);
      assert.match(err, /^git knows no commit "HEAD~1"; the clone is shallow: .*--unshallow/);
      const whole = await diff("-f", folder, "--against", "git:HEAD~9");
      assert.doesNotMatch(whole.err, /shallow/);
    } finally {
      await Deno.remove(clone, { recursive: true });
    }
  });
});

Deno.test("git finds the user's configuration below XDG_CONFIG_HOME", async () => {
  await withRepository(async (_root, folder) => {
    await withFolder({ "config": "[broken\n" }, async (settings) => {
      await Deno.mkdir(join(settings, "git"));
      await Deno.rename(join(settings, "config"), join(settings, "git", "config"));
      const env = { HOME: settings, XDG_CONFIG_HOME: settings };
      const { code, err } = await diffIn(env, "-f", folder, "--against", "git:main");
      assert.equal(code, 2);
      assert.match(err, /bad config line 1 in file \S+\/git\/config/);
    });
  });
});

Deno.test("a folder that is in no repository is named", async () => {
  await withFolder({ "a.yaml": hosts("a.test") }, async (folder) => {
    const { code, err } = await diff("-f", folder, "--against", "git:main");
    assert.equal(code, 2);
    assert.match(err, new RegExp(`^${folder} is in no repository of git; name a folder of one`));
  });
});

Deno.test("new manifests that do not parse are not compared, nor is an empty folder", async () => {
  await withRepository(async (_root, folder) => {
    await Deno.writeTextFile(join(folder, "base", "app.yaml"), "kind: [Ingress\n");
    const broken = await diff("-f", folder, "--against", "git:main");
    assert.equal(broken.code, 2, broken.out);
    assert.equal(broken.out, "");
    assert.match(broken.err, /app\.yaml:\d+:\d+: this document does not parse: /);
    await Deno.writeTextFile(join(folder, "base", "app.yaml"), "# nothing\n");
    const empty = await diff("-f", folder, "--against", "git:main");
    assert.equal(empty.code, 2);
    assert.match(empty.err, /^There are no objects in /m);
  });
});

Deno.test("a route that a misspelt field loses is printed with the problem that names the field", async () => {
  await withRepository(async (_root, folder) => {
    const text = hosts("a.test", "b.test");
    await Deno.writeTextFile(join(folder, "base", "app.yaml"), text.replace("rules:", "rule:"));
    const { code, out } = await diff("-f", folder, "--against", "git:main");
    assert.equal(code, 1);
    assert.match(out, /^Lost:\n {2}- a\.test \/ /m);
    assert.match(out, /that are new:\n[^]*"rule"/);
  });
});

Deno.test("manifests of a commit that do not parse are named as not compared", async () => {
  await withRepository(async (root, folder) => {
    await Deno.writeTextFile(join(folder, "broken.yaml"), "kind: [Ingress\n");
    await git(root, "add", ".");
    await git(root, "commit", "-q", "-m", "second");
    await Deno.remove(join(folder, "broken.yaml"));
    const { code, out } = await diff("-f", folder, "--against", "git:main");
    assert.equal(code, 0, out);
    assert.match(
      out,
      /^Not compared: git:main:\S*broken\.yaml:\d+:\d+, as this document does not/m,
    );
  });
});

Deno.test("two folders are compared, and control characters of manifests are escaped", async () => {
  await withFolder({ "a.yaml": hosts("a.test") }, async (before) => {
    const hostile = hosts("a.test").replace("path: /", 'path: "/\\u001b[31m\\u202e"');
    await withFolder({ "a.yaml": hostile }, async (after) => {
      const { code, out } = await diff("-f", after, "--against", before);
      assert.equal(code, 1, out);
      // deno-lint-ignore no-control-regex
      assert.doesNotMatch(out, /[\x00-\x09\x0b-\x1f\x7f\u202e]/);
    });
  });
});

Deno.test("a wrong command line of diff is named with the remedy", async () => {
  for (
    const [args, pattern] of [
      [[], /--file is needed/],
      [["-f", "examples"], /--against is needed/],
      [["-f", "examples", "--against", "git:"], /--against git: needs a branch, tag or commit/],
      [["-f", "no/such", "--against", "examples"], /There is no file or folder no\/such/],
      [["-f", "examples", "--against", "no/such"], /There is no file or folder no\/such/],
      [["-f", "examples", "--against", "main"], /^For a branch, .* write --against git:main$/m],
      [["-f", "exmaples", "--against", "main"], /^There is .* exmaples; did you mean examples\?$/m],
      [["-f", "examples", "--against", "examples", "--kubeconfig", "x"], /needs --against cluster/],
      [["-f", "examples", "--agianst", "cluster"], /did you mean --against\?/],
    ] as const
  ) {
    const { code, err } = await diff(...args);
    assert.equal(code, 2, err);
    assert.match(err, pattern);
  }
});
