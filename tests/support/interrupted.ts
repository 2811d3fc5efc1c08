/**
 * Commands that are interrupted (Ctrl-C) in the middle of their work. In: a process, and what shows that it is
 * where it is to be interrupted. Out: how it ended.
 */
import assert from "node:assert/strict";
import { eventually } from "../cluster/support/condition.ts";
import { Output } from "./dev_process.ts";

/** What takes colours back. */
const RESETS = ["", "0", "22", "39", "49"];

/** Fails where a terminal keeps colours, or hides its cursor, after the text. */
function assertNothingLeftOn(text: string): void {
  // deno-lint-ignore no-control-regex
  const last = [...text.matchAll(/\x1b\[([\d;]*)m/g)].at(-1)?.[1] ?? "";
  assert.ok(RESETS.includes(last), text);
  assert.ok(text.lastIndexOf("\x1b[?25l") <= text.lastIndexOf("\x1b[?25h"), text);
}

export interface Interruption {
  readonly process: Deno.ChildProcess;
  /** Resolves once it is there; rejects where it never will be. */
  readonly isThere: (output: Output) => Promise<unknown>;
}

export interface Ending {
  readonly code: number;
  readonly signal: Deno.Signal | null;
  readonly out: string;
  readonly err: string;
}

/** Sends it SIGINT, and to it alone, as `kill` does; a terminal sends it to its children as well. */
export async function interrupt({ process, isThere }: Interruption): Promise<Ending> {
  const [output, errors] = [new Output(process.stdout), new Output(process.stderr)];
  try {
    await Promise.race([isThere(output), process.status.then(endedItself)]);
  } catch (error) {
    try {
      process.kill("SIGKILL");
    } catch {
      // It has ended.
    }
    throw new Error(`${await output.all()}${await errors.all()}`, { cause: error });
  }
  process.kill("SIGINT");
  const { code, signal } = await process.status;
  const ending = { code, signal, out: await output.all(), err: await errors.all() };
  for (const text of [ending.out, ending.err]) {
    assertNothingLeftOn(text);
    assert.doesNotMatch(text, /\n {4}at |[Uu]ncaught|panicked/);
  }
  return ending;
}

function endedItself({ code }: Deno.CommandStatus): never {
  throw new Error(`it ended by itself with ${code}`);
}

/** Until a process has read so many bytes, of its own code too. */
export async function hasRead(pid: number, bytes: number): Promise<void> {
  await eventually(`process ${pid} has read ${bytes} bytes`, () => {
    const [, read] = /^rchar: (\d+)$/m.exec(Deno.readTextFileSync(`/proc/${pid}/io`))!;
    return Number(read) >= bytes;
  });
}

/** Until a program has written its process id there; the id. */
export async function writtenPid(file: string): Promise<number> {
  return await eventually(`a process id in ${file}`, () => {
    try {
      return Number(Deno.readTextFileSync(file).trim()) || null;
    } catch {
      return null;
    }
  });
}

/** Until a process is gone. */
export async function isGone(pid: number): Promise<void> {
  await eventually(`the end of process ${pid}`, () => {
    try {
      // One that has ended, and that nobody has waited for, has the state Z.
      return /^State:\s+Z/m.test(Deno.readTextFileSync(`/proc/${pid}/status`));
    } catch {
      return true;
    }
  });
}
