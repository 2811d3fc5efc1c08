/**
 * One run of a command of CI. In: a line for bash, the longest that it may take, and whether it runs
 * in a session of its own. Out: its exit code and all that it printed, on the terminal too once it is
 * shown.
 */

export interface CommandResult {
  readonly code: number;
  readonly timedOut: boolean;
  /** Standard output and error together. */
  readonly output: string;
  readonly seconds: number;
}

/** What a command's processes get to end after SIGTERM, before SIGKILL. */
const KILL_AFTER_S = 10;
/** How long output is awaited that a process left behind keeps open. */
const LEFT_BEHIND_MS = 2_000;
/** `timeout` ends so when the time was up. */
const TIMED_OUT = 124;
const KILLED = 137;

/** Steps that run beside others are shown when the terminal is free. */
export class CommandRun {
  readonly result: Promise<CommandResult>;
  #hidden: Uint8Array[] | null = [];

  /** @param seconds the longest that the command may take */
  constructor(command: string, seconds: number, ownSession: boolean) {
    this.result = this.#run(command, seconds, ownSession);
  }

  /** Prints what came so far, and from now on what comes. */
  show(): void {
    for (const chunk of this.#hidden ?? []) print(chunk);
    this.#hidden = null;
  }

  async #run(command: string, seconds: number, ownSession: boolean): Promise<CommandResult> {
    const start = performance.now();
    // `timeout` leads a process group of its own, which it ends as a whole. `setsid` becomes `timeout`:
    // it starts another process only where it leads a group itself.
    const [program, ...args] = [
      ...(ownSession ? ["setsid"] : []),
      "timeout",
      `--kill-after=${KILL_AFTER_S}`,
      String(seconds),
      "bash",
      "-c",
      `exec 2>&1\n${command}`,
    ];
    const child = new Deno.Command(program, {
      args,
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const chunks: Uint8Array[] = [];
    const reader = child.stdout.getReader();
    const read = this.#read(reader, chunks);
    const { code } = await child.status;
    const elapsed = (performance.now() - start) / 1000;
    const timedOut = code === TIMED_OUT || (code === KILLED && elapsed >= seconds);
    if (timedOut) await killGroup(child.pid);
    const timer = setTimeout(() => reader.cancel(), LEFT_BEHIND_MS);
    await read;
    clearTimeout(timer);
    const output = await new Blob(chunks as Uint8Array<ArrayBuffer>[]).text();
    return { code, timedOut, output, seconds: elapsed };
  }

  async #read(
    reader: ReadableStreamDefaultReader<Uint8Array>,
    chunks: Uint8Array[],
  ): Promise<void> {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      chunks.push(value);
      if (this.#hidden === null) print(value);
      else this.#hidden.push(value);
    }
  }
}

/** Ends what ignored the SIGTERM of a command that took too long. */
async function killGroup(leader: number): Promise<void> {
  await new Deno.Command("kill", { args: ["-KILL", "--", `-${leader}`], stderr: "null" }).output();
}

export function print(what: Uint8Array | string): void {
  let bytes = typeof what === "string" ? new TextEncoder().encode(what) : what;
  while (bytes.length > 0) bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
}
