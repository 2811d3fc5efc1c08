/**
 * Holds the repository to its import rules. In: every TypeScript file below a folder, and the
 * tasks of its deno.json. Out: each breach as one line; the exit code is 1 when there are any.
 *
 *     deno run -P=check tools/check_imports.ts
 */
import { dirname, join, normalize } from "node:path/posix";
import { findBreaches, type Module, type ResolvedImport } from "./import_rules.ts";
import { codeOf, importsOf } from "./source.ts";

/** What the check of one folder found. */
export interface Findings {
  readonly files: number;
  readonly breaches: readonly string[];
}

/** Reads the repository at `root`. Throws where a file cannot be read or deno.json not be parsed. */
export function checkImports(root: string): Findings {
  const config = JSON.parse(Deno.readTextFileSync(join(root, "deno.json")));
  const modules = readModules(root);
  return { files: modules.length, breaches: findBreaches(modules, entriesOf(config.tasks ?? {})) };
}

/** Every TypeScript file of the repository, with its imports. */
export function readModules(root: string): Module[] {
  return findFiles(root, "").map((path) => readModule(root, path));
}

const SKIPPED = new Set([".git", "node_modules", "vendor"]);

function findFiles(root: string, folder: string): string[] {
  return [...Deno.readDirSync(join(root, folder))].flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory) return SKIPPED.has(entry.name) ? [] : findFiles(root, path);
    return entry.isFile && path.endsWith(".ts") ? [path] : [];
  });
}

function readModule(root: string, path: string): Module {
  const text = Deno.readTextFileSync(join(root, path));
  const code = codeOf(text);
  const imports = importsOf(text, code).map((one): ResolvedImport => ({
    ...one,
    target: one.specifier?.startsWith(".") ? normalize(join(dirname(path), one.specifier)) : null,
  }));
  return { path, text, code, lines: text.split("\n").length - 1, imports };
}

/** The files that tasks start: `deno run -P=explain dev/explain.ts`. */
function entriesOf(tasks: Record<string, string | { readonly command?: string }>): Set<string> {
  const commands = Object.values(tasks).map((task) =>
    typeof task === "string" ? task : task.command ?? ""
  );
  return new Set(
    commands.flatMap((command) => command.split(/[^\w./-]/)).filter((word) => word.endsWith(".ts")),
  );
}

if (import.meta.main) {
  const { files, breaches } = checkImports(".");
  for (const breach of breaches) console.error(breach);
  console.log(`${files} files, ${breaches.length} breaches of the import rules`);
  if (breaches.length > 0) Deno.exit(1);
}
