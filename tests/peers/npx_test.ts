/** The npm package as npx installs it: from its archive, in an empty folder with an empty HOME. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { runCommand } from "../../tools/command.ts";
import { VERSION } from "../../shared/version.ts";
import { skip } from "./go_program.ts";

const ROOT = join(import.meta.dirname!, "../..");

Deno.test("npx runs the archive in an empty folder, with the Deno that npm installs beside it", async () => {
  const npm = await runCommand("npm", ["--version"]);
  if (npm.code !== 0) return void skip("npx", "npm is not installed");
  const folder = await Deno.makeTempDir({ prefix: "pingress-npx-" });
  try {
    const output = join(folder, "made");
    const made = await runCommand(Deno.execPath(), [
      ...["run", "-q", "-A", "--no-check", "tools/npm/main.ts", `--output=${output}`],
    ], { cwd: ROOT });
    assert.equal(made.code, 0, made.stderr);
    const [empty, home, old] = ["empty", "home", "old"].map((name) => join(folder, name));
    for (const path of [empty, home, old]) await Deno.mkdir(path);
    // The Deno of this machine is passed over.
    await Deno.writeTextFile(join(old, "deno"), "#!/bin/sh\necho deno 2.8.3\n", { mode: 0o755 });
    const env = { HOME: home, PATH: `${old}:${Deno.env.get("PATH")}`, NO_COLOR: "1" };
    const archive = `../made/pingress-${VERSION}.tgz`;
    const npx = (...args: string[]) =>
      runCommand("npx", ["--yes", archive, ...args], { cwd: empty, env });
    const version = await npx("version");
    assert.equal(version.code, 0, version.stderr);
    assert.match(version.stdout, new RegExp(`^pingress ${VERSION} \\(Deno 2\\.9\\.`));
    const lint = await npx("lint", join(ROOT, "examples"), "--nginx-class=pingress", "-o", "json");
    assert.equal(lint.code, 0, lint.stderr);
    assert.equal(JSON.parse(lint.stdout).v, 1);
    assert.equal((await npx("no-such-command")).code, 2);
    assert.deepEqual([...Deno.readDirSync(empty)], []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
