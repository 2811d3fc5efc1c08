/**
 * `deno task controller` as a process of its own, with the command and permissions of deno.json. In:
 * a kubeconfig and arguments. Out: its log, its admin port, its exit code.
 */
import { join } from "node:path";
import { parseAddress } from "../../../shared/net/address.ts";
import type { LogLine } from "../../support/proxy_process.ts";
import { eventually, isThere, PATIENCE } from "./condition.ts";
import { ProcessGuard } from "./guarded_process.ts";

const ROOT = join(import.meta.dirname!, "..", "..", "..");

export interface ControllerOptions {
  /** The path of a file. */
  readonly kubeconfig?: string;
  /** Flags of the controller; they win over the harness's `--admin` and `--stream`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Of Deno, beside the permission set; each replaces its kind in the set. */
  readonly denoFlags?: readonly string[];
  /** The checkout that it runs from; default: this one. */
  readonly root?: string;
}

export interface AdminAnswer {
  readonly status: number;
  readonly text: string;
}

/** One replica. It is killed when the test ends, however it ends. */
export class ControllerProcess {
  /** In the order they came. */
  readonly lines: LogLine[] = [];
  /** What it wrote that is no line of the log: a crash, on either output. */
  readonly noise: string[] = [];
  /** Once it has ended. */
  code: number | null = null;
  readonly #child: Deno.ChildProcess;
  readonly #guard: ProcessGuard;
  readonly #reading: Promise<unknown>;

  private constructor(child: Deno.ChildProcess, guard: ProcessGuard) {
    this.#child = child;
    this.#guard = guard;
    this.#reading = Promise.all([this.#read(child.stdout), this.#read(child.stderr)]);
    child.status.then(({ code }) => this.code = code);
  }

  /** Starts it and waits for nothing: `ready`, `line` and `ended` do. */
  static async spawn(options: ControllerOptions): Promise<ControllerProcess> {
    const { kubeconfig, args = [], env = {}, denoFlags = [], root = ROOT } = options;
    const config = JSON.parse(await Deno.readTextFile(join(root, "deno.json")));
    const own = ["--admin=127.0.0.1:0", "--stream=127.0.0.1:0", "--allow-unbound-tokens"];
    if (kubeconfig !== undefined) own.push(`--kubeconfig=${kubeconfig}`);
    const guard = new ProcessGuard(await Deno.makeTempDir({ prefix: "pingress-controller-" }));
    const given = new Set(args.map((arg) => arg.split("=")[0]));
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...config.tasks.controller.command.split(" ").slice(1).toSpliced(-1, 0, ...denoFlags),
        ...own.filter((flag) => !given.has(flag.split("=")[0])),
        ...args,
      ],
      cwd: root,
      env: { NO_COLOR: "1", ...env },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    await guard.add(child.pid);
    return new ControllerProcess(child, guard);
  }

  /** Starts it and waits until it is ready. */
  static async start(options: ControllerOptions): Promise<ControllerProcess> {
    const controller = await ControllerProcess.spawn(options);
    try {
      await controller.ready();
      return controller;
    } catch (error) {
      await controller[Symbol.asyncDispose]();
      throw error;
    }
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Settles with its exit code. */
  get ended(): Promise<number> {
    return this.#child.status.then(({ code }) => code);
  }

  /** Waits until `/readyz` answers 200. */
  async ready(patience = PATIENCE): Promise<void> {
    await this.#eventually("ready controller", async () => {
      if (this.#adminAddress() === null) return false;
      return await this.admin("/readyz").then(({ status }) => status === 200, () => false);
    }, patience);
  }

  /** Once it listens there. */
  async adminPort(): Promise<number> {
    const address = await this.#eventually("admin address", () => this.#adminAddress());
    return parseAddress(address)!.port;
  }

  /** The admin port's answer to `path`. */
  async admin(path: string): Promise<AdminAnswer> {
    const address = await this.#eventually("admin address", () => this.#adminAddress());
    const response = await fetch(`http://${address}${path}`);
    return { status: response.status, text: await response.text() };
  }

  /** A metric's value, of the first series whose text begins with `series`; `null` for none. */
  async metric(series: string): Promise<number | null> {
    const { text } = await this.admin("/metrics");
    const line = text.split("\n").find((line) => line.startsWith(series));
    return line === undefined ? null : Number(line.split(" ").at(-1));
  }

  /** The first line with this message, or of which this holds, from the `from`th on. */
  async line(
    wanted: string | ((line: LogLine) => boolean),
    from = 0,
    patience = PATIENCE,
  ): Promise<LogLine> {
    const holds = typeof wanted === "string" ? (line: LogLine) => line.message === wanted : wanted;
    const what = `line ${wanted}`;
    return await this.#eventually(what, () => this.lines.slice(from).find(holds), patience);
  }

  signal(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  /** Asks it to end (SIGTERM), and waits for its exit code. Throws where it does not end in time. */
  async stop(patience = PATIENCE): Promise<number> {
    if (this.code === null) this.signal("SIGTERM");
    const code = await eventually("end after SIGTERM", () => this.code, patience);
    await this.kill();
    return code;
  }

  /** As a node that loses power does: no word to anybody. */
  async kill(): Promise<void> {
    if (this.code === null) this.signal("SIGKILL");
    await this.#child.status;
    await this.#reading;
    await this.#guard.close();
  }

  /** Freezes it, as a machine that sleeps: its connections stay, and its clock jumps. */
  pause(): void {
    this.signal("SIGSTOP");
  }

  resume(): void {
    this.signal("SIGCONT");
  }

  /** Resident memory in bytes; Linux alone tells. */
  async memory(): Promise<number> {
    const status = await Deno.readTextFile(`/proc/${this.pid}/status`);
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  /** `HOST:PORT`, which any line with a field `admin` tells. */
  #adminAddress(): string | null {
    const line = this.lines.find(({ admin }) => admin !== undefined && admin !== null);
    return line === undefined ? null : String([line.admin].flat()[0]);
  }

  async #eventually<T>(what: string, ask: () => Promise<T> | T, patience = PATIENCE) {
    try {
      return await eventually(what, async () => {
        const { code } = this;
        // What it said last counts too.
        if (code !== null) await this.#reading;
        const answer = await ask();
        if (code !== null && !isThere(answer)) throw new Error(`it has ended with ${code}`);
        return answer;
      }, patience);
    } catch (error) {
      const said = [...this.lines.map((line) => JSON.stringify(line)), ...this.noise];
      throw new Error(`No ${what}; it said:\n${said.slice(-30).join("\n")}`, { cause: error });
    }
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    let rest = "";
    for await (const part of stream.pipeThrough(new TextDecoderStream())) {
      const parts = (rest + part).split("\n");
      rest = parts.pop()!;
      for (const text of parts) this.#take(text);
    }
    this.#take(rest);
  }

  #take(text: string): void {
    if (text === "") return;
    try {
      this.lines.push(JSON.parse(text));
    } catch {
      this.noise.push(text);
    }
  }
}
