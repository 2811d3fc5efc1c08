/** The option `--output` of every command. In: arguments. Out: its spec, and arguments with long names. */
import type { ChoiceSpec } from "../shared/options.ts";

/** `json` has a version, `"v": 1`: fields are added to it, none is removed or changes its meaning. */
export const OUTPUT_OPTION = {
  type: "choice",
  choices: ["text", "json"],
  default: "text",
  help: "Format of the output; -o for short.",
} as const satisfies ChoiceSpec;

/** Short flags of all commands, those of kubectl and curl. */
const SHORT_FLAGS: Readonly<
  Record<string, { readonly name: string; readonly takesValue: boolean }>
> = {
  o: { name: "output", takesValue: true },
  n: { name: "namespace", takesValue: true },
  A: { name: "all-namespaces", takesValue: false },
  w: { name: "watch", takesValue: false },
  f: { name: "file", takesValue: true },
  H: { name: "header", takesValue: true },
};

/** `-o json` → `--output json`, `-o=json` and `-ojson` → `--output=json`; what follows `--` stays. */
export function withLongNames(args: readonly string[]): string[] {
  const end = args.indexOf("--");
  return args.map((arg, i) => {
    const [, letter, value] = /^-([A-Za-z])(.*)$/s.exec(arg) ?? [];
    const flag = letter === undefined ? undefined : SHORT_FLAGS[letter];
    if (flag === undefined || (end >= 0 && i > end)) return arg;
    if (value === "" || value.startsWith("=")) return `--${flag.name}${value}`;
    return flag.takesValue ? `--${flag.name}=${value}` : arg;
  });
}

/** The short flag of a long one, without its dash; null for none. */
export function shortFlagOf(flag: string): string | null {
  return Object.entries(SHORT_FLAGS).find(([, { name }]) => name === flag)?.[0] ?? null;
}
