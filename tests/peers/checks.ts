/**
 * Clients that check what they see by themselves. In: a command that prints `{"name", "error"}` a
 * line. Out: the checks that failed, and how many there were.
 */

export interface Checked {
  readonly count: number;
  /** `GET: status 502: …`. */
  readonly failed: readonly string[];
}

/** How long a client may take for all of its checks, in ms. */
const PATIENCE = 120_000;

/** Runs `command`, whose errors go to this process's own. */
export async function runChecks(command: readonly string[]): Promise<Checked> {
  const { code, stdout } = await new Deno.Command(command[0], {
    args: command.slice(1),
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
    signal: AbortSignal.timeout(PATIENCE),
  }).output();
  const lines = new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
  const results: { name: string; error: string }[] = lines.map((line) => JSON.parse(line));
  const failed = results
    .filter(({ error }) => error !== "")
    .map(({ name, error }) => `${name}: ${error}`);
  if (code !== 0) failed.push(`${command[0]} ended with ${code}`);
  return { count: results.length, failed };
}
