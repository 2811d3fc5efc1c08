/**
 * Folders and files as the user named them. In: paths of the command line. Out: one line on the first that cannot
 * be read, with what helps.
 */
import { basename, dirname } from "node:path";
import { nearestName } from "../../shared/nearest_name.ts";

/** What `dev` and `explain` read where no folder is named: the checkout has it. */
export const DEFAULT_FOLDER = "examples";

/** Also of a shell's `<(…)`. */
const STANDARD_INPUT = /^(?:-|\/dev\/stdin|\/dev\/fd\/\d+|\/proc\/\w+\/fd\/\d+)$/;

/**
 * Null where all can be read.
 *
 * @param usage A command line with a folder, for users who have named none.
 */
export async function unreadablePath(
  paths: readonly string[],
  usage: string | null = null,
): Promise<string | null> {
  for (const path of paths) {
    if (STANDARD_INPUT.test(path)) {
      return `Standard input (${path}) is not read; write it to a file, and name that: ` +
        "helm template CHART > all.yaml";
    }
    try {
      await Deno.stat(path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return await missing(path, usage);
      return `Cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
  return null;
}

async function missing(path: string, usage: string | null): Promise<string> {
  if (await isLink(path)) return `${path} is a link to what is not there; correct or remove it`;
  const near = await neighbour(path);
  const remedy = near !== null
    ? `did you mean ${near}?`
    : path === DEFAULT_FOLDER && usage !== null
    ? `name a folder: ${usage}`
    : "name one with Kubernetes YAML in it";
  return `There is no file or folder ${path}; ${remedy}`;
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await Deno.lstat(path)).isSymlink;
  } catch {
    return false;
  }
}

/** What stands in the same folder and has nearly the same name; null for nothing. */
async function neighbour(path: string): Promise<string | null> {
  const name = basename(path);
  const names: string[] = [];
  try {
    for await (const entry of Deno.readDir(dirname(path))) names.push(entry.name);
  } catch {
    return null;
  }
  const near = nearestName(name, names);
  return near === null ? null : `${path.slice(0, path.lastIndexOf(name))}${near}`;
}
