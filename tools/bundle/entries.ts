/**
 * Modules of a program that start by themselves. In: its main module. Out: that, then the module of
 * each thread that it or its threads start, with their module graphs.
 */
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { runCommand } from "../command.ts";
import type { ModuleGraph } from "./packages.ts";

/** A thread's module, as code names it: `new URL("./worker.ts", import.meta.url)`. */
export const THREAD = /new URL\(\s*"(\.[\w./-]{1,200}\.ts)",\s*import\.meta\.url,?\s*\)/g;

/** The name in a bundle of a module that starts as a program or a thread; `.mjs` follows. */
export function entryName(path: string): string {
  return path.replace(/\.ts$/, "").replaceAll("/", "-");
}

/** By path relative to the repository `root`, the main module first. */
export async function entriesOf(
  root: string,
  main: string,
): Promise<ReadonlyMap<string, ModuleGraph>> {
  const graphs = new Map<string, ModuleGraph>();
  const add = async (entry: string) => {
    if (graphs.has(entry)) return;
    const { code, stdout, stderr } = await runCommand("deno", ["info", "--json", entry], {
      cwd: root,
    });
    if (code !== 0) throw new Error(`deno info ${entry} failed: ${stderr.trim()}`);
    const graph: ModuleGraph = JSON.parse(stdout);
    graphs.set(entry, graph);
    for (const thread of threadsOf(root, graph)) await add(thread);
  };
  await add(main);
  return graphs;
}

function threadsOf(root: string, { modules }: ModuleGraph): string[] {
  return modules.flatMap(({ specifier }) => {
    if (!specifier.startsWith("file:") || !specifier.endsWith(".ts")) return [];
    const path = fileURLToPath(specifier);
    return Array.from(
      Deno.readTextFileSync(path).matchAll(THREAD),
      ([, module]) => relative(root, join(dirname(path), module)),
    );
  });
}
