/**
 * What an image of `deno run` holds. In: the sources, Deno's cache, a folder to write to, and the
 * program's main module. Out: a bundle of the program in the folder `program`, deno.json and
 * deno.lock, which name no package, the licences of those in the bundle, and a cache for Deno.
 *
 *     deno run --allow-read --allow-write --allow-env --allow-run \
 *       tools/bundle/image.ts --app=/app --cache=/deno-dir --packages=/packages proxy/main.ts
 *
 * A bundle starts with less work than its modules: each thread of a proxy has some 300, and looks
 * each of them up (bench/performance-log.md).
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runCommand } from "../command.ts";
import { PROGRAM_FOLDER } from "../programs.ts";
import { makeBundle } from "./bundle.ts";
import { entryName } from "./entries.ts";
import { licencesText } from "./licences.ts";
import { narrowConfig, narrowLock } from "./packages.ts";

export interface ImageOptions {
  /** Gets the program. In the image, it must have the same path. */
  readonly app: string;
  /** Gets the cache; `DENO_DIR` of the image. */
  readonly cache: string;
  /** Gets packages of npm on the way. */
  readonly packages: string;
  /** See `BundleOptions`. */
  readonly keepNames?: boolean;
}

/**
 * Writes them; the working directory is the repository. Throws where a program of others fails, with
 * what it said.
 */
export async function writeImageFiles(
  { app, cache, packages, keepNames }: ImageOptions,
  program: string,
): Promise<void> {
  const root = Deno.cwd();
  const output = join(app, PROGRAM_FOLDER);
  const { content, entries } = await makeBundle({
    root,
    program,
    output,
    staging: packages,
    keepNames,
  });
  const read = (name: string) => JSON.parse(Deno.readTextFileSync(name));
  const writeJson = (name: string, value: unknown) =>
    Deno.writeTextFileSync(join(app, name), `${JSON.stringify(value, null, 2)}\n`);
  const config = narrowConfig(read("deno.json"), new Set());
  writeJson("deno.json", config);
  writeJson("deno.lock", narrowLock(read("deno.lock"), config.imports, new Map()));
  Deno.writeTextFileSync(
    join(app, "THIRD_PARTY_LICENSES"),
    licencesText([...content.packages.values()]),
  );
  await fillCache(app, cache, entries.map((entry) => `${PROGRAM_FOLDER}/${entryName(entry)}.mjs`));
}

/**
 * Deno keeps what each module imports in a SQLite database. Without it, each start parses all of the
 * program in each thread: 27 MiB and 0.12 s of CPU for a proxy with one worker.
 */
async function fillCache(app: string, cache: string, entries: readonly string[]): Promise<void> {
  // The database is in WAL mode: nobody can read it where nothing may be written, unless the files
  // `-wal` and `-shm` are there (sqlite.org/wal.html, "Read-Only Databases"). `deno cache` removes
  // them when it ends; a program that has run leaves them.
  const empty = join(cache, "empty.mjs");
  for (const args of [["cache", "--quiet", "--frozen", ...entries], ["run", "--quiet", empty]]) {
    Deno.mkdirSync(cache, { recursive: true });
    Deno.writeTextFileSync(empty, "");
    const { code, stderr } = await runCommand("deno", args, { cwd: app, env: { DENO_DIR: cache } });
    if (code !== 0) throw new Error(`deno ${args.join(" ")} failed: ${stderr.trim()}`);
  }
  Deno.removeSync(empty);
}

if (import.meta.main) {
  const folder = { type: "string" } as const;
  const { values, positionals } = parseArgs({
    args: Deno.args,
    options: { app: folder, cache: folder, packages: folder, "keep-names": { type: "boolean" } },
    allowPositionals: true,
  });
  const { app, cache, packages } = values;
  const [program] = positionals;
  if (app === undefined || cache === undefined || packages === undefined || !program) {
    console.error("Give --app, --cache, --packages and the main module of a program");
    Deno.exit(2);
  }
  await writeImageFiles({ app, cache, packages, keepNames: values["keep-names"] }, program);
}
