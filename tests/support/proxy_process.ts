/**
 * `deno task proxy` as a process of its own, with the command and permissions of deno.json. In: a
 * snapshot and arguments. Out: its ports, its log, its memory.
 */
import { join } from "node:path";
import { serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";

const ROOT = join(import.meta.dirname!, "..", "..");

/** How long a line of the log is waited for, in ms: on a busy machine, a start with a large snapshot takes 20 s. */
const PATIENCE = 60_000;

export interface ProxyProcessOptions {
  readonly snapshot: Snapshot;
  readonly args?: readonly string[];
  /** The line of the log that is waited for; "Ready" without it. */
  readonly started?: string;
  /** Writes the configuration's text to `snapshot.json` in the folder; a rename without it. */
  readonly publish?: Publish;
  /** Goes before `deno`: `prlimit --nofile=256`. */
  readonly wrapper?: readonly string[];
  /** The name of the first file in the folder, which `publish` writes; default: `snapshot.json`. */
  readonly config?: string;
  /** The program, in the checkout; default: `proxy/main.ts`. */
  readonly program?: string;
  /** The checkout that it runs from; default: this one. */
  readonly root?: string;
}

export type Publish = (folder: string, text: string) => void;

/** A line of the log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly message?: string };

export class ProxyProcess {
  readonly lines: LogLine[] = [];
  /** Once it has ended. */
  code: number | null = null;
  readonly #child: Deno.ChildProcess;
  readonly #folder: string;
  readonly #publish: Publish;
  readonly #reading: Promise<void>;
  #deaf = false;
  #more = Promise.withResolvers<void>();

  private constructor(child: Deno.ChildProcess, folder: string, publish: Publish) {
    this.#child = child;
    this.#folder = folder;
    this.#publish = publish;
    this.#reading = this.#read();
    child.status.then(({ code }) => this.code = code);
  }

  /** Listens on ports of the system's choosing, for HTTP, HTTPS and the admin port. */
  static async start(options: ProxyProcessOptions): Promise<ProxyProcess> {
    const { snapshot, args = [], wrapper = [], publish = rename, started = "Ready" } = options;
    const { config = "snapshot.json", root = ROOT, program } = options;
    const folder = await Deno.makeTempDir();
    publish(folder, serialiseSnapshot(snapshot, { revealKeys: true }));
    const { tasks } = JSON.parse(await Deno.readTextFile(join(root, "deno.json")));
    const task: string[] = tasks.proxy.command.split(" ").slice(1);
    if (program !== undefined) task[task.length - 1] = program;
    const command = [
      ...wrapper,
      Deno.execPath(),
      ...task,
      `--config=${join(folder, config)}`,
      `--watch=${folder}`,
      "--listen-http=127.0.0.1:0",
      "--listen-https=127.0.0.1:0",
      // Lines are kept: an access log would fill memory with them.
      ...["--admin=127.0.0.1:0", "--drain-delay=0", "--access-log=false"].filter((flag) =>
        !args.some((arg) => arg.split("=")[0] === flag.split("=")[0])
      ),
      ...args,
    ];
    const child = new Deno.Command(command[0], {
      args: command.slice(1),
      cwd: root,
      stdin: "null",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const process = new ProxyProcess(child, folder, publish);
    await process.line(started);
    return process;
  }

  get httpPort(): number {
    return this.#port("Listening", "http");
  }

  get httpsPort(): number {
    return this.#port("Listening", "https");
  }

  get adminPort(): number {
    const { message } = this.lines.find((line) => "admin" in line) ?? {};
    return this.#port(message ?? "Ready", "admin");
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Settles with its exit code. */
  get ended(): Promise<number> {
    return this.#child.status.then(({ code }) => code);
  }

  signal(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /** Closes its standard output with the next line: from then on nobody reads the log. */
  stopReading(): void {
    this.#deaf = true;
  }

  /** The admin port's answer to `path`: status and text. */
  async admin(
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ status: number; text: string }> {
    const response = await fetch(`http://127.0.0.1:${this.adminPort}${path}`, { headers });
    return { status: response.status, text: await response.text() };
  }

  /** Resident memory in bytes; Linux alone tells. */
  async memory(): Promise<number> {
    const status = await Deno.readTextFile(`/proc/${this.#child.pid}/status`);
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  /** The most that was ever resident, in bytes; Linux alone tells. */
  async peakMemory(): Promise<number> {
    const status = await Deno.readTextFile(`/proc/${this.#child.pid}/status`);
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  /** CPU time that it has used, in seconds; Linux alone tells. */
  cpu(): Promise<number> {
    return cpuOf(String(this.#child.pid));
  }

  /** Open descriptors, and how many of them are sockets; Linux alone tells. */
  async descriptors(): Promise<{ all: number; sockets: number }> {
    const folder = `/proc/${this.#child.pid}/fd`;
    let all = 0;
    let sockets = 0;
    for await (const { name } of Deno.readDir(folder)) {
      // One that is closed meanwhile has no link any more.
      const target = await Deno.readLink(join(folder, name)).catch(() => null);
      if (target === null) continue;
      all++;
      if (target.startsWith("socket:")) sockets++;
    }
    return { all, sockets };
  }

  /** Puts another snapshot in place of the one that is watched. */
  replace(snapshot: Snapshot): void {
    this.replaceText(serialiseSnapshot(snapshot, { revealKeys: true }));
  }

  /** The same with any text. */
  replaceText(text: string): void {
    this.#publish(this.#folder, text);
  }

  /** The first line with this message, from the `from`th on. */
  async line(message: string, from = 0): Promise<LogLine> {
    const end = performance.now() + PATIENCE;
    for (;;) {
      const found = this.lines.find((line, i) => i >= from && line.message === message);
      if (found !== undefined) return found;
      if (this.code !== null || performance.now() > end) {
        throw new Error(`no line "${message}" in ${JSON.stringify(this.lines)}`);
      }
      let timer: ReturnType<typeof setTimeout> | undefined;
      const pause = new Promise<void>((resume) => timer = setTimeout(resume, 200));
      await Promise.race([this.#more.promise, pause]);
      clearTimeout(timer);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.code === null) this.#child.kill("SIGKILL");
    await this.#child.status;
    await this.#reading;
    await Deno.remove(this.#folder, { recursive: true });
  }

  #port(message: string, field: string): number {
    const line = this.lines.find((line) => line.message === message && field in line);
    return Number(String([line?.[field]].flat()[0]).split(":").at(-1));
  }

  async #read(): Promise<void> {
    let rest = "";
    for await (const part of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + part).split("\n");
      rest = parts.pop()!;
      for (const text of parts) if (text !== "") this.lines.push(JSON.parse(text));
      if (this.#deaf) break;
      this.#more.resolve();
      this.#more = Promise.withResolvers();
    }
  }
}

/** CPU time in seconds, of what `/proc/<task>` is: to a hundredth of a second. */
export async function cpuOf(task: string): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${task}/stat`);
  // Behind the name, which may hold anything: utime and stime are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** As editors and careful programs replace a file. */
function rename(folder: string, text: string): void {
  const file = join(folder, "snapshot.json");
  Deno.writeTextFileSync(`${file}.new`, text);
  Deno.renameSync(`${file}.new`, file);
}
