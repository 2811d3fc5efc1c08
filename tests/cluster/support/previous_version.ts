/**
 * The last version that knew snapshot format 1 only, from the history of this repository. In: nothing.
 * Out: a folder with its files, from which its controller and proxies run, or why there is none.
 */
import { join } from "node:path";
import { ProcessGuard } from "./guarded_process.ts";

const ROOT = join(import.meta.dirname!, "..", "..", "..");

/** Format 2 came with this file. */
const FIRST_OF_FORMAT_2 = "shared/snapshot/schema.ts";

export type PreviousVersionFound =
  | { readonly ok: true; readonly version: PreviousVersion }
  | { readonly ok: false; readonly error: string };

export class PreviousVersion {
  readonly #guard: ProcessGuard;

  private constructor(
    /** Its files, without history. */
    readonly root: string,
    readonly commit: string,
    guard: ProcessGuard,
  ) {
    this.#guard = guard;
  }

  /** Takes its files out of the history; nothing of the repository changes. */
  static async find(): Promise<PreviousVersionFound> {
    const added = await git("log", "--diff-filter=A", "--format=%H", "--", FIRST_OF_FORMAT_2);
    const first = added?.trim().split("\n").at(-1);
    // Where history is cut off, the oldest commit seems to have added all files, and has no parent.
    const commit = first
      ? (await git("rev-parse", "--verify", "--quiet", `${first}^`))?.trim()
      : "";
    if (!commit) {
      const error = "the history has no version before snapshot format 2; " +
        "clone the repository with it (git fetch --unshallow)";
      return { ok: false, error };
    }
    const root = await Deno.makeTempDir({ prefix: "pingress-previous-" });
    const guard = new ProcessGuard(root);
    const archive = join(root, "files.tar");
    try {
      await run("git", "-C", ROOT, "archive", `--output=${archive}`, commit);
      await run("tar", "-xf", archive, "-C", root);
      await Deno.remove(archive);
      const config = ["--quiet", "--config", join(root, "deno.json")];
      for (const program of ["controller", "proxy"]) {
        await run(Deno.execPath(), "cache", ...config, join(root, program, "main.ts"));
      }
      return { ok: true, version: new PreviousVersion(root, commit, guard) };
    } catch (error) {
      await guard.close();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#guard.close();
  }
}

/** What git says; null where it fails, as outside of a repository. */
async function git(...args: string[]): Promise<string | null> {
  const command = new Deno.Command("git", { args: ["-C", ROOT, ...args], stderr: "null" });
  const output = await command.output().catch(() => null);
  return output?.success ? new TextDecoder().decode(output.stdout) : null;
}

async function run(program: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args, stdin: "null" }).output();
  if (success) return;
  throw new Error(`${program} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}
