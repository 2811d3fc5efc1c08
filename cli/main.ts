/**
 * The program `pingress`. In: the command line, the name of a command first. Out: what the command
 * prints, and its exit code: 0 fine, 1 found what it looks for, 2 unusable command line or input.
 *
 *     name ─▶ table of commands ─▶ the module of one command ─▶ exit code
 */
import { nearestName } from "../shared/nearest_name.ts";
import { VERSION } from "../shared/version.ts";
import { EXIT } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { processTerminal, type Terminal } from "./terminal/terminal.ts";

const HELP = ["help", "--help", "-h"];
const VERSIONS = ["--version", "-v", "-V"];

/** Returns the exit code. */
export async function main(args: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined) {
    terminal.error(helpText());
    return EXIT.unusable;
  }
  if (HELP.includes(name)) {
    if (rest.length > 0 && !rest[0].startsWith("-")) {
      return await run(rest[0], ["--help"], terminal);
    }
    terminal.write(`${helpText()}\n`);
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
  const { main } = await command.load();
  return await main(args, terminal);
}

function unknownCommand(name: string): string {
  const near = nearestName(name, COMMANDS.map((command) => command.name));
  return `pingress has no command ${JSON.stringify(name)}` +
    (near === null ? "" : `; did you mean ${near}?`) + "\npingress --help lists the commands";
}

function helpText(): string {
  const width = Math.max(...COMMANDS.map(({ name }) => name.length));
  return [
    `pingress ${VERSION}: the Pingress ingress controller from the command line.`,
    "",
    "Usage: pingress COMMAND [flags]",
    "",
    "Commands:",
    ...COMMANDS.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    "",
    "pingress COMMAND --help lists the flags of a command.",
  ].join("\n");
}

if (import.meta.main) Deno.exit(await main(Deno.args, processTerminal()));
