/**
 * The load generator as a test sees it. In: a plan. Out: what has failed so far, and in the end what
 * was answered and how fast.
 */
import { join } from "node:path";
import { cpuTime } from "../../../bench/controller/process_usage.ts";
import type {
  CertificateSeen,
  Failure,
  LoadLine,
  LoadPlan,
  Progress,
  SocketEnd,
  Summary,
} from "./plan.ts";

const PROGRAM = join(import.meta.dirname!, "main.ts");

/**
 * Sockets that a turn of its event loop serves; for the reason, see `proxy/process/io_turns.ts`. Without a limit, a
 * generator with 3,000 requests under way and little CPU left some of them 24 s without a response that had come, and
 * counted 349 of 4,000 as failed; with it all took 15 to 16 s. Half of the proxy's, as it begins requests besides.
 */
const EVENTS_PER_TURN = { DENO_TOKIO_MAX_IO_EVENTS_PER_TICK: "32" };

export interface LoadReport extends Summary {
  /** CPU of the load generator itself, in s. */
  readonly cpu: number;
}

export class Load {
  readonly failures: Failure[] = [];
  readonly ends: SocketEnd[] = [];
  readonly certificates: CertificateSeen[] = [];
  progress: Progress = { kind: "progress", at: 0, answered: 0, failed: 0 };
  readonly #child: Deno.ChildProcess;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #started = Promise.withResolvers<void>();
  readonly #reading: Promise<void>;
  #summary: Summary | null = null;
  #more = Promise.withResolvers<void>();
  #over = false;

  private constructor(child: Deno.ChildProcess) {
    this.#child = child;
    this.#input = child.stdin.getWriter();
    this.#reading = this.#read();
  }

  /** Settles once kept connections and sockets are open, and requests are being sent. */
  static async start(plan: LoadPlan): Promise<Load> {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", "--allow-all", PROGRAM],
      env: EVENTS_PER_TURN,
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const load = new Load(child);
    await load.#input.write(new TextEncoder().encode(`${JSON.stringify(plan)}\n`));
    await load.#started.promise;
    return load;
  }

  /** Waits until `count` more requests or messages were answered than now; throws after `patience` ms. */
  async answers(count: number, patience = 30_000): Promise<void> {
    const wanted = this.progress.answered + count;
    const end = performance.now() + patience;
    while (this.progress.answered < wanted) {
      if (this.#over || performance.now() > end) {
        throw new Error(`the load has had ${this.progress.answered} answers, not ${wanted}`);
      }
      await this.#next();
    }
  }

  /** Goes on for so long, in ms. */
  async lasts(ms: number): Promise<void> {
    const end = performance.now() + ms;
    while (performance.now() < end) {
      if (this.#over) throw new Error("the load generator has ended");
      await this.#next(end - performance.now());
    }
  }

  /** Suspends its process, as a machine without CPU for it would, until `resume`. */
  suspend(): void {
    this.#child.kill("SIGSTOP");
  }

  resume(): void {
    this.#child.kill("SIGCONT");
  }

  /** Lets what is under way come to its end. */
  async stop(): Promise<LoadReport> {
    const cpu = cpuTime(this.#child.pid) / 1000;
    await this.#input.close();
    await this.#reading;
    await this.#child.status;
    if (this.#summary === null) throw new Error("the load generator has ended without a summary");
    return { ...this.#summary, cpu };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#over) {
      this.#child.kill("SIGKILL");
      await this.#input.close().catch(() => {});
    }
    await this.#reading;
    await this.#child.status;
  }

  async #next(patience = 1_000): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const pause = new Promise<void>((resume) => timer = setTimeout(resume, patience));
    await Promise.race([this.#more.promise, pause]);
    clearTimeout(timer);
  }

  async #read(): Promise<void> {
    let rest = "";
    for await (const part of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + part).split("\n");
      rest = lines.pop()!;
      for (const line of lines) this.#take(JSON.parse(line));
      this.#more.resolve();
      this.#more = Promise.withResolvers();
    }
    this.#over = true;
    this.#more.resolve();
    this.#started.reject(new Error("the load generator has ended before it began"));
  }

  #take(line: LoadLine): void {
    if (line.kind === "started") this.#started.resolve();
    else if (line.kind === "failure") this.failures.push(line);
    else if (line.kind === "end") this.ends.push(line);
    else if (line.kind === "certificate") this.certificates.push(line);
    else if (line.kind === "progress") this.progress = line;
    else this.#summary = line;
  }
}
