/** What an image has of the proxy, made without a registry and started as the image starts it. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { runCommand } from "../command.ts";
import { bundledProgram, INSTALLED_PROGRAMS } from "../programs.ts";
import type { ModuleGraph } from "./packages.ts";

const ROOT = join(import.meta.dirname!, "../..");

/** A registry that cannot be reached. */
const OFFLINE = { NPM_CONFIG_REGISTRY: "https://registry.invalid/" };

async function deno(
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { code, stdout, stderr } = await runCommand(Deno.execPath(), args, {
    cwd,
    env: { ...env, NO_COLOR: "1" },
  });
  equal(code, 0, stderr);
  return stdout;
}

Deno.test("an image is made offline from packages, without registry metadata", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [app, made, packages, cache] = ["app", "deno-dir", "packages", "cache"]
      .map((name) => join(folder, name));
    const program = INSTALLED_PROGRAMS.find(({ name }) => name === "proxy")!;
    const entries = ["tools/bundle/image.ts", ...program.entries];
    const graphs: ModuleGraph[] = await Promise.all(
      entries.map(async (entry) => JSON.parse(await deno(["info", "--json", entry], ROOT))),
    );
    for (
      const { name, version, localPath } of graphs.flatMap((graph) =>
        Object.values(graph.npmPackages)
      )
    ) {
      // Packages for other platforms are listed, and not there.
      if (!existsSync(localPath)) continue;
      const target = join(cache, "npm", "registry.invalid", name, version);
      cpSync(localPath, target, { recursive: true });
    }
    const folders = [`--app=${app}`, `--cache=${made}`, `--packages=${packages}`];
    const rights = [
      "--allow-read",
      `--allow-write=${app},${made},${packages}`,
      "--allow-env",
      "--allow-run",
    ];
    await deno(
      ["run", "--no-prompt", ...rights, entries[0], ...folders, program.entries[0]],
      ROOT,
      { ...OFFLINE, DENO_DIR: cache },
    );
    const bundled = bundledProgram(program).entries;
    for (const entry of bundled) ok(existsSync(join(app, entry)), entry);
    match(await Deno.readTextFile(join(app, "THIRD_PARTY_LICENSES")), /^hash-wasm \d/m);
    const run = ["run", "-q", "-P=proxy", "--no-prompt", "--cached-only", "--no-code-cache"];
    for (const DENO_DIR of [made, join(folder, "none")]) {
      const help = await deno([...run, bundled[0], "--help"], app, { ...OFFLINE, DENO_DIR });
      match(help, /^The Pingress reverse proxy/);
    }
    // Where nothing may be written, SQLite reads a database in WAL mode only beside these files.
    const database = join(made, "dep_analysis_cache_v2");
    for (const suffix of ["-wal", "-shm"]) ok(existsSync(`${database}${suffix}`), suffix);
    using analyses = new DatabaseSync(database, { readOnly: true });
    const rows = analyses.prepare("SELECT specifier FROM moduleinfocache").all();
    const known = new Set(rows.map(({ specifier }) => String(specifier)));
    const files = Array.from(Deno.readDirSync(join(app, "program")), ({ name }) => name);
    deepEqual(
      files.filter((name) => !known.has(pathToFileURL(join(app, "program", name)).href)),
      [],
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
