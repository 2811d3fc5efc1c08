/** The command line of `deno task bench:filters`. In: arguments. Out: what to measure, how often and how long. */
import { defineOptions, type Options, parseOptions, type Program } from "../../shared/options.ts";
import { COST_ROUTES, type CostRoute } from "./routes.ts";

type Part = "costs" | "floods";

const PARTS: readonly Part[] = ["costs", "floods"];

export const FILTER_BENCH_PROGRAM: Program = {
  name: "deno task bench:filters",
  summary: "Measures what filters of routes cost, and what floods of logins and regular " +
    "expressions do to other routes.",
  positionals: {
    name: "PART…",
    help: `What to measure: ${PARTS.join(", ")}. Without any, both.`,
    min: 0,
    max: PARTS.length,
  },
};

/** Of the rate beside floods, with `--quick`: nothing may fail beside other work of the machine. */
const QUICK_PART = 4;

export const FILTER_BENCH_OPTIONS = defineOptions({
  quick: {
    type: "boolean",
    help:
      "Two rounds of one second, of one start, at a quarter of the rate: shows that all works, in " +
      "less than a minute and on a busy machine.",
  },
  rounds: {
    type: "integer",
    min: 1,
    max: 1000,
    default: 15,
    help: "Rounds; in each, every route and every flood has its turn.",
  },
  starts: {
    type: "integer",
    min: 1,
    max: 100,
    default: 3,
    reason: "two starts of the same program differ",
    help: "Starts of the proxy, which share the rounds of `costs`.",
  },
  duration: {
    type: "duration",
    min: 1000,
    default: 3000,
    help: "Length of a turn of `costs`, in whole seconds.",
  },
  together: {
    type: "boolean",
    help:
      "Measures each turn of `costs` beside one of the plain route, which gets the same headers, " +
      "in another process, at the same time: what else happens on the machine affects both alike. " +
      "The interval gets narrower on a noisy machine.",
  },
  route: {
    type: "choice",
    choices: COST_ROUTES.slice(1).map(({ name }) => name),
    repeatable: true,
    help: "Measures the costs of this one. Without it, of all.",
  },
  floodDuration: {
    type: "duration",
    min: 1000,
    default: 6000,
    help: "Length of a turn of `floods`, in whole seconds.",
  },
  rate: {
    type: "integer",
    min: 1,
    max: 100_000,
    default: 1000,
    reason: "a tenth of what one worker can serve, beside what else two cores have to do",
    help: "Requests a second to the plain route beside floods.",
  },
  json: {
    type: "string",
    value: "FILE",
    help: "Also writes all rounds to this file.",
  },
});

export type FilterBenchOptions =
  & Omit<Options<typeof FILTER_BENCH_OPTIONS>, "duration" | "floodDuration" | "route">
  & {
    readonly parts: ReadonlySet<Part>;
    /** The plain one, then those to be measured. */
    readonly routes: readonly CostRoute[];
    /** In s, as are the others. */
    readonly seconds: number;
    readonly floodSeconds: number;
    readonly warmUp: number;
  };

export type ParsedFilterBenchOptions =
  | { readonly kind: "ok"; readonly options: FilterBenchOptions }
  | { readonly kind: "help" | "error"; readonly text: string };

/** Of each route: with all of them, the process has compiled what is hot. */
const WARM_UP = 3;

/** Never throws for what a user wrote. */
export function parseFilterBenchOptions(args: readonly string[]): ParsedFilterBenchOptions {
  const parsed = parseOptions(FILTER_BENCH_PROGRAM, FILTER_BENCH_OPTIONS, args);
  if (parsed.kind !== "ok") return parsed;
  const { positionals, options: { duration, floodDuration, route, ...options } } = parsed;
  const unknown = positionals.find((name) => PARTS.every((part) => part !== name));
  if (unknown !== undefined) {
    const text = `${JSON.stringify(unknown)} is no part; there are ${PARTS.join(", ")}`;
    return { kind: "error", text };
  }
  const parts = PARTS.filter((part) => positionals.length === 0 || positionals.includes(part));
  const { quick } = options;
  const [plain, ...others] = COST_ROUTES;
  const chosen = others.filter(({ name }) => route.length === 0 || route.includes(name));
  return {
    kind: "ok",
    options: {
      ...options,
      parts: new Set(parts),
      routes: [plain, ...chosen],
      rounds: quick ? 2 : options.rounds,
      starts: quick ? 1 : options.starts,
      seconds: quick ? 1 : Math.round(duration / 1000),
      floodSeconds: quick ? 1 : Math.round(floodDuration / 1000),
      warmUp: quick ? 1 : WARM_UP,
      rate: quick ? options.rate / QUICK_PART : options.rate,
    },
  };
}
