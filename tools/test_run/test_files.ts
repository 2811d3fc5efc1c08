/** Test files. In: a folder, relative to the one that paths begin with. Out: the paths of those in it, sorted. */
import { globSync } from "node:fs";
import { join } from "node:path";

export function testFiles(folder: string, root = Deno.cwd()): string[] {
  return globSync("**/*_test.ts", { cwd: join(root, folder), exclude: ["**/node_modules/**"] })
    .map((path) => join(folder, path))
    .sort();
}
