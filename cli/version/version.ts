/** `pingress version`. In: the command line. Out: the versions of Pingress and of Deno. */
import { defineOptions, parseOptions, type Program } from "../../shared/options.ts";
import { VERSION } from "../../shared/version.ts";
import { EXIT } from "../command.ts";
import { OUTPUT_OPTION, withLongNames } from "../output_option.ts";
import { refusedOptions } from "../refused_options.ts";
import type { Terminal } from "../terminal/terminal.ts";

export const program: Program = { name: "pingress version", summary: "Prints the version." };

export const specs = defineOptions({ output: OUTPUT_OPTION });

export function main(args: readonly string[], terminal: Terminal): Promise<number> {
  const parsed = parseOptions(program, specs, withLongNames(args));
  if (parsed.kind !== "ok") return Promise.resolve(refusedOptions(parsed, terminal));
  const { deno, v8 } = Deno.version;
  if (parsed.options.output === "json") terminal.json({ version: VERSION, deno, v8 });
  else terminal.write(`pingress ${VERSION} (Deno ${deno})\n`);
  return Promise.resolve(EXIT.fine);
}
