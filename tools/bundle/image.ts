/**
 * What an image of `deno run` holds. In: the sources, Deno's cache, a folder to write to, and the
 * program's main module. Out: a bundle of the program in the folder `program`, deno.json and
 * deno.lock, which name no package, the licences of those in the bundle, and a cache of Deno's.
 *
 *     deno run --allow-read --allow-write --allow-env --allow-run \
 *       tools/bundle/image.ts --app=/app --cache=/deno-dir --packages=/packages proxy/main.ts
 *
 * A bundle starts with less work than its modules: each thread of a proxy has some 300, and looks
 * each of them up (bench/performance-log.md).
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { runCommand } from "../command.ts";
import { bundledEntry, PROGRAM_FOLDER } from "../programs.ts";
import { makeBundle } from "./bundle.ts";
import { licencesText } from "./licences.ts";
import { narrowConfig, narrowLock } from "./packages.ts";

/** Deno's database of what modules import. */
export const ANALYSES = "dep_analysis_cache_v2";

export interface ImageOptions {
  /** Gets the program. The cache has an effect where its path is the same in the image. */
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
  await fillCache(app, cache, entries.map(bundledEntry));
}

/**
 * Deno keeps what each module imports in a SQLite database. Without it, each start parses all of the
 * program in each thread: 29 MiB and 0.14 s of CPU for a proxy with one worker.
 */
async function fillCache(app: string, cache: string, entries: readonly string[]): Promise<void> {
  const args = ["cache", "--quiet", "--frozen", ...entries];
  const { code, stderr } = await runCommand("deno", args, { cwd: app, env: { DENO_DIR: cache } });
  if (code !== 0) throw new Error(`deno ${args.join(" ")} failed: ${stderr.trim()}`);
  makeReadable(join(cache, ANALYSES));
}

/**
 * Lets Deno open a database that it may not write. It is in WAL mode: without its files `-wal` and
 * `-shm`, which the last one to close it removes, it cannot be read then (sqlite.org/wal.html,
 * "Read-Only Databases"). And without statistics of its tables, Deno 2.9 tries to write them, fails,
 * and does without the database.
 */
function makeReadable(database: string): void {
  const files = ["-wal", "-shm"].map((suffix) => `${database}${suffix}`);
  const connection = new DatabaseSync(database);
  connection.exec("PRAGMA journal_mode = WAL; ANALYZE");
  for (const file of files) Deno.copyFileSync(file, `${file}.kept`);
  connection.close();
  for (const file of files) Deno.renameSync(`${file}.kept`, file);
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
