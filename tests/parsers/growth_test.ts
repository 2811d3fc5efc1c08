/**
 * No input makes a parser worse than linear. The one assertion about time in the tests: a ratio of the
 * CPU times of one process, which no other work of the machine changes.
 */
import assert from "node:assert/strict";
import type { Line } from "./growth_run.ts";
import { LINEAR, QUADRATIC } from "./planted.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const PROGRAM = new URL("./growth_run.ts", import.meta.url).pathname;

Deno.test("a parser that takes quadratic time is found, and no other, also under load", async () => {
  const stop = new AbortController();
  const load = [busy(stop.signal), busy(stop.signal)];
  try {
    const found = new Set((await measureAll("planted")).findings.map(({ parser }) => parser));
    assert.deepEqual([...found].sort(), QUADRATIC.map(({ name }) => name).sort());
    assert.ok(LINEAR.every(({ name }) => !found.has(name)));
  } finally {
    stop.abort();
    await Promise.all(load.map(({ status }) => status));
  }
});

Deno.test("every parser takes time linear in its input", async () => {
  const { findings, inputs } = await measureAll("table");
  assert.deepEqual(
    findings.map(({ parser, input, growth }) =>
      `${parser}: ${input} takes ${growth.toFixed(1)} times what its sixteenths take`
    ),
    [],
  );
  assert.ok(inputs > 1_000, `${inputs} inputs`);
});

type Finding = Extract<Line, { kind: "growth" }>;

interface Measured {
  readonly findings: readonly Finding[];
  readonly inputs: number;
}

/**
 * What grows too fast in one process and again in a new one. What a parser itself does is the same in both;
 * the state of a heap with the inputs of hundreds of parsers is not: a copy of 256 KiB is memory that V8
 * maps, and the kernel fills page by page, where sixteen of 16 KiB are in memory that is there. On a machine
 * whose host was busy, 17.6 was found once for a copy of which 75 further processes found 0.1 to 1.9.
 */
async function measureAll(table: "table" | "planted"): Promise<Measured> {
  const { findings, inputs } = await measure(table);
  const once = findings.map(({ parser, input }) => `${parser}: ${input}`);
  return { findings: once.length === 0 ? [] : await findingsAmong(table, once), inputs };
}

async function findingsAmong(
  table: string,
  names: readonly string[],
): Promise<readonly Finding[]> {
  const { findings, inputs } = await measure(table, names);
  assert.ok(inputs >= new Set(names).size, `${inputs} of ${names.join(", ")}`);
  return findings;
}

/** @param names of inputs, as `PARSER: INPUT`; all without them. */
async function measure(table: string, names?: readonly string[]): Promise<Measured> {
  const wanted = names === undefined ? [] : [JSON.stringify(names)];
  const { code, stdout, stderr } = await deno(PROGRAM, table, ...wanted).output();
  const text = new TextDecoder().decode(stdout);
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  const lines = text.trim().split("\n").map((line): Line => JSON.parse(line));
  const end = lines.pop();
  assert.ok(end?.kind === "end", text);
  return { findings: lines.filter((line) => line.kind === "growth"), inputs: end.inputs };
}

/**
 * A process with one thread, so that its CPU time is the parser's and what the engine does for it:
 * compiling and collecting garbage elsewhere comes and goes.
 */
function deno(...args: readonly string[]): Deno.Command {
  return new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-check",
      "--no-prompt",
      `--allow-read=${ROOT}`,
      "--v8-flags=--single-threaded",
      ...args,
    ],
    stdout: "piped",
    stderr: "piped",
  });
}

/** A process that keeps a core busy; two minutes at most, should nobody be left to end it. */
function busy(signal: AbortSignal): Deno.ChildProcess {
  const loop = "for (const end = Date.now() + 120_000; Date.now() < end;);";
  return new Deno.Command(Deno.execPath(), { args: ["eval", loop], signal }).spawn();
}
