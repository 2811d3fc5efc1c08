/** Clients of others that Debian has. In: a program's name and arguments. Out: what it says. */
import { skip } from "./go_program.ts";

/** How long a program may take, in ms. */
const PATIENCE = 60_000;

export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Whether `program` can be started; where not, says that `test` is skipped, and in CI throws. */
export async function isInstalled(
  test: string,
  program: string,
  debianPackage: string,
): Promise<boolean> {
  try {
    await run(program, ["--version"]);
    return true;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    const remedy = `${program} is not installed (remedy: apt-get install ${debianPackage})`;
    return skip(test, remedy) !== null;
  }
}

/** Runs a program to its end, with `input` on its standard input. */
export async function run(
  program: string,
  args: readonly string[],
  input?: Uint8Array<ArrayBuffer>,
): Promise<Said> {
  const child = new Deno.Command(program, {
    args: [...args],
    stdin: input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(PATIENCE),
  }).spawn();
  if (input !== undefined) {
    // One that ends without reading is judged by what it says.
    new Blob([input]).stream().pipeTo(child.stdin).catch(() => {});
  }
  const { code, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}
