/**
 * What an image of `deno run` holds. In: the sources, a filled cache of Deno's, a folder to write to,
 * and the programs' entry points (a worker's module is one too). Out: the modules that those reach,
 * deno.json and deno.lock without what they do not import, and a cache with their packages alone.
 *
 *     deno run --allow-read --allow-write=/app,/deno-dir --allow-run=deno \
 *       tools/image_files.ts /app /deno-dir proxy/main.ts proxy/process/worker.ts
 *
 * Deno asks for every package of the lock before it runs anything, so the lock must name no other:
 * of some hundred packages a proxy needs three.
 */
import { existsSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** Of `deno info --json`, as far as it is read here. */
export interface ModuleGraph {
  readonly modules: readonly { readonly specifier: string; readonly npmPackage?: string }[];
  readonly npmPackages: Readonly<Record<string, NpmPackage>>;
}

export interface NpmPackage {
  readonly name: string;
  readonly version: string;
  /** Keys of `npmPackages`. */
  readonly dependencies: readonly string[];
  readonly localPath: string;
}

export interface ImageContent {
  /** Paths of our modules. */
  readonly files: readonly string[];
  /** Names of packages that our modules import. */
  readonly imported: ReadonlySet<string>;
  /** Those, and what they need, by their names in the lock. */
  readonly packages: ReadonlyMap<string, NpmPackage>;
}

/** What the programs of these graphs read when they run. */
export function contentOf(graphs: readonly ModuleGraph[]): ImageContent {
  const files = new Set<string>();
  const imported = new Set<string>();
  const packages = new Map<string, NpmPackage>();
  for (const { modules, npmPackages } of graphs) {
    const add = (id: string) => {
      if (packages.has(id)) return;
      packages.set(id, npmPackages[id]);
      npmPackages[id].dependencies.forEach(add);
    };
    for (const { specifier, npmPackage } of modules) {
      if (specifier.startsWith("file:")) files.add(fileURLToPath(specifier));
      if (npmPackage === undefined) continue;
      imported.add(npmPackages[npmPackage].name);
      add(npmPackage);
    }
  }
  return { files: [...files].sort(), imported, packages };
}

/** Of `deno.lock`, as far as it is narrowed. */
export interface Lock {
  readonly specifiers: Readonly<Record<string, string>>;
  readonly npm: Readonly<Record<string, unknown>>;
  readonly workspace: { readonly dependencies: readonly string[] };
}

/**
 * deno.lock without what is not imported. Deno could do that by itself, but asks the registry for
 * packages that others would like to have (optional peers).
 */
export function narrowLock<T extends Lock>(
  lock: T,
  imports: Readonly<Record<string, string>>,
  packages: ReadonlyMap<string, unknown>,
): T {
  const specifiers = new Set(Object.values(imports));
  const among = <V>(all: Readonly<Record<string, V>>, has: (key: string) => boolean) =>
    Object.fromEntries(Object.entries(all).filter(([key]) => has(key)));
  return {
    ...lock,
    specifiers: among(lock.specifiers, (key) => specifiers.has(key)),
    npm: among(lock.npm, (key) => packages.has(key)),
    workspace: {
      ...lock.workspace,
      dependencies: lock.workspace.dependencies.filter((key) => specifiers.has(key)),
    },
  };
}

/** deno.json with the imports of these packages alone. */
export function narrowConfig<T extends { readonly imports: Readonly<Record<string, string>> }>(
  config: T,
  imported: ReadonlySet<string>,
): T {
  const imports = Object.entries(config.imports)
    .filter(([, specifier]) => imported.has(/^npm:(@?[^@]+)@/.exec(specifier)?.[1] ?? specifier));
  return { ...config, imports: Object.fromEntries(imports) };
}

/**
 * Of which Deno's cache has a folder by that name. Wherever packages came from, the image has them, and
 * nothing is to be asked for others; the Dockerfiles name the same.
 */
export const REGISTRY = "https://registry.invalid/";

/** Most of some packages' bytes, and nothing reads them at run time; what licences ask for stays. */
const UNREAD = /^(?!licen[cs]e|notice|copying).*\.(d\.[cm]?ts|map|md|markdown|flow)$/i;

/** Folders at a package's root. `deno compile` also ends by an overflow on what is in one of them. */
const UNREAD_FOLDERS = new Set(["test", "tests", "examples", "docs", "benchmark"]);

function copyPackage(from: string, to: string, unread: ReadonlySet<string> = new Set()): void {
  Deno.mkdirSync(to, { recursive: true });
  for (const { name, isDirectory, isFile } of Deno.readDirSync(from)) {
    if (isDirectory && !unread.has(name)) copyPackage(join(from, name), join(to, name));
    else if (isFile && !UNREAD.test(name)) Deno.copyFileSync(join(from, name), join(to, name));
  }
}

function writeJson(path: string, value: unknown): void {
  Deno.writeTextFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}

async function deno(args: readonly string[], cwd: string, cache?: string): Promise<string> {
  const { success, stdout } = await new Deno.Command("deno", {
    args: [...args],
    cwd,
    env: cache === undefined ? {} : { DENO_DIR: cache, NPM_CONFIG_REGISTRY: REGISTRY },
    stderr: "inherit",
  }).output();
  if (!success) throw new Error(`deno ${args.join(" ")} failed`);
  return new TextDecoder().decode(stdout);
}

async function write(folder: string, cache: string, entries: readonly string[]): Promise<void> {
  const root = Deno.cwd();
  const graphs = await Promise.all(
    entries.map(async (entry) => JSON.parse(await deno(["info", "--json", entry], root))),
  );
  const { files, imported, packages } = contentOf(graphs);
  for (const file of files) {
    const target = join(folder, relative(root, file));
    Deno.mkdirSync(dirname(target), { recursive: true });
    Deno.copyFileSync(file, target);
  }
  const config = narrowConfig(JSON.parse(Deno.readTextFileSync("deno.json")), imported);
  const lock = JSON.parse(Deno.readTextFileSync("deno.lock"));
  writeJson(join(folder, "deno.json"), config);
  writeJson(join(folder, "deno.lock"), narrowLock(lock, config.imports, packages));
  for (const { name, version, localPath } of packages.values()) {
    const target = join(cache, "npm", new URL(REGISTRY).hostname, name);
    copyPackage(localPath, join(target, version), UNREAD_FOLDERS);
    // `deno install` fetches it for some packages only; what the lock names needs none.
    const about = join(dirname(localPath), "registry.json");
    if (existsSync(about)) Deno.copyFileSync(about, join(target, "registry.json"));
  }
  // Fails where the lock lacks something, and fills the cache with JavaScript.
  await deno(["cache", "--quiet", "--frozen", ...entries], folder, cache);
}

if (import.meta.main) {
  const [folder, cache, ...entries] = Deno.args;
  await write(folder, cache, entries);
}
