/**
 * Command lines. In: what a program takes (its specs) and its arguments. Out: typed values, a help
 * text, or every mistake in one text that names the flag, what it got and what it takes.
 *
 * The key `listenHttp` is the flag `--listen-http`. Reads no environment and no global: `main`
 * passes the arguments in.
 */
import { parseArgs } from "node:util";
import { type Address, formatAddress, parseAddress } from "./net/address.ts";
import { CidrList } from "./net/cidr.ts";
import { nearestName } from "./nearest_name.ts";
import { wrapText } from "./wrapped_text.ts";

interface BaseSpec {
  /** What it does, one or two sentences with their full stops. */
  readonly help: string;
  /** Why the default is what it is, a phrase: `a proxy has no business with more`. */
  readonly reason?: string;
  /** Heading in help and documentation. */
  readonly group?: string;
  /** Must be given. */
  readonly required?: boolean;
}

interface RepeatableSpec<T> extends BaseSpec {
  readonly default?: T | readonly T[];
  /** May be given several times; the result is a list, empty without default. */
  readonly repeatable?: boolean;
}

export interface StringSpec extends RepeatableSpec<string> {
  readonly type: "string";
  /** Stands for the value in the help: `FILE`. */
  readonly value: string;
  /** What the flag means without a value. With it, a value can only be given as `--flag=VALUE`. */
  readonly bare?: string;
  /** What the value must be, or null where it is right: `a DNS name like cluster.local`. */
  readonly check?: (value: string) => string | null;
}

/** `--watch`, `--watch=true` or `--watch=false`. */
export interface BooleanSpec extends BaseSpec {
  readonly type: "boolean";
  readonly default?: boolean;
}

export interface IntegerSpec extends RepeatableSpec<number> {
  readonly type: "integer";
  readonly min?: number;
  readonly max?: number;
}

/** `500ms`, `10s`, `1m30s`, `1h`, `0`; the result is in milliseconds. */
export interface DurationSpec extends RepeatableSpec<number> {
  readonly type: "duration";
  /** `never` is taken as well; the result is Infinity then. */
  readonly never?: boolean;
  readonly min?: number;
  readonly max?: number;
}

/** `512`, `32KiB`, `1MiB`, `1GiB`; the result is in bytes. */
export interface SizeSpec extends RepeatableSpec<number> {
  readonly type: "size";
  readonly min?: number;
  readonly max?: number;
}

/** `0`, `0.05`, `1`: a share from 0 to 1. */
export interface RatioSpec extends RepeatableSpec<number> {
  readonly type: "ratio";
}

/** `0.0.0.0:80`, `[::]:443`, `:8080`. */
export interface AddressSpec extends RepeatableSpec<Address> {
  readonly type: "address";
}

/** `10.0.0.0/8,192.168.1.7`; may be given several times, the lists add up. */
export interface CidrSpec extends BaseSpec {
  readonly type: "cidr";
  readonly default?: CidrList;
}

export interface ChoiceSpec extends RepeatableSpec<string> {
  readonly type: "choice";
  readonly choices: readonly string[];
}

export type OptionSpec =
  | StringSpec
  | BooleanSpec
  | IntegerSpec
  | DurationSpec
  | SizeSpec
  | RatioSpec
  | AddressSpec
  | CidrSpec
  | ChoiceSpec;

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** What stands before the flags in the help, and which arguments without a flag are taken. */
export interface Program {
  /** As users start it: `deno task proxy`. */
  readonly name: string;
  /** One sentence with its full stop. */
  readonly summary: string;
  /** Arguments without a flag; left out, the program takes none. */
  readonly positionals?: {
    /** `DIR…`, `DIR… URL`. */
    readonly name: string;
    readonly help: string;
    readonly min: number;
    readonly max: number;
  };
}

type Scalar<S> = S extends { type: "string" } ? string
  : S extends { type: "boolean" } ? boolean
  : S extends { type: "integer" | "duration" | "size" | "ratio" } ? number
  : S extends { type: "address" } ? Address
  : S extends { type: "cidr" } ? CidrList
  : S extends { type: "choice"; choices: readonly (infer C)[] } ? C
  : never;

type Value<S> = S extends { repeatable: true } ? readonly Scalar<S>[]
  : S extends { type: "boolean" | "cidr" } | { required: true } | { default: NonNullable<unknown> }
    ? Scalar<S>
  : Scalar<S> | undefined;

/** The values of `S`: lists for repeatable ones, undefined for those that were not given and have no default. */
export type Options<S extends OptionSpecs> = { readonly [K in keyof S]: Value<S[K]> };

