/** The benchmark's command line. In: arguments. Out: which cases and peers, how often, how long. */
import { defineOptions, type Options, parseOptions, type Program } from "../shared/options.ts";
import { CASES, QUICK_CASES } from "./case.ts";
import { PEERS } from "./peer.ts";

export const BENCH_PROGRAM: Program = {
  name: "deno task bench",
  summary: "Measures CPU time per request beside the proxies found on this machine.",
  positionals: {
    name: "CASE…",
    help: `Cases to run: ${CASES.map(({ name }) => name).join(", ")}. Without any, all.`,
    min: 0,
    max: CASES.length,
  },
};

/** What `--quick` measures without being told which. */
export const QUICK_PEERS: readonly string[] = ["pingress", "nginx", "haproxy", "pingora"];

export const BENCH_OPTIONS = defineOptions({
  quick: {
    type: "boolean",
    help: "Two rounds of one second, of the main cases and peers unless some are named: shows " +
      "that all works, and large differences.",
  },
  rounds: {
    type: "integer",
    min: 1,
    max: 1000,
    default: 5,
    reason: "the median then forgives two disturbed rounds",
    help: "Rounds; in each, every peer is measured once.",
  },
  duration: {
    type: "duration",
    min: 1000,
    default: 3000,
    reason: "long against the 10 ms in which CPU time is counted",
    help: "Length of one measurement, in whole seconds.",
  },
  peer: {
    type: "choice",
    choices: PEERS.map(({ name }) => name),
    repeatable: true,
    help: "Measures only this one. Without it, all that are installed or can be.",
  },
  json: {
    type: "string",
    value: "FILE",
    help: "Also writes every round to this file.",
  },
  write: {
    type: "boolean",
    help: "Also keeps every round in bench/results, and writes docs/performance.md and its plots " +
      "anew from there.",
  },
});

export type BenchOptions = Options<typeof BENCH_OPTIONS> & { readonly cases: readonly string[] };

export type ParsedBenchOptions =
  | { readonly kind: "ok"; readonly options: BenchOptions }
  | { readonly kind: "help" | "error"; readonly text: string };

/** Never throws for what a user wrote. */
export function parseBenchOptions(args: readonly string[]): ParsedBenchOptions {
  const parsed = parseOptions(BENCH_PROGRAM, BENCH_OPTIONS, args);
  if (parsed.kind !== "ok") return parsed;
  const names = CASES.map(({ name }) => name);
  const unknown = parsed.positionals.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    const text = `${JSON.stringify(unknown[0])} is no case; there are ${names.join(", ")}`;
    return { kind: "error", text };
  }
  const { quick, rounds, duration } = parsed.options;
  const unnamed = quick ? QUICK_CASES.map(({ name }) => name) : names;
  const cases = parsed.positionals.length === 0 ? unnamed : parsed.positionals;
  return {
    kind: "ok",
    options: {
      ...parsed.options,
      cases,
      rounds: quick ? 2 : rounds,
      duration: quick ? 1000 : duration,
    },
  };
}
