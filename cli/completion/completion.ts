/**
 * `pingress completion bash|zsh|fish`. In: the command line. Out: a script that completes commands,
 * flags, their values and files, made from the table of commands.
 */
import { defineOptions, parseOptions, type Program } from "../../shared/options.ts";
import { type Command, EXIT } from "../command.ts";
import { OUTPUT_OPTION, withLongNames } from "../output_option.ts";
import { refusedOptions } from "../refused_options.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { bashScript } from "./bash_script.ts";
import { type CompletedCommand, completedCommand } from "./completed_command.ts";
import { fishScript } from "./fish_script.ts";
import { offersFor, offersText } from "./offers.ts";
import { zshScript } from "./zsh_script.ts";

const SCRIPTS: ReadonlyMap<string, (commands: readonly CompletedCommand[]) => string> = new Map([
  ["bash", bashScript],
  ["zsh", zshScript],
  ["fish", fishScript],
]);

export const words: readonly string[] = [...SCRIPTS.keys()];

export const program: Program = {
  name: "pingress completion",
  summary: "Prints a script that completes commands, flags, their values and files in a shell.",
  positionals: {
    name: "SHELL",
    help:
      "bash, zsh or fish. In ~/.bashrc, write source <(pingress completion bash); in ~/.zshrc, after " +
      "compinit, the same with zsh; for fish, write the script to " +
      "~/.config/fish/completions/pingress.fish.",
    min: 0,
    max: 1000,
  },
};

export const specs = defineOptions({
  output: {
    ...OUTPUT_OPTION,
    help:
      "json: commands, flags and values as data, for other shells, without SHELL; -o for short.",
  },
  offers: {
    type: "boolean",
    reason: "shells have scripts",
    help:
      "Prints what may stand in place of the last of the words behind --, as kubectl asks for it: " +
      "pingress completion --offers -- explain --cl.",
  },
});

export async function main(
  args: readonly string[],
  terminal: Terminal,
  table: readonly Command[],
): Promise<number> {
  const parsed = parseOptions(program, specs, withLongNames(args));
  if (parsed.kind !== "ok") return refusedOptions(parsed, terminal);
  const [shell, ...more] = parsed.positionals;
  const commands = await Promise.all(
    table.map(async ({ name, summary, load }) => completedCommand(name, summary, await load())),
  );
  if (parsed.options.offers) {
    terminal.write(offersText(offersFor(commands, parsed.positionals)));
    return EXIT.fine;
  }
  if (parsed.options.output === "json" && shell === undefined) {
    terminal.json({ commands });
    return EXIT.fine;
  }
  const script = SCRIPTS.get(shell ?? "");
  if (script === undefined || more.length > 0 || parsed.options.output === "json") {
    terminal.error(
      `${program.name} needs one of ${words.join(", ")}, or -o json without a shell\n` +
        `${program.name} --help lists the flags`,
    );
    return EXIT.unusable;
  }
  terminal.write(script(commands));
  return EXIT.fine;
}