export type ParsedOptions<S extends OptionSpecs> =
  | { readonly kind: "ok"; readonly options: Options<S>; readonly positionals: readonly string[] }
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "error"; readonly text: string };

/** What else decides the text of a help or a mistake. */
export interface TextOptions {
  /** Characters a line of the help. */
  readonly width?: number;
  /** Flags that other programs have, with the names of those programs. */
  readonly elsewhere?: ReadonlyMap<string, readonly string[]>;
}

/** A line that is longer is hard to read; shorter ones leave the terminal of many people half empty. */
export const HELP_WIDTH = 100;

/** Keeps the literal types of specs that stand apart from the call that parses them. */
export function defineOptions<const S extends OptionSpecs>(specs: S): S {
  return specs;
}

/** `listenHttp` → `listen-http`. */
export function flagName(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/**
 * Reads `args` by `specs`. Never throws for what a user wrote; all mistakes are in one text, one
 * a line. `--help` and `-h` win over everything else.
 */
export function parseOptions<const S extends OptionSpecs>(
  program: Program,
  specs: S,
  args: readonly string[],
  texts: TextOptions = {},
): ParsedOptions<S> {
  const keys = new Map(Object.keys(specs).map((key) => [flagName(key), key]));
  const { tokens } = parseArgs({
    args: [...args],
    strict: false,
    tokens: true,
    options: {
      help: { type: "boolean", short: "h" },
      ...Object.fromEntries([...keys].map(([flag, key]) => [flag, {
        type: needsValue(specs[key]) ? "string" as const : "boolean" as const,
        multiple: true,
      }])),
    },
  });
  const errors: string[] = [];
  let unknown = false;
  const given = new Map<string, unknown[]>();
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") positionals.push(token.value);
    if (token.kind !== "option") continue;
    if (token.name === "help") {
      return { kind: "help", text: formatHelp(program, specs, texts.width) };
    }
    const key = keys.get(token.name);
    if (key === undefined || !token.rawName.startsWith("--")) {
      errors.push(unknownFlag(program, token.rawName, [...keys.keys(), "help"], texts.elsewhere));
      unknown = true;
      continue;
    }
    const spec = specs[key];
    const value = readToken(spec, token);
    if (value === null) {
      errors.push(wrongValue(token.name, spec, token.value));
    } else if (typeof value === "object" && value !== null && "wrong" in value) {
      errors.push(`--${token.name}: ${value.wrong}`);
    } else {
      const before = given.get(key);
      if (before === undefined) given.set(key, [value]);
      else if (isList(spec)) before.push(value);
      else errors.push(`--${token.name} is given twice; it accepts one value`);
    }
  }
  for (const [key, spec] of Object.entries(specs)) {
    if (spec.required && !given.has(key) && errors.length === 0) {
      errors.push(`--${flagName(key)} is needed; it takes ${takes(spec)}`);
    }
  }
  // After an unknown flag, its value looks like one argument too many.
  if (!unknown) errors.push(...wrongPositionals(program, positionals));
  if (errors.length > 0) {
    errors.push(`${program.name} --help lists the flags`);
    return { kind: "error", text: errors.join("\n") };
  }
  const options = Object.fromEntries(
    Object.entries(specs).map(([key, spec]) => [key, settle(spec, given.get(key))]),
  );
  return { kind: "ok", options: options as Options<S>, positionals };
}

/** Usage, and every flag with what it takes, does and is without being given. */
export function formatHelp(program: Program, specs: OptionSpecs, width = HELP_WIDTH): string {
  const { positionals } = program;
  const wrap = (text: string, indent: string) => wrapText(text, { indent, width });
  const usage = positionals === undefined
    ? ""
    : ` ${positionals.min === 0 ? `[${positionals.name}]` : positionals.name}`;
  const lines = [
    ...wrap(program.summary, ""),
    "",
    ...wrap(`Usage: ${program.name}${usage} [flags]`, ""),
  ];
  if (positionals !== undefined) lines.push("", ...wrap(positionals.help, "  "));
  let group: string | undefined;
  for (const [key, spec] of Object.entries(specs)) {
    if (group !== (spec.group ?? "Flags")) {
      group = spec.group ?? "Flags";
      lines.push("", `${group}:`);
    }
    const times = isList(spec) ? " (repeatable)" : "";
    lines.push(`  ${formatFlag(key, spec)}${times}`, ...wrap(spec.help, "      "));
    const fallback = formatDefault(spec);
    if (fallback !== "") {
      const reason = spec.reason === undefined ? "" : `: ${spec.reason}`;
      lines.push(...wrap(`Default: ${fallback}${reason}.`, "      "));
    }
  }
  lines.push("", "  --help, -h", "      Prints this help.");
  return lines.join("\n");
}

