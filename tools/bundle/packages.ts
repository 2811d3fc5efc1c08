/**
 * What a program is made of. In: its module graphs, deno.json and deno.lock. Out: its modules, the
 * packages of npm that it needs and no others, and a folder with copies of them.
 *
 * Deno asks for every package of the lock before it runs anything, so the lock must name no other:
 * of some hundred packages a proxy needs three.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runCommand } from "../command.ts";

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

export interface ProgramContent {
  /** Paths of our modules. */
  readonly files: readonly string[];
  /** Names of packages that our modules import. */
  readonly imported: ReadonlySet<string>;
  /** Those, and what they need, by their names in the lock. */
  readonly packages: ReadonlyMap<string, NpmPackage>;
}

/** What the programs of these graphs read when they run. */
export function contentOf(graphs: readonly ModuleGraph[]): ProgramContent {
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
 * Copies the packages of `content` into `node_modules` in `staging`, where bundlers find them; Deno
 * has them in its cache. `root` is the repository. Throws where Deno fails, with what it said.
 */
export async function stagePackages(
  root: string,
  staging: string,
  content: ProgramContent,
): Promise<void> {
  Deno.mkdirSync(staging, { recursive: true });
  const read = (name: string) => JSON.parse(Deno.readTextFileSync(join(root, name)));
  const { imports } = narrowConfig(read("deno.json"), content.imported);
  const write = (name: string, value: unknown) =>
    Deno.writeTextFileSync(join(staging, name), JSON.stringify(value));
  write("deno.json", { nodeModulesDir: "auto", imports });
  write("deno.lock", narrowLock(read("deno.lock"), imports, content.packages));
  const args = ["install", "--quiet", "--frozen"];
  const { code, stderr } = await runCommand("deno", args, { cwd: staging });
  if (code !== 0) throw new Error(`deno ${args.join(" ")} failed: ${stderr.trim()}`);
}
