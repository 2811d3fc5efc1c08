/**
 * The program `pingress`. In: the command line, the name of a command first. Out: what the command
 * prints, and its exit code: 0 fine, 1 found what it looks for, 2 unusable command line or input.
 *
 *     name ─▶ table of commands ─▶ the module of one command ─▶ exit code
 */
import { escapeUnsafe } from "../shared/log.ts";
import { nearestName } from "../shared/nearest_name.ts";
import { flagName, HELP_WIDTH, parseOptions } from "../shared/options.ts";
import { wrapText } from "../shared/wrapped_text.ts";
import { VERSION } from "../shared/version.ts";
import { type CommandModule, EXIT } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { withLongNames } from "./output_option.ts";
import { type RefusedOptions, refusedOptions } from "./refused_options.ts";
import { processTerminal, type Terminal } from "./terminal/terminal.ts";

const HELP = ["help", "--help", "-h"];
const VERSIONS = ["--version", "-v", "-V"];

/** Of a word that is shown again: a longer one is none that somebody mistyped. */
const SHOWN = 60;

/** Returns the exit code. */
export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined) {
    terminal.error(helpText(terminal));
    return EXIT.unusable;
  }
  if (HELP.includes(name)) {
    if (rest.length > 0 && !rest[0].startsWith("-") && !HELP.includes(rest[0])) {
      return await run(rest[0], ["--help"], terminal);
    }
    terminal.write(`${helpText(terminal)}\n`);
    return EXIT.fine;
  }
  if (VERSIONS.includes(name)) return await run("version", rest, terminal);
  return await run(name, rest, terminal);
}

async function run(name: string, args: readonly string[], terminal: Terminal): Promise<number> {
  const command = COMMANDS.find((each) => each.name === name);
  if (command === undefined) {
    terminal.error(unknownCommand(name));
    return EXIT.unusable;
  }
  const module = await command.load();
  const refused = await refusalOf(module, args, terminal);
  return refused === null
    ? await module.main(args, terminal, COMMANDS)
    : refusedOptions(refused, terminal);
}

/**
 * Help, or what is wrong with the flags; null where the command gets them. Here, so that every command
 * wraps its help to the terminal, and knows which flags other commands have.
 */
async function refusalOf(
  module: CommandModule,
  args: readonly string[],
  terminal: Terminal,
): Promise<RefusedOptions | null> {
  const { program, specs } = module;
  const long = withLongNames(args);
  const width = widthOf(terminal);
  const parsed = parseOptions(program, specs, long, { width });
  if (parsed.kind === "ok") return null;
  if (parsed.kind === "help") return parsed;
  const again = parseOptions(program, specs, long, { elsewhere: await flagsBeside(module) });
  return again.kind === "ok" ? null : again;
}

/** Flags of the other commands, with the names of those. */
async function flagsBeside(module: CommandModule): Promise<Map<string, string[]>> {
  const flags = new Map<string, string[]>();
  for (const { load } of COMMANDS) {
    const { program, specs } = await load();
    if (specs === module.specs) continue;
    for (const key of Object.keys(specs)) {
      const flag = flagName(key);
      flags.set(flag, [...flags.get(flag) ?? [], program.name]);
    }
  }
  return flags;
}

function unknownCommand(written: string): string {
  const name = written.length > SHOWN ? `${written.slice(0, SHOWN)}…` : written;
  const shown = escapeUnsafe(JSON.stringify(name));
  if (written.startsWith("-")) {
    return `${shown} stands before the command; write pingress COMMAND [flags]\n` +
      "pingress --help lists the commands";
  }
  const near = nearestName(written, COMMANDS.map((command) => command.name));
  return `pingress has no command ${shown}` +
    (near === null ? "" : `; did you mean ${near}?`) + "\npingress --help lists the commands";
}

function helpText(terminal: Terminal): string {
  const width = widthOf(terminal);
  const names = Math.max(...COMMANDS.map(({ name }) => name.length));
  const indent = " ".repeat(names + 4);
  return [
    ...wrapText(`pingress ${VERSION}: the Pingress ingress controller from the command line.`, {
      indent: "",
      width,
    }),
    "",
    "Usage: pingress COMMAND [flags]",
    "",
    "Commands:",
    ...COMMANDS.flatMap(({ name, summary }) => {
      const [first, ...more] = wrapText(summary, { indent, width });
      return [`  ${name.padEnd(names)}  ${first.trimStart()}`, ...more];
    }),
    "",
    "pingress COMMAND --help lists the flags of a command.",
  ].join("\n");
}

function widthOf(terminal: Terminal): number {
  return Math.min(terminal.columns, HELP_WIDTH);
}

if (import.meta.main) {
  Deno.exit(await main(Deno.args, processTerminal((name) => Deno.env.get(name))));
}