/** `--listen-http ADDRESS`, as help and documentation show it. */
export function formatFlag(key: string, spec: OptionSpec): string {
  if (spec.type === "boolean") return `--${flagName(key)}`;
  const value = placeholder(spec);
  return `--${flagName(key)}${needsValue(spec) ? ` ${value}` : `[=${value}]`}`;
}

/** The default as one would write it on a command line; "" without one. */
export function formatDefault(spec: OptionSpec): string {
  if (spec.default === undefined) return spec.type === "boolean" ? "false" : "";
  const values = Array.isArray(spec.default) ? spec.default : [spec.default];
  return values.map((value) => formatValue(spec, value)).join(", ");
}

/** What a value may be, for people: `a duration like 500ms, 10s or 1h`. */
export function takes(spec: OptionSpec): string {
  switch (spec.type) {
    case "string":
      return `a value (${spec.value})`;
    case "boolean":
      return "true or false, or no value at all";
    case "integer":
      return `a whole number${range(spec.min, spec.max, String)}`;
    case "duration":
      return `a duration like 500ms, 10s or 1h${range(spec.min, spec.max, formatDuration)}${
        spec.never ? ", or never" : ""
      }`;
    case "size":
      return `a size in bytes like 512, 32KiB or 1MiB${range(spec.min, spec.max, formatSize)}`;
    case "ratio":
      return "a number from 0 to 1 like 0.05";
    case "address":
      return "an IP address (or localhost) and a port like 0.0.0.0:80, [::]:443 or :8080";
    case "cidr":
      return "addresses and blocks between commas like 10.0.0.0/8,192.168.1.7";
    case "choice":
      return `one of ${spec.choices.join(", ")}`;
  }
}

/** 90000 → `1m30s`. */
export function formatDuration(ms: number): string {
  let text = "";
  let left = ms;
  for (const [unit, length] of [["h", 3_600_000], ["m", 60_000], ["s", 1000], ["ms", 1]] as const) {
    const count = Math.floor(left / length);
    left -= count * length;
    if (count > 0) text += `${count}${unit}`;
  }
  return text === "" ? "0" : text;
}

/** 32768 → `32KiB`. */
export function formatSize(bytes: number): string {
  for (const [unit, length] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 1024]] as const) {
    if (bytes >= length && bytes % length === 0) return `${bytes / length}${unit}`;
  }
  return String(bytes);
}

