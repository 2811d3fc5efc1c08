/**
 * Measures parsers, in a process of its own: CPU time is the process's, and tests share theirs. In:
 * `table` or `planted`, and the inputs to try as a list of `PARSER: INPUT` in JSON; all without it. Out:
 * a line of JSON for each input that grows too fast, and one with how many were tried.
 *
 * One process: V8 compiles the parsers once, and two that share the inputs take a third more CPU.
 */
import process from "node:process";
import { growthOf, MAX_GROWTH } from "./growth.ts";
import { LINEAR, QUADRATIC } from "./planted.ts";
import { PARSERS } from "./table.ts";

export type Line =
  | {
    readonly kind: "growth";
    readonly parser: string;
    readonly input: string;
    /** 1 is linear, 16 is quadratic. */
    readonly growth: number;
  }
  /** The last one. */
  | { readonly kind: "end"; readonly inputs: number };

function cpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function print(line: Line): void {
  console.log(JSON.stringify(line));
}

function run(table: string, names: ReadonlySet<string> | null): void {
  let inputs = 0;
  for (const parser of table === "planted" ? [...QUADRATIC, ...LINEAR] : PARSERS) {
    for (const input of parser.inputs()) {
      if (names?.has(`${parser.name}: ${input.name}`) === false) continue;
      const growth = growthOf(input, cpu);
      inputs++;
      if (growth < MAX_GROWTH) continue;
      print({ kind: "growth", parser: parser.name, input: input.name, growth });
    }
  }
  print({ kind: "end", inputs });
}

if (import.meta.main) {
  const [table, names] = Deno.args;
  run(table, names === undefined ? null : new Set<string>(JSON.parse(names)));
}
