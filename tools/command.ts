/**
 * Programs of others. In: a name and arguments. Out: what it said and its exit code, or that it is
 * not there; never an exception for what can go wrong on a user's machine.
 */

export interface CommandAnswer {
  /** 127 where the program is not there, as shells have it. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  /** Standard input. */
  readonly input?: string;
  /** What it says goes to the terminal as it comes, and is not in the answer. */
  readonly shown?: boolean;
  /** Working directory. Default: that of this process. */
  readonly cwd?: string;
  /** Environment variables, beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The exit code of a program that is not installed. */
export const NOT_THERE = 127;

export async function runCommand(
  program: string,
  args: readonly string[],
  { input, shown = false, cwd, env }: CommandOptions = {},
): Promise<CommandAnswer> {
  const output = shown ? "inherit" : "piped";
  let child: Deno.ChildProcess;
  try {
    child = new Deno.Command(program, {
      args: [...args],
      cwd,
      env: { ...env },
      stdin: input === undefined ? "null" : "piped",
      stdout: output,
      stderr: output,
    }).spawn();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { code: NOT_THERE, stdout: "", stderr: `${program} is not installed, or not in PATH` };
  }
  if (input !== undefined) await feed(child, input);
  if (shown) return { code: (await child.status).code, stdout: "", stderr: "" };
  const { code, stdout, stderr } = await child.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

async function feed(child: Deno.ChildProcess, input: string): Promise<void> {
  const writer = child.stdin.getWriter();
  try {
    await writer.write(new TextEncoder().encode(input));
    await writer.close();
  } catch (error) {
    // It ended before it had read all; its exit code and its words say why.
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

/** As one would type it. */
export function shellLine(program: string, args: readonly string[]): string {
  const quoted = args.map((arg) =>
    /^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`
  );
  return [program, ...quoted].join(" ");
}
