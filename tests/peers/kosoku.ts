/**
 * Autobahn's WebSocket cases, run by kosoku (PyPI). In: which cases, and an address to drive, or
 * none for a server that drives its clients. Out: a verdict for each case.
 */
import { join } from "node:path";

/** One version, so that the cases are the same everywhere. */
const PACKAGE = "kosoku==0.1.0";
export const MISSING = "kosoku is not installed (remedy: python3 with pip that reaches PyPI, or " +
  "KOSOKU_PYTHON=PATH of a python3 that has kosoku)";
/** Verdicts that RFC 6455 allows: kosoku and Autobahn count these as passed. */
const PASSED = new Set(["OK", "NON-STRICT", "INFORMATIONAL"]);

/** Of all cases: more are not for want of CPU. */
const MOST_LATE = 10;

/** A Python that has kosoku. */
export interface Kosoku {
  readonly python: string;
  readonly env: Record<string, string>;
}

export interface Verdicts {
  /** Cases that ran. */
  readonly count: number;
  /** `7.3.6: FAILED, WRONG CODE` for each that did not pass. */
  readonly failed: readonly string[];
}

interface RunVerdicts extends Verdicts {
  /** Those of `failed` in which kosoku waited no longer for the end of the connection, and dropped it. */
  readonly late: readonly string[];
}

/** Finds kosoku, or installs it into `folder`; null where neither can be done. */
export async function findKosoku(folder: string): Promise<Kosoku | null> {
  const python = Deno.env.get("KOSOKU_PYTHON") ?? "python3";
  if (await succeeds(python, ["-c", "import kosoku"])) return { python, env: {} };
  const target = join(folder, "packages");
  const install = ["-m", "pip", "install", "--quiet", "--target", target, PACKAGE];
  if (!await succeeds(python, install)) return null;
  return { python, env: { PYTHONPATH: target } };
}

async function succeeds(program: string, args: string[]): Promise<boolean> {
  try {
    const command = new Deno.Command(program, { args, stdout: "null", stderr: "null" });
    return (await command.output()).success;
  } catch {
    return false; // There is no such program.
  }
}

/**
 * Drives the server at `url` (`ws:` alone, kosoku has no TLS) through these cases, four at a time; once
 * more, one at a time, those whose end came too late: kosoku waits for a second, and on a busy machine
 * that is not long.
 */
export async function drive(
  kosoku: Kosoku,
  url: string,
  cases: readonly string[],
): Promise<Verdicts> {
  const first = await driveOnce(kosoku, url, cases, 4);
  const { count, failed, late } = first;
  if (late.length === 0 || late.length > MOST_LATE) return { count, failed };
  const again = await driveOnce(kosoku, url, late.map((verdict) => verdict.split(":")[0]), 1);
  const others = failed.filter((verdict) => !late.includes(verdict));
  return { count, failed: [...others, ...again.failed] };
}

async function driveOnce(
  kosoku: Kosoku,
  url: string,
  cases: readonly string[],
  parallel: number,
): Promise<RunVerdicts> {
  const folder = await Deno.makeTempDir({ prefix: "kosoku-" });
  try {
    await spawn(kosoku, [...including(cases), "-p", String(parallel), "-o", folder, url]).status;
    return await verdictsIn(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A server that drives each client through the cases. */
export class FuzzingServer {
  readonly port: number;
  readonly #process: Deno.ChildProcess;
  readonly #folder: string;

  private constructor(process: Deno.ChildProcess, folder: string, port: number) {
    this.#process = process;
    this.#folder = folder;
    this.port = port;
  }

  static async start(kosoku: Kosoku, cases: readonly string[]): Promise<FuzzingServer> {
    const folder = await Deno.makeTempDir({ prefix: "kosoku-" });
    const options = ["-m", "fuzzingserver", "-o", folder, "127.0.0.1:0"];
    const process = spawn(kosoku, [...including(cases), ...options]);
    return new FuzzingServer(process, folder, await announcedPort(process.stderr));
  }

  /** Waits until the client has asked for its report, which ends the server. */
  async verdicts(): Promise<Verdicts> {
    await this.#process.status;
    const { count, failed } = await verdictsIn(this.#folder);
    return { count, failed };
  }

  async stop(): Promise<void> {
    try {
      this.#process.kill();
    } catch {
      // It has ended with its client.
    }
    await this.#process.status;
    await Deno.remove(this.#folder, { recursive: true });
  }
}

function including(cases: readonly string[]): string[] {
  return cases.flatMap((one) => ["-i", one]);
}

function spawn({ python, env }: Kosoku, args: string[]): Deno.ChildProcess {
  // As its console script does: the package cannot be run with -m.
  const code = "from kosoku._cli import main; main()";
  return new Deno.Command(python, {
    args: ["-c", code, ...args],
    env,
    stdin: "null",
    stdout: "null",
    stderr: args.includes("fuzzingserver") ? "piped" : "null",
  }).spawn();
}

/** Reads `… listening on ws://127.0.0.1:PORT`, and lets the rest go. */
async function announcedPort(stderr: ReadableStream<Uint8Array>): Promise<number> {
  const [head, rest] = stderr.tee();
  rest.pipeTo(new WritableStream()).catch(() => {});
  let text = "";
  for await (const part of head.pipeThrough(new TextDecoderStream())) {
    text += part;
    const port = /listening on ws:\/\/[^\n]*:(\d+)\n/.exec(text)?.[1];
    if (port !== undefined) return Number(port);
  }
  throw new Error(`kosoku does not listen: ${text}`);
}

interface CaseVerdict {
  readonly behavior: string;
  readonly behaviorClose: string;
  /** The name of its file. */
  readonly reportfile: string;
}

/** What its file says besides. */
interface CaseReport {
  readonly droppedByMe: boolean;
}

async function verdictsIn(folder: string): Promise<RunVerdicts> {
  const index: Record<string, Record<string, CaseVerdict>> = JSON.parse(
    await Deno.readTextFile(join(folder, "index.json")),
  );
  const all = Object.values(index).flatMap((cases) => Object.entries(cases));
  const failed: string[] = [];
  const late: string[] = [];
  for (const [id, { behavior, behaviorClose, reportfile }] of all) {
    if (PASSED.has(behavior) && PASSED.has(behaviorClose)) continue;
    const verdict = `${id}: ${behavior}, ${behaviorClose}`;
    failed.push(verdict);
    const report: CaseReport = JSON.parse(await Deno.readTextFile(join(folder, reportfile)));
    if (report.droppedByMe && PASSED.has(behavior)) late.push(verdict);
  }
  return { count: all.length, failed, late };
}
