/**
 * One bundle of a program. In: the modules that its main module reaches, and a folder to write to.
 * Out: a file for the program, one for each thread that it starts, and those that they share;
 * packages of npm are in it, so that nothing is looked up when it runs.
 */
import * as esbuild from "esbuild";
import { builtinModules } from "node:module";
import { dirname, join, relative } from "node:path";
import { entriesOf, entryName, THREAD } from "./entries.ts";
import { contentOf, type ProgramContent, stagePackages } from "./packages.ts";

/** Where a program's code is, which its threads may read: in a bundle, the folder of all files. */
const CODE_FOLDER = /resolve\(import\.meta\.dirname!, "[./a-z]{2,100}"(?:, folder)?\)/g;

/** In place of it, until the module has been looked through. */
const CODE_MARK = "CODE_FOLDER_OF_BUNDLE";

/** What would name another place in a bundle than in the sources. */
const OWN_PLACE = /import\.meta\.dirname|new URL\(\s*"[^"]*\.ts"/;

export interface Bundle {
  /** What it was made from. */
  readonly content: ProgramContent;
  /** The program, then its threads, relative to the repository. */
  readonly entries: readonly string[];
}

export interface BundleOptions {
  /** The repository. */
  readonly root: string;
  /** The main module, relative to the repository. */
  readonly program: string;
  /** Gets the files. */
  readonly output: string;
  /** Gets a copy of the packages of npm that are in the bundle. */
  readonly staging: string;
  /**
   * esbuild renames one of two classes with the same name; this keeps `name` as written, for libraries
   * that read it. It adds a call for each function that is made at run time, so do not use it for what
   * carries traffic.
   */
  readonly keepNames?: boolean;
  /** Modules that are others in the bundle, by their paths in the repository. */
  readonly substitutes?: ReadonlyMap<string, string>;
  /** Changes texts for users in the source of a module. */
  readonly edit?: (source: string) => string;
}

/** Throws where a program of others fails, with what it said. */
export async function makeBundle(options: BundleOptions): Promise<Bundle> {
  const { root, program, staging } = options;
  const graphs = await entriesOf(root, program);
  const content = contentOf([...graphs.values()]);
  await stagePackages(root, staging, content);
  try {
    await esbuild.build(buildOptions(options, [...graphs.keys()]));
  } finally {
    await esbuild.stop();
  }
  return { content, entries: [...graphs.keys()] };
}

function buildOptions(options: BundleOptions, entries: readonly string[]): esbuild.BuildOptions {
  const { root, output, staging, keepNames } = options;
  return {
    absWorkingDir: root,
    entryPoints: entries.map((entry) => ({ in: entry, out: entryName(entry) })),
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
    // V8 keeps the source in memory, once for each thread: 3 MiB of white space for a proxy.
    minifySyntax: true,
    minifyWhitespace: true,
    // A position in the stack of an error leads to a few statements.
    lineLimit: 120,
    // Names stay, except where two are equal: messages of errors and libraries that read the names of
    // their classes need them.
    minifyIdentifiers: false,
    keepNames,
    legalComments: "none",
    charset: "utf8",
    // Some packages are CommonJS, and ask for modules of Node when they run.
    banner: {
      js:
        'import { createRequire as createRequireOfNode } from "node:module";const require = createRequireOfNode(import.meta.url);',
    },
    logLevel: "warning",
    plugins: [nodeModulesPlugin(), sourcesPlugin(options)],
  };
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

/** A thread's module, and the folder of the code, have other names and places in the bundle. */
function sourcesPlugin({ root, substitutes, edit }: BundleOptions): esbuild.Plugin {
  return {
    name: "sources",
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (path.includes("/node_modules/")) return undefined;
        const module = substitutes?.get(relative(root, path));
        const source = module === undefined ? path : join(root, module);
        const placed = Deno.readTextFileSync(source).replace(THREAD, (_, module: string) => {
          const entry = relative(root, join(dirname(path), module));
          return `new URL("./${entryName(entry)}.mjs", import.meta.url)`;
        }).replace(CODE_FOLDER, CODE_MARK);
        if (OWN_PLACE.test(placed)) {
          throw new Error(
            `${relative(root, source)} depends on its place in a way that is not known`,
          );
        }
        const contents = placed.replaceAll(CODE_MARK, "import.meta.dirname!");
        return { contents: edit?.(contents) ?? contents, loader: "ts" };
      });
    },
  };
}
