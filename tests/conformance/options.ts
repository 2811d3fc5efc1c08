/** Flags of `deno task test:conformance`. In: nothing. Out: their specs, and the cases of the short form. */
import { defineOptions, type Options } from "../../shared/options.ts";

export const CONFORMANCE_OPTIONS = defineOptions({
  state: {
    type: "string",
    value: "DIR",
    help:
      "Keeps outcomes and logs in this folder. A case that has an outcome there is not run again.",
  },
  repeatFailed: {
    type: "boolean",
    help: "Runs cases again that have failed according to --state.",
  },
  runTest: {
    type: "string",
    value: "NAME",
    repeatable: true,
    help: "Only this case, such as HTTPRouteWeight, even if its features are not supported.",
  },
  short: {
    type: "boolean",
    help: "Only the few cases that CI runs.",
  },
  channel: {
    type: "choice",
    choices: ["experimental", "standard"],
    default: "experimental",
    reason: "some cases are about fields that only this channel has",
    help: "Channel of the CRDs.",
  },
  profile: {
    type: "string",
    value: "NAME",
    repeatable: true,
    default: "GATEWAY-HTTP",
    help: "Conformance profile.",
  },
  usableAddress: {
    type: "string",
    value: "ADDRESS",
    default: "10.96.200.200",
    reason: "free in the network of Services of the test cluster",
    help: "An address that a Gateway can have.",
  },
  unusableAddress: {
    type: "string",
    value: "ADDRESS",
    default: "bogus.example.com",
    reason: "Gateways have no names of their own",
    help: "An address that a Gateway cannot have.",
  },
  timeouts: {
    type: "string",
    value: "NAME:SECONDS;…",
    help:
      "Other timeouts than those of the suite: NamespacesMustBeReady:60. A report needs its own.",
  },
  lines: {
    type: "integer",
    min: 1,
    default: 30,
    help: "How many lines of its output are printed of a case that fails.",
  },
  report: {
    type: "boolean",
    help: "Writes the report of all cases into docs/conformance/.",
  },
});

export type ConformanceOptions = Options<typeof CONFORMANCE_OPTIONS>;

/** Routing, weights, TLS, references across namespaces, and listeners that come and go. */
export const SHORT_FORM: readonly string[] = [
  "HTTPRouteSimpleSameNamespace",
  "HTTPRouteMatching",
  "HTTPRouteWeight",
  "HTTPRouteHTTPSListener",
  "HTTPRouteReferenceGrant",
  "GatewayModifyListeners",
];

/** The cases that are asked for; empty for all whose features are supported. */
export function chosenCases({ runTest, short }: ConformanceOptions): readonly string[] {
  return [...runTest, ...(short ? SHORT_FORM : [])];
}

/** Why these options do not go together; null where they do. */
export function optionsFault(options: ConformanceOptions): string | null {
  if (!options.report) return null;
  if (chosenCases(options).length > 0) {
    return "--report is about all cases. Remove --run-test and --short.";
  }
  return options.timeouts === undefined
    ? null
    : "--report needs the timeouts of the suite. Remove --timeouts.";
}
