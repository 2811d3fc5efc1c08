/**
 * Flags of both programs as values of the chart. In: the specs of the flags. Out: a value for each,
 * of the flag's name, with its type, choices and range, and which flags have another place.
 *
 * Defaults stay in the specs: a flag without a value is not passed.
 */
import { CONTROLLER_OPTIONS } from "../../controller/cli/options.ts";
import { PROXY_OPTIONS } from "../../proxy/cli/options.ts";
import {
  type DurationSpec,
  flagName,
  formatDefault,
  formatFlag,
  type OptionSpec,
  type OptionSpecs,
  type SizeSpec,
  takes,
} from "../../shared/options.ts";
import { ADDRESS_PATTERN, CIDR_PATTERN, PATTERNS } from "./flag_patterns.ts";
import type { JsonSchema, Value } from "./value.ts";

/** Where the value of a flag is, if not among `flags`; or why the chart has none. */
export type Elsewhere = { readonly value: string } | { readonly none: string };

export const CONTROLLER_ELSEWHERE: Readonly<Record<string, Elsewhere>> = {
  namespace: { none: "the namespace of the release" },
  kubeconfig: { none: "the controller uses the service account of its pod" },
  context: { none: "the controller uses the service account of its pod" },
  imagePullSecret: { value: "image.pullSecrets" },
  proxyArg: { value: "proxy.flags" },
  proxyPodTemplate: { value: "proxy.podTemplate" },
};

const SET_BY_CONTROLLER = "the controller sets it";

export const PROXY_ELSEWHERE: Readonly<Record<string, Elsewhere>> = {
  config: { none: SET_BY_CONTROLLER },
  admin: { none: SET_BY_CONTROLLER },
  listenRange: { value: "controller.flags.listenRange" },
  drainDelay: { value: "controller.flags.proxyDrainDelay" },
  drainTimeout: { value: "controller.flags.proxyDrainTimeout" },
};

/** What values.yaml sets: one is required, and probes need the other. */
const SET: Readonly<Record<string, unknown>> = { backend: "HostPort", admin: "[::]:9091" };

/** Schemas of types, by which the whole has names. */
export const FLAG_DEFINITIONS: Readonly<Record<string, JsonSchema>> = {
  // YAML and --set make a number of 0.
  duration: {
    description: "A duration like 500ms, 10s, 1m30s, 1h or 0.",
    type: ["string", "integer"],
    pattern: "^(0|([0-9]{1,12}(\\.[0-9]{1,3})?(ms|s|m|h))+)$",
    minimum: 0,
    maximum: 0,
  },
  durationOrNever: {
    description: "A duration like 500ms, 10s, 1m30s, 1h or 0, or never.",
    type: ["string", "integer"],
    pattern: "^(0|never|([0-9]{1,12}(\\.[0-9]{1,3})?(ms|s|m|h))+)$",
    minimum: 0,
    maximum: 0,
  },
  size: {
    description: "A size in bytes like 512, 32KiB or 1MiB.",
    type: ["string", "integer"],
    pattern: "^[0-9]{1,12}((Ki|Mi|Gi)B?|B)?$",
    minimum: 0,
  },
  // --set makes a string of 0.05.
  ratio: {
    description: "A number from 0 to 1 like 0.05.",
    type: ["number", "string"],
    pattern: "^(0(\\.[0-9]{1,9})?|1(\\.0{1,9})?)$",
    minimum: 0,
    maximum: 1,
  },
  address: {
    description: "An IP address (or localhost) and a port like 0.0.0.0:80, [::]:443 or :8080.",
    type: "string",
    pattern: ADDRESS_PATTERN,
  },
  cidrs: {
    description: "Addresses and blocks like 10.0.0.0/8 or 192.168.1.7.",
    type: "array",
    items: { type: "string", pattern: CIDR_PATTERN },
  },
};

/** A value for each flag that has its place here. */
export function flagValues(
  specs: OptionSpecs,
  elsewhere: Readonly<Record<string, Elsewhere>>,
  set: Readonly<Record<string, unknown>> = {},
): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(specs).filter(([key]) => !Object.hasOwn(elsewhere, key))
      .map(([key, spec]) => [key, flagValue(key, spec, set[key])]),
  );
}

