/**
 * One bundle of the program `pingress`. In: the modules that `cli/main.ts` reaches, and a folder to
 * write to. Out: a file for the program, one for each thread that it starts, and those that they
 * share; packages of npm are in it, so that nothing is looked up when it runs.
 */
import * as esbuild from "esbuild";
import { builtinModules } from "node:module";
import { dirname, join, relative } from "node:path";
import { runCommand } from "../command.ts";
import { contentOf, type ImageContent, narrowConfig, narrowLock } from "../image_files.ts";
import { entriesOf, THREAD } from "./entries.ts";

export const PROGRAM = "cli/main.ts";

/** The bundle's own name for a module that starts as a program or a thread. */
export function entryName(path: string): string {
  return path.replace(/\.ts$/, "").replaceAll("/", "-");
}

/** Modules that are others in the package: it is not started by a task. */
const PACKAGED: ReadonlyMap<string, string> = new Map([
  ["dev/start_command.ts", "tools/npm/start_command.ts"],
]);

/** In texts for users: the package has no tasks, and its commands have the tasks' names. */
const TASK = /\bdeno task (?=[a-z])/g;

export interface Bundle {
  /** What it was made from. */
  readonly content: ImageContent;
  /** The program, then its threads, relative to the repository. */
  readonly entries: readonly string[];
}

export interface BundleFolders {
  /** The repository. */
  readonly root: string;
  /** Gets the files. */
  readonly output: string;
  /** Gets a copy of the packages of npm that are in the bundle. */
  readonly staging: string;
}

/** Throws where a program of others fails, with what it said. */
export async function makeBundle(folders: BundleFolders): Promise<Bundle> {
  const { root, output, staging } = folders;
  const graphs = await entriesOf(root, PROGRAM);
  const content = contentOf([...graphs.values()]);
  await stagePackages(root, staging, content);
  await esbuild.build({
    absWorkingDir: root,
    entryPoints: [...graphs.keys()].map((entry) => ({ in: entry, out: entryName(entry) })),
    outdir: output,
    outExtension: { ".js": ".mjs" },
    chunkNames: "shared-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "esnext",
    conditions: ["deno", "node"],
    nodePaths: [join(staging, "node_modules")],
    minifySyntax: true,
    minifyWhitespace: true,
    // Names stay: messages of errors and libraries that read the names of their classes need them.
    minifyIdentifiers: false,
    legalComments: "none",
    charset: "utf8",
    // Some packages are CommonJS, and ask for modules of Node when they run.
    banner: {
      js:
        'import { createRequire as createRequireOfNode } from "node:module";const require = createRequireOfNode(import.meta.url);',
    },
    logLevel: "warning",
    plugins: [nodeModulesPlugin(), sourcesPlugin(root)],
  });
  await esbuild.stop();
  return { content, entries: [...graphs.keys()] };
}

/** Packages in a folder `node_modules`, in which esbuild finds them; Deno has them in its cache. */
async function stagePackages(root: string, staging: string, content: ImageContent): Promise<void> {
  Deno.mkdirSync(staging, { recursive: true });
  const read = (name: string) => JSON.parse(Deno.readTextFileSync(join(root, name)));
  const { imports } = narrowConfig(read("deno.json"), content.imported);
  const write = (name: string, value: unknown) =>
    Deno.writeTextFileSync(join(staging, name), JSON.stringify(value));
  write("deno.json", { nodeModulesDir: "auto", imports });
  write("deno.lock", narrowLock(read("deno.lock"), imports, content.packages));
  await deno(staging, ["install", "--quiet", "--frozen"]);
}

/** Modules of Node are named so that Deno finds them: `node:stream`. */
function nodeModulesPlugin(): esbuild.Plugin {
  const names = new Set(builtinModules);
  return {
    name: "modules of Node",
    setup({ onResolve }) {
      onResolve({ filter: /^[\w/:]+$/ }, ({ path }) => {
        const name = path.replace(/^node:/, "");
        return names.has(name) ? { path: `node:${name}`, external: true } : undefined;
      });
    },
  };
}

/** A thread's module has another name and place in the bundle; a module of the package its own text. */
function sourcesPlugin(root: string): esbuild.Plugin {
  return {
    name: "sources",
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (path.includes("/node_modules/")) return undefined;
        const module = PACKAGED.get(relative(root, path));
        const source = module === undefined ? path : join(root, module);
        const contents = Deno.readTextFileSync(source).replace(THREAD, (_, module: string) => {
          const entry = relative(root, join(dirname(path), module));
          return `new URL("./${entryName(entry)}.mjs", import.meta.url)`;
        }).replace(TASK, "pingress ");
        return { contents, loader: "ts" };
      });
    },
  };
}

async function deno(cwd: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand("deno", args, { cwd });
  if (code !== 0) throw new Error(`deno ${args.join(" ")} failed: ${stderr.trim()}`);
  return stdout;
}
