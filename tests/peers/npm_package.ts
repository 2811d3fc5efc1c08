/** npm's packages for programs that Node itself runs. In: a package at one version. Out: its folder. */
import { join } from "node:path";
import { cacheFolder, skip } from "./go_program.ts";

/** The version that our own tests have from deno.json. */
export const GRPC_JS = "@grpc/grpc-js@1.14.7";

/** How long an installation may take, in ms. */
const PATIENCE = 120_000;

/**
 * The folder in which `node_modules` has the package, installed once; null, and said so, where Node
 * or npm is missing. In CI it throws then.
 */
export async function findNodePackage(test: string, name: string): Promise<string | null> {
  for (const program of ["node", "npm"]) {
    if (await succeeds(program, ["--version"])) continue;
    return skip(test, `${program} is not installed (remedy: apt-get install nodejs npm)`);
  }
  const folder = join(cacheFolder(), name.replaceAll("/", "+"));
  const installed = join(folder, "node_modules");
  if (await Deno.stat(installed).then(() => true, () => false)) return folder;
  await Deno.mkdir(cacheFolder(), { recursive: true });
  // Elsewhere until it is whole: an installation that was interrupted must not count as one.
  const temporary = await Deno.makeTempDir({ dir: cacheFolder() });
  const options = ["--no-audit", "--no-fund", "--ignore-scripts", "--silent"];
  if (!await succeeds("npm", ["install", ...options, "--prefix", temporary, name])) {
    await Deno.remove(temporary, { recursive: true });
    return skip(test, `npm cannot install ${name} (remedy: let npm reach its registry)`);
  }
  await Deno.rename(temporary, folder);
  return folder;
}

async function succeeds(program: string, args: string[]): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(program, {
      args,
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
      signal: AbortSignal.timeout(PATIENCE),
    }).output();
    return success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
