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
const SHORT_FLAGS: Readonly<Record<string, string>> = {
  o: "output",
  n: "namespace",
  A: "all-namespaces",
  w: "watch",
  f: "file",
  H: "header",
};

/** `-o json` → `--output json`, `-o=json` → `--output=json`; what follows `--end-of-options` stays. */
export function withLongNames(args: readonly string[]): string[] {
  return args.map((arg) => {
    const [, letter, value] = /^-([A-Za-z])(=.*)?$/s.exec(arg) ?? [];
    const name = letter === undefined ? undefined : SHORT_FLAGS[letter];
    return name === undefined ? arg : `--${name}${value ?? ""}`;
  });
}
