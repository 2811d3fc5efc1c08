/** The command line of `deno task bench:controller`. In: arguments. Out: sizes and what to measure. */
import { defineOptions, type Options, parseOptions, type Program } from "../../shared/options.ts";
import { LARGE } from "../../tests/support/large_cluster.ts";

export const CONTROLLER_BENCH_PROGRAM: Program = {
  name: "deno task bench:controller",
  summary: "Measures the controller against a real API server with very many objects.",
};

export const CONTROLLER_BENCH_OPTIONS = defineOptions({
  quick: {
    type: "boolean",
    help: "A small cluster, one start, five changes of each kind, in less than a minute.",
  },
  ingresses: {
    type: "integer",
    min: 1,
    max: 100_000,
    default: LARGE.ingresses,
    help: "Ingresses of one host and one path each.",
  },
  namespaces: {
    type: "integer",
    min: 1,
    max: 1000,
    default: LARGE.namespaces,
    help: "Namespaces that they are spread over.",
  },
  services: {
    type: "integer",
    min: 1,
    max: 20_000,
    default: LARGE.services,
    help: "Services, each with one EndpointSlice.",
  },
  endpoints: {
    type: "integer",
    min: 1,
    max: 200_000,
    default: LARGE.endpoints,
    help: "Endpoints of all Services together.",
  },
  certificates: {
    type: "integer",
    min: 1,
    max: 4000,
    default: LARGE.certificates,
    help: "Secrets with a certificate each, for the hosts of the Ingresses that name them.",
  },
  annotationSets: {
    type: "integer",
    min: 0,
    max: 100_000,
    default: 0,
    help:
      "Distinct sets of values of 8 ingress-nginx annotations that every Ingress gets, in the " +
      "profile nginx. 0 for none.",
  },
  proxyMemory: {
    type: "size",
    min: 1,
    default: 2 ** 30,
    reason: "the limit of the workload that the controller creates",
    help: "Memory limit of the proxies. The controller serves no more than they have memory for: " +
      "10,000 sets of annotations need 2GiB.",
  },
  starts: {
    type: "integer",
    min: 1,
    max: 20,
    default: 3,
    reason: "the median then forgives a disturbed one",
    help: "Starts of the controller, each of which publishes all anew.",
  },
  changes: {
    type: "integer",
    min: 1,
    max: 1000,
    default: 20,
    help: "Single changes of each kind, one after the other.",
  },
  burst: {
    type: "integer",
    min: 1,
    max: 10_000,
    default: 500,
    help: "Ingresses that are changed as fast as the API server takes it.",
  },
  controllerArg: {
    type: "string",
    value: "FLAG",
    repeatable: true,
    check: (value) => /^--[a-z]/.test(value) ? null : "a flag of the controller",
    help: "A further flag for the controller: --controller-arg=--secrets=tls.",
  },
  json: {
    type: "string",
    value: "FILE",
    help: "Also writes every single figure to this file.",
  },
  write: {
    type: "string",
    value: "FILE",
    help: "Also writes the tables into this page, between its markers: bench/controller/README.md.",
  },
});

export type ControllerBenchOptions = Options<typeof CONTROLLER_BENCH_OPTIONS>;

export type ParsedControllerBenchOptions =
  | { readonly kind: "ok"; readonly options: ControllerBenchOptions }
  | { readonly kind: "help" | "error"; readonly text: string };

const QUICK = {
  ingresses: 500,
  namespaces: 25,
  services: 100,
  endpoints: 1000,
  certificates: 50,
  starts: 1,
  changes: 5,
  burst: 100,
} as const;

/** Never throws for what a user wrote. */
export function parseControllerBenchOptions(args: readonly string[]): ParsedControllerBenchOptions {
  const parsed = parseOptions(CONTROLLER_BENCH_PROGRAM, CONTROLLER_BENCH_OPTIONS, args);
  if (parsed.kind !== "ok") return parsed;
  const options = { ...parsed.options, ...(parsed.options.quick ? QUICK : {}) };
  const { ingresses, services, certificates } = options;
  // An Ingress needs a Service, and a Secret, in its own namespace.
  const namespaces = Math.min(options.namespaces, ingresses, services, certificates);
  return { kind: "ok", options: { ...options, namespaces } };
}