interface OptionToken {
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

/** The value; null where it is missing or of the wrong form; a sentence where it says more. */
function readToken(spec: OptionSpec, token: OptionToken): unknown | { wrong: string } | null {
  if (spec.type === "boolean") {
    if (token.value === undefined) return true;
    return token.value === "true" ? true : token.value === "false" ? false : null;
  }
  if (token.value === undefined && spec.type === "string" && spec.bare !== undefined) {
    return spec.bare;
  }
  // `--config --watch x` lacks a value; parseArgs would take the next flag for it.
  if (token.value === undefined || (!token.inlineValue && /^-./.test(token.value))) return null;
  return readValue(spec, token.value);
}

function readValue(spec: Exclude<OptionSpec, BooleanSpec>, text: string): unknown {
  switch (spec.type) {
    case "string": {
      if (text === "") return null;
      const wanted = spec.check?.(text) ?? null;
      return wanted === null ? text : { wrong: `${quote(text)} is not ${wanted}` };
    }
    case "integer":
      return within(/^\d{1,15}$/.test(text) ? Number(text) : null, spec.min, spec.max);
    case "duration":
      if (spec.never && text === "never") return Infinity;
      return within(readDuration(text), spec.min, spec.max ?? MAX_DURATION);
    case "size":
      return within(readSize(text), spec.min, spec.max);
    case "ratio":
      return /^(0(\.\d{1,9})?|1(\.0{1,9})?)$/.test(text) ? Number(text) : null;
    case "address":
      return parseAddress(text);
    case "cidr": {
      const list = CidrList.parse(text);
      if (typeof list === "string") return { wrong: list };
      // No networks are no bound for some flags: a variable that is not set must not lift it.
      return list.isEmpty ? null : list;
    }
    case "choice":
      return spec.choices.includes(text) ? text : null;
  }
}

/** Timers take 31 bits of milliseconds and fire at once beyond: 24 days, 20 hours. */
const MAX_DURATION = 2 ** 31 - 1;

const DURATION_UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

function readDuration(text: string): number | null {
  if (text === "0") return 0;
  if (!/^(\d{1,12}(\.\d{1,3})?(ms|s|m|h))+$/.test(text)) return null;
  let total = 0;
  // Twelve digits, a point and three: an unbounded repetition is tried anew from each digit.
  for (const [, count, unit] of text.matchAll(/([\d.]{1,16})(ms|s|m|h)/g)) {
    total += Number(count) * DURATION_UNITS[unit];
  }
  return Math.round(total);
}

const SIZE_UNITS: Readonly<Record<string, number>> = {
  "": 1,
  B: 1,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

/** Binary units only, with or without the B: `32K` means 1000 to some and 1024 to others. */
function readSize(text: string): number | null {
  const match = /^(\d{1,12})(?:(Ki|Mi|Gi)B?|(B?))$/.exec(text);
  return match === null ? null : Number(match[1]) * SIZE_UNITS[match[2] ?? match[3]];
}

function within(value: number | null, min = 0, max = Number.MAX_SAFE_INTEGER): number | null {
  return value === null || value < min || value > max ? null : value;
}

/** Whether the argument after the flag may be its value. */
function needsValue(spec: OptionSpec): boolean {
  return spec.type !== "boolean" && !(spec.type === "string" && spec.bare !== undefined);
}

function isList(spec: OptionSpec): boolean {
  return spec.type === "cidr" || ("repeatable" in spec && spec.repeatable === true);
}

function settle(spec: OptionSpec, given: unknown[] | undefined): unknown {
  if (spec.type === "cidr") {
    return (given as CidrList[] | undefined)?.reduce((all, list) => all.concat(list)) ??
      spec.default ?? CidrList.empty;
  }
  if (isList(spec)) return given ?? (spec.default === undefined ? [] : [spec.default].flat());
  return given?.[0] ?? spec.default ?? (spec.type === "boolean" ? false : undefined);
}

function wrongValue(flag: string, spec: OptionSpec, got: string | undefined): string {
  const value = got === undefined ? "no value" : quote(got);
  const hint = got !== undefined && /^-./.test(got) && spec.type !== "boolean"
    ? ` (write --${flag}=${got} if you mean it)`
    : "";
  const port = spec.type === "address" && got !== undefined && /^\d{1,5}$/.test(got)
    ? ` (write 127.0.0.1:${got} for this machine, :${got} for all addresses)`
    : "";
  return `--${flag} got ${value}${hint}${port}; it takes ${takes(spec)}`;
}

function unknownFlag(
  program: Program,
  got: string,
  flags: readonly string[],
  elsewhere: TextOptions["elsewhere"] = new Map(),
): string {
  const name = got.replace(/^-+/, "");
  const others = got.startsWith("--") ? elsewhere.get(name) ?? [] : [];
  if (others.length > 0) {
    return `${quote(got)} is no flag of ${program.name}; it is a flag of ${others.join(", ")}`;
  }
  const near = nearestName(name, flags);
  return `${quote(got)} is an unknown flag${near === null ? "" : `; did you mean --${near}?`}`;
}

function wrongPositionals(program: Program, got: readonly string[]): string[] {
  const { min, max, name } = program.positionals ?? { min: 0, max: 0, name: "" };
  if (got.length < min) return [`${program.name} needs ${name}`];
  const extra = got[max];
  if (extra === undefined) return [];
  const takesWhat = max === 0 ? "no arguments without a flag" : `${name} and no more`;
  return [`${quote(extra)} is an unexpected argument; ${program.name} takes ${takesWhat}`];
}

function placeholder(spec: Exclude<OptionSpec, BooleanSpec>): string {
  if (spec.type === "string") return spec.value;
  if (spec.type === "choice") return spec.choices.join("|");
  return spec.type === "cidr" ? "CIDR,…" : spec.type === "integer" ? "N" : spec.type.toUpperCase();
}

function formatValue(spec: OptionSpec, value: unknown): string {
  if (spec.type === "duration") return formatDuration(value as number);
  if (spec.type === "size") return formatSize(value as number);
  if (spec.type === "address") return formatAddress(value as Address);
  return String(value);
}

function range(
  min: number | undefined,
  max: number | undefined,
  format: (n: number) => string,
): string {
  if (min !== undefined && max !== undefined) return ` from ${format(min)} to ${format(max)}`;
  if (min !== undefined && min > 0) return ` from ${format(min)} on`;
  return max === undefined ? "" : ` up to ${format(max)}`;
}

/** Also keeps control characters of the command line away from the terminal. */
function quote(text: string): string {
  const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  return JSON.stringify(shown).replace(
    /[\x7f-\x9f]/g,
    (char) => `\\u00${char.charCodeAt(0).toString(16)}`,
  );
}
