/** The command line of `deno task bench:gateway`. In: arguments. Out: sizes. */
import { defineOptions, type Options, parseOptions, type Program } from "../../shared/options.ts";

export const GATEWAY_BENCH_PROGRAM: Program = {
  name: "deno task bench:gateway",
  summary:
    "Measures how long HTTPRoutes take until they are attached and served, with a real API " +
    "server, controller and proxy.",
};

export const GATEWAY_BENCH_OPTIONS = defineOptions({
  quick: {
    type: "boolean",
    help: "100 routes, 10 changes: shows that all works, in less than a minute.",
  },
  attached: {
    type: "integer",
    min: 1,
    max: 10_000,
    default: 1000,
    help: "Routes that are created as fast as the API server takes them.",
  },
  routes: {
    type: "integer",
    min: 1,
    max: 10_000,
    default: 3000,
    help: "Routes that are there while single ones are added.",
  },
  changes: {
    type: "integer",
    min: 1,
    max: 1000,
    default: 200,
    help: "Routes that are added one after the other.",
  },
  pause: {
    type: "duration",
    default: 200,
    max: 10_000,
    reason: "statuses of the route before are written by then",
    help: "From the first response of one of these routes to the next route.",
  },
  controllerArg: {
    type: "string",
    value: "FLAG",
    repeatable: true,
    check: (value) => /^--[a-z]/.test(value) ? null : "a flag of the controller",
    help: "A further flag for the controller: --controller-arg=--gather-time=10ms.",
  },
  json: {
    type: "string",
    value: "FILE",
    help: "Also writes every single figure to this file.",
  },
});

export type GatewayBenchOptions = Options<typeof GATEWAY_BENCH_OPTIONS>;

export type ParsedGatewayBenchOptions =
  | { readonly kind: "ok"; readonly options: GatewayBenchOptions }
  | { readonly kind: "help" | "error"; readonly text: string };

const QUICK = { attached: 100, routes: 100, changes: 10 } as const;

/** Never throws for what a user wrote. */
export function parseGatewayBenchOptions(args: readonly string[]): ParsedGatewayBenchOptions {
  const parsed = parseOptions(GATEWAY_BENCH_PROGRAM, GATEWAY_BENCH_OPTIONS, args);
  if (parsed.kind !== "ok") return parsed;
  const options = { ...parsed.options, ...(parsed.options.quick ? QUICK : {}) };
  return {
    kind: "ok",
    options: { ...options, routes: Math.max(options.attached, options.routes) },
  };
}
