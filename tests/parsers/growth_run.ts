/**
 * Measures parsers, in a process of its own: CPU time is the process's, and tests share theirs. In:
 * `table` or `planted`, and which share of its inputs, such as `0/2`, or a list of `PARSER: INPUT` in
 * JSON. Out: a line of JSON for each input that grows too fast, and one with how many were tried.
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

function run(table: string, wanted: Wanted): void {
  let index = 0;
  let inputs = 0;
  for (const parser of table === "planted" ? [...QUADRATIC, ...LINEAR] : PARSERS) {
    for (const input of parser.inputs()) {
      if (!wanted(index++, parser.name, input.name)) continue;
      const growth = growthOf(input, cpu);
      inputs++;
      if (growth < MAX_GROWTH) continue;
      print({ kind: "growth", parser: parser.name, input: input.name, growth });
    }
  }
  print({ kind: "end", inputs });
}

type Wanted = (index: number, parser: string, input: string) => boolean;

function wantedBy(text: string): Wanted {
  const share = /^(\d+)\/(\d+)$/.exec(text);
  if (share !== null) return (index) => index % Number(share[2]) === Number(share[1]);
  const names: readonly string[] = JSON.parse(text);
  return (_index, parser, input) => names.includes(`${parser}: ${input}`);
}

if (import.meta.main) run(Deno.args[0], wantedBy(Deno.args[1]));
