/** The benchmark's command line. In: arguments. Out: which cases and peers, how often, how long. */
import { defineOptions, type Options, parseOptions, type Program } from "../shared/options.ts";
import { CASES, QUICK_CASES } from "./case.ts";
import { H1_SMALL } from "./cases/h1_small.ts";
import { H2_TLS_SMALL } from "./cases/h2_tls_small.ts";
import { PEERS } from "./peer.ts";
import type { Case } from "./model.ts";

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
    help:
      "Length of one measurement, in whole seconds: three if not given, long against the 10 ms " +
      "in which CPU time is counted; one with `--quick` and `--against`.",
  },
  peer: {
    type: "choice",
    choices: PEERS.map(({ name }) => name),
    repeatable: true,
    help: "Measures only this one. Without it, all that are installed or can be.",
  },
  against: {
    type: "string",
    value: "REF",
    help: "Measures this checkout beside another commit of it, and no peers: CPU per request in " +
      "alternating pairs of rounds, with the median of their ratios and its 95 % interval. " +
      "baseline: beside this checkout without what the case adds, an access log or traces.",
  },
  pairs: {
    type: "integer",
    min: 2,
    max: 10_000,
    default: 40,
    reason: "shows a difference of three per cent or so in three minutes a case",
    help: "Pairs of rounds of `--against`.",
  },
  pairsPerStart: {
    type: "integer",
    min: 2,
    max: 10_000,
    default: 10,
    reason: "a start and its warm-up take as long as eight pairs",
    help: "Even number of pairs of `--against` after which both versions are started anew. With " +
      "fewer, the interval gets narrower where starts of one version differ more than its rounds.",
  },
  together: {
    type: "boolean",
    help:
      "Measures both rounds of a pair of `--against` at the same time, each with a load of its " +
      "own: what else happens on the machine affects both alike. The interval gets narrower on a " +
      "noisy machine; both have less of it.",
  },
  bound: {
    type: "string",
    value: "RATIO",
    help: "With `--against`: fails unless the whole interval is at most this, like `1.03`.",
    check: (value) => Number(value) > 0 ? null : "a ratio like 1.03",
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

export type BenchOptions = Omit<Options<typeof BENCH_OPTIONS>, "duration"> & {
  readonly cases: readonly string[];
  /** In ms. */
  readonly duration: number;
};

const DURATION = 3000;

/** What `--against` measures without being told which. */
const AGAINST_CASES: readonly Case[] = [H1_SMALL, H2_TLS_SMALL];

/** Rounds of `--against`: pairs tell more than length. */
const AGAINST_DURATION = 1000;

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
  const { quick, rounds, against, duration, write, peer, bound, pairsPerStart, together } =
    parsed.options;
  if (pairsPerStart % 2 !== 0) {
    const text = "--pairs-per-start must be even, so that each version goes first as often";
    return { kind: "error", text };
  }
  if (against !== undefined && (write || quick || peer.length > 0)) {
    const text =
      "--against measures two versions of Pingress: leave out --write, --quick and --peer";
    return { kind: "error", text };
  }
  if (against === undefined && together) {
    return { kind: "error", text: "--together holds for --against REF: name the commit" };
  }
  if (against === undefined && bound !== undefined) {
    return { kind: "error", text: "--bound holds for --against REF: name the commit" };
  }
  const unnamed = (quick ? QUICK_CASES : against === undefined ? CASES : AGAINST_CASES)
    .map(({ name }) => name);
  const cases = parsed.positionals.length === 0 ? unnamed : parsed.positionals;
  return {
    kind: "ok",
    options: {
      ...parsed.options,
      cases,
      rounds: quick ? 2 : rounds,
      duration: quick ? 1000 : duration ?? (against === undefined ? DURATION : AGAINST_DURATION),
    },
  };
}
