/**
 * Servers that end with the test, however it ends. In: a command line. Out: a process whose output
 * goes to a file, and that can be stopped, started again, and frozen.
 */

/** How long a process is given to stop by itself, in ms, before it is killed. */
const GRACE = 15_000;

/**
 * Of programs written in Go, as etcd and kube-apiserver: less garbage collection for more memory. Until
 * it is ready, a kube-apiserver takes 1.6 s of CPU and 360 MiB in place of 1.9 s and 250 MiB.
 */
const GO_ENVIRONMENT = { GOGC: "400" };

/**
 * A shell that waits for this process to end, by whatever cause: then its standard input closes, and
 * it kills what was last named to it and removes the folder.
 */
const GUARD = `trap '' INT TERM HUP
pids=
while read -r line; do pids=$line; done
[ -z "$pids" ] || kill -9 $pids 2>/dev/null
rm -rf -- "$1"`;

/** Kills processes and removes a folder when this process ends or `close` is called. */
export class ProcessGuard {
  readonly #shell: Deno.ChildProcess;
  readonly #pids = new Set<number>();
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  #isClosed = false;

  /** @param folder is removed at the end. */
  constructor(folder: string) {
    this.#shell = new Deno.Command("sh", {
      args: ["-c", GUARD, "guard", folder],
      stdin: "piped",
      stdout: "null",
      stderr: "null",
    }).spawn();
    this.#input = this.#shell.stdin.getWriter();
  }

  async add(pid: number): Promise<void> {
    this.#pids.add(pid);
    await this.#tell();
  }

  async remove(pid: number): Promise<void> {
    this.#pids.delete(pid);
    await this.#tell();
  }

  /** Kills and removes now; nothing happens the second time. */
  async close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      await this.#input.close();
    }
    await this.#shell.status;
  }

  async #tell(): Promise<void> {
    await this.#input.write(new TextEncoder().encode(`${[...this.#pids].join(" ")}\n`));
  }
}

/** A server that can be started, stopped and frozen again and again. */
export class GuardedProcess {
  readonly #guard: ProcessGuard;
  readonly #log: string;
  #child: Deno.ChildProcess | null = null;
  #hasEnded = false;

  /** @param log is the path of the file that its output is added to. */
  constructor(guard: ProcessGuard, log: string) {
    this.#guard = guard;
    this.#log = log;
  }

  get isRunning(): boolean {
    return this.#child !== null && !this.#hasEnded;
  }

  /** Of the process that runs; throws where none does. */
  get pid(): number {
    return this.#running().pid;
  }

  /** Starts the command; throws where the last one still runs. */
  async start(command: string, args: readonly string[]): Promise<void> {
    if (this.isRunning) throw new Error(`${command} runs already`);
    await this.stop("SIGKILL");
    const child = new Deno.Command("sh", {
      // The shell becomes the command, so that the process id is the command's.
      args: ["-c", 'log=$1; shift; exec "$@" >>"$log" 2>&1', "sh", this.#log, command, ...args],
      env: GO_ENVIRONMENT,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    this.#child = child;
    this.#hasEnded = false;
    child.status.then(() => {
      if (this.#child === child) this.#hasEnded = true;
    });
    await this.#guard.add(child.pid);
  }

  /** Stops it and waits for its end; nothing happens where none runs. */
  async stop(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    this.#send(signal);
    const timer = setTimeout(() => this.#send("SIGKILL"), GRACE);
    await child.status;
    clearTimeout(timer);
    this.#child = null;
    await this.#guard.remove(child.pid);
  }

  /** Freezes it: its connections stay, its port accepts into the queue, nothing is answered. */
  pause(): void {
    this.#running().kill("SIGSTOP");
  }

  resume(): void {
    this.#running().kill("SIGCONT");
  }

  /** The last lines of its output. */
  async tail(lines = 20): Promise<string> {
    const text = await Deno.readTextFile(this.#log).catch(() => "");
    return text.trimEnd().split("\n").slice(-lines).join("\n");
  }

  #running(): Deno.ChildProcess {
    if (this.#child === null || this.#hasEnded) throw new Error("Cannot signal: it does not run");
    return this.#child;
  }

  #send(signal: Deno.Signal): void {
    if (this.isRunning) this.#child!.kill(signal);
  }
}
