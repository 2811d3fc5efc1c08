/**
 * A program that is measured or measures. In: a command line. Out: its running process, with what
 * it said when it dies too early, and the CPU time and memory that it and its children use.
 */
import { type Address, formatAddress } from "../shared/net/address.ts";
import { residentBytes } from "./memory.ts";

/** CPU time since the start, in µs. */
export interface CpuTime {
  readonly user: number;
  readonly system: number;
}

export interface Usage extends CpuTime {
  /** Resident memory, pages that its processes share counted once, in bytes. */
  readonly memory: number;
}

/** Debian installs servers where the PATH of users who are not root does not lead. */
const ENVIRONMENT = {
  NO_COLOR: "1",
  PATH: `${Deno.env.get("PATH") ?? "/usr/bin:/bin"}:/usr/sbin:/sbin`,
};

export class Child {
  #process: Deno.ChildProcess;
  #output: Promise<string>;
  #exited = false;

  private constructor(process: Deno.ChildProcess) {
    this.#process = process;
    this.#output = Promise.all([text(process.stdout), text(process.stderr)])
      .then((parts) => parts.join(""));
    process.status.then(() => this.#exited = true);
  }

  /** Starts a program; throws where it cannot be started. */
  static start(command: readonly string[], cwd?: string): Child {
    return new Child(
      new Deno.Command(command[0], {
        args: command.slice(1),
        cwd,
        env: ENVIRONMENT,
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      }).spawn(),
    );
  }

  get pid(): number {
    return this.#process.pid;
  }

  /** Settles when the program has ended. */
  get ended(): Promise<void> {
    return this.#process.status.then(() => {});
  }

  /** Waits until the program takes connections; throws with what it said when it ends before. */
  async listening(address: Address, timeout = 20_000): Promise<void> {
    const deadline = Date.now() + timeout;
    while (!this.#exited && Date.now() < deadline) {
      try {
        (await Deno.connect(address)).close();
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    const why = this.#exited ? "ended" : `was silent for ${timeout} ms`;
    await this.stop();
    throw new Error(
      `${formatAddress(address)} does not answer: its program ${why}\n${await this.#output}`,
    );
  }

  /** Ends the program and its children, by force after two seconds. */
  async stop(): Promise<void> {
    const family = descendants(this.pid);
    for (const pid of family) signal(pid, "SIGTERM");
    const timer = setTimeout(() => family.forEach((pid) => signal(pid, "SIGKILL")), 2000);
    await this.#process.status;
    clearTimeout(timer);
    await this.#output;
  }

  /** The program and its children, with all their threads. */
  usage(): Usage {
    const all = descendants(this.pid).map(processUsage);
    return {
      user: all.reduce((sum, { user }) => sum + user, 0),
      system: all.reduce((sum, { system }) => sum + system, 0),
      memory: residentBytes(all.map(({ rollup }) => rollup)),
    };
  }
}

/** Runs a program to its end; what it said. Throws with that when it fails. */
export async function run(
  command: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command[0], {
    args: command.slice(1),
    env: { ...ENVIRONMENT, ...environment },
    stdin: "null",
  }).output();
  const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  if (!success) throw new Error(`${command[0]}: ${said}`);
  return said;
}

/** The first line that a program says about its version, or null where there is no such program. */
export async function versionOf(command: readonly string[]): Promise<string | null> {
  try {
    const { stdout, stderr } = await new Deno.Command(command[0], {
      args: command.slice(1),
      env: ENVIRONMENT,
    }).output();
    // nginx and wrk say it on standard error or with a failing exit code.
    const said = new TextDecoder().decode(stdout) || new TextDecoder().decode(stderr);
    return said.trim().split("\n")[0];
  } catch {
    return null;
  }
}

/** Ends by force all that this process has started, and what they have. */
export function endAll(): void {
  for (const pid of descendants(Deno.pid).slice(1)) signal(pid, "SIGKILL");
}

/** A port that was free a moment ago. */
export function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

/** Characters that are kept of what a program says: an access log would fill memory. */
const KEPT = 65_536;

/** The end of what comes. */
async function text(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let last = "";
  let before = "";
  for await (const chunk of stream) {
    last += decoder.decode(chunk, { stream: true });
    if (last.length < KEPT) continue;
    before = last;
    last = "";
  }
  return (before + last).slice(-KEPT);
}

function signal(pid: number, name: Deno.Signal): void {
  try {
    Deno.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}

/** A process and all below it. */
function descendants(pid: number): number[] {
  const family = [pid];
  for (const one of family) {
    try {
      for (const task of Deno.readDirSync(`/proc/${one}/task`)) {
        const children = Deno.readTextFileSync(`/proc/${one}/task/${task.name}/children`);
        family.push(...children.split(" ").filter((part) => part !== "").map(Number));
      }
    } catch {
      // It ended while we looked.
    }
  }
  return family;
}

/** Linux counts CPU time in hundredths of a second whatever the kernel's own tick is. */
const TICK = 10_000;

interface ProcessUsage extends CpuTime {
  /** What the kernel says of its memory; "" when it has ended. */
  readonly rollup: string;
}

function processUsage(pid: number): ProcessUsage {
  try {
    // The name in parentheses may hold spaces and parentheses.
    const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return {
      // With the time of children that have ended: workers that a reload has replaced.
      user: (Number(fields[11]) + Number(fields[13])) * TICK,
      system: (Number(fields[12]) + Number(fields[14])) * TICK,
      rollup: Deno.readTextFileSync(`/proc/${pid}/smaps_rollup`),
    };
  } catch {
    return { user: 0, system: 0, rollup: "" };
  }
}
