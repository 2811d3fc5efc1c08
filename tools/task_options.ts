/**
 * The command line of a task for developers. In: the program, what it takes, and its arguments. Out: typed
 * values; after `--help` the process ends with its text, and after a mistake with exit code 2.
 */
import { type Options, type OptionSpecs, parseOptions, type Program } from "../shared/options.ts";

export function taskOptions<const S extends OptionSpecs>(
  program: Program,
  specs: S,
  args: readonly string[],
): Options<S> {
  const parsed = parseOptions(program, specs, args);
  if (parsed.kind === "ok") return parsed.options;
  (parsed.kind === "help" ? console.log : console.error)(parsed.text);
  Deno.exit(parsed.kind === "help" ? 0 : 2);
}