function flagValue(key: string, spec: OptionSpec, set: unknown): Value {
  return {
    help: [`${formatFlag(key, spec)}. ${spec.help}`, ...limits(spec), defaultText(spec)]
      .filter((text) => text !== "").join(" "),
    schema: flagSchema(key, spec),
    ...(set === undefined ? { example: exampleOf(spec) } : { default: set }),
  };
}

/** What the name of a type does not say. */
function limits(spec: OptionSpec): string[] {
  return isBounded(spec) ? [`Takes ${takes(spec)}.`] : [];
}

function isBounded(spec: OptionSpec): spec is DurationSpec | SizeSpec {
  return (spec.type === "duration" || spec.type === "size") &&
    (spec.min !== undefined || spec.max !== undefined);
}

function defaultText(spec: OptionSpec): string {
  const text = formatDefault(spec);
  if (text === "") return spec.reason === undefined ? "" : `Default: ${spec.reason}.`;
  return `Default: ${text}${spec.reason === undefined ? "" : ` (${spec.reason})`}.`;
}

/** As a comment shows it: the default in YAML, or what stands for a value. */
function exampleOf(spec: OptionSpec): string {
  const text = formatDefault(spec);
  if (isList(spec)) return `[${text}]`;
  if (text === "") return spec.type === "string" ? `"${spec.value}"` : "…";
  return spec.type === "address" || text.includes(": ") ? JSON.stringify(text) : text;
}

export function isList(spec: OptionSpec): boolean {
  return spec.type === "cidr" || ("repeatable" in spec && spec.repeatable === true);
}

function flagSchema(key: string, spec: OptionSpec): JsonSchema {
  const one = scalarSchema(key, spec);
  return isList(spec) && spec.type !== "cidr" ? { type: "array", items: one } : one;
}

function scalarSchema(key: string, spec: OptionSpec): JsonSchema {
  switch (spec.type) {
    case "string":
      return {
        type: "string",
        minLength: 1,
        ...(PATTERNS[key] === undefined ? {} : { pattern: PATTERNS[key] }),
      };
    case "boolean":
      return { type: "boolean" };
    case "integer":
      return {
        type: "integer",
        minimum: spec.min ?? 0,
        ...(spec.max === undefined ? {} : { maximum: spec.max }),
      };
    case "choice":
      return { enum: spec.choices };
    case "duration":
      return { $ref: `#/$defs/${spec.never ? "durationOrNever" : "duration"}` };
    case "size":
      return { $ref: "#/$defs/size" };
    case "ratio":
      return { $ref: "#/$defs/ratio" };
    case "address":
      return { $ref: "#/$defs/address" };
    case "cidr":
      return { $ref: "#/$defs/cidrs" };
  }
}

/** A flag, as the templates read it. */
export interface FlagRow {
  readonly key: string;
  readonly flag: string;
  /** Of durations in ms, and of sizes in bytes, which no schema compares; null for others. */
  readonly range:
    | { readonly unit: "duration" | "size"; readonly min: number; readonly max: number }
    | null;
  /** What a value may be, for people. */
  readonly takes: string;
}

/** In the order of the help. */
export function flagRows(
  specs: OptionSpecs,
  elsewhere: Readonly<Record<string, Elsewhere>>,
): FlagRow[] {
  return Object.entries(specs).filter(([key]) => !Object.hasOwn(elsewhere, key))
    .map(([key, spec]) => ({
      key,
      flag: flagName(key),
      range: isBounded(spec)
        ? { unit: spec.type, min: spec.min ?? 0, max: spec.max ?? Number.MAX_SAFE_INTEGER }
        : null,
      takes: takes(spec),
    }));
}

export const CONTROLLER_FLAGS = flagValues(CONTROLLER_OPTIONS, CONTROLLER_ELSEWHERE, SET);
export const PROXY_FLAGS = flagValues(PROXY_OPTIONS, PROXY_ELSEWHERE);
