/**
 * `pingress codes [CODE]`. In: the command line. Out: every code of problems and of responses of
 * proxies by section, or what one means and what to do.
 */
import { nearestName } from "../../shared/nearest_name.ts";
import { defineOptions, HELP_WIDTH, parseOptions, type Program } from "../../shared/options.ts";
import { escapeUnsafe } from "../../shared/log.ts";
import { EXIT } from "../command.ts";
import { OUTPUT_OPTION, withLongNames } from "../output_option.ts";
import { refusedOptions } from "../refused_options.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { type Code, CODES } from "./catalogue.ts";
import { codeListText, codeText } from "./code_text.ts";

export const program: Program = {
  name: "pingress codes",
  summary: "Explains the codes of problems, and of responses that proxies send themselves.",
  positionals: {
    name: "CODE",
    help: "A code such as ServiceNotFound or no_endpoint. Without it, all are listed.",
    min: 0,
    max: 1,
  },
};

export const specs = defineOptions({ output: OUTPUT_OPTION });

export const words: readonly string[] = CODES.map(({ code }) => code);

export function main(args: readonly string[], terminal: Terminal): Promise<number> {
  const parsed = parseOptions(program, specs, withLongNames(args));
  if (parsed.kind !== "ok") return Promise.resolve(refusedOptions(parsed, terminal));
  const [written] = parsed.positionals;
  const code = written === undefined ? null : findCode(written);
  if (written !== undefined && code === null) {
    terminal.error(unknownCode(written));
    return Promise.resolve(EXIT.unusable);
  }
  const layout = { style: terminal.style, width: Math.min(terminal.columns, HELP_WIDTH) };
  if (parsed.options.output === "json") terminal.json({ codes: code === null ? CODES : [code] });
  else terminal.write(code === null ? codeListText(CODES, layout) : codeText(code, layout));
  return Promise.resolve(EXIT.fine);
}

/** The very code, or one in another letter case; also with the prefix of a rule of lint: `problem/PathConflict`. */
export function findCode(written: string): Code | null {
  const name = nameOf(written);
  return CODES.find(({ code }) => code === name) ??
    CODES.find(({ code }) => code.toLowerCase() === name.toLowerCase()) ?? null;
}

function nameOf(written: string): string {
  return written.replace(/^(?:problem|gateway)\//, "");
}

function unknownCode(written: string): string {
  const near = nearestName(nameOf(written), CODES.map(({ code }) => code));
  return `There is no code ${escapeUnsafe(JSON.stringify(written.slice(0, 60)))}` +
    (near === null ? "" : `; did you mean ${near}?`) + "\npingress codes lists all";
}
