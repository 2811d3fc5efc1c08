/**
 * A command of the program `pingress`. In: nothing. Out: the types that the table of commands and every
 * command share.
 */
import type { OptionSpecs, Program } from "../shared/options.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** The module of a command; loaded when the command runs, so that others cost it no start time. */
export interface CommandModule {
  readonly program: Program;
  readonly specs: OptionSpecs;
  /** Takes the arguments after the command's name, and the table that it stands in. Returns the exit code. */
  readonly main: (
    args: readonly string[],
    terminal: Terminal,
    commands: readonly Command[],
  ) => Promise<number>;
  /** What may stand for the argument without a flag, for completion, where that is one of a few words. */
  readonly words?: readonly string[];
}

export interface Command {
  readonly name: string;
  /** One sentence with its full stop, for the list of commands. */
  readonly summary: string;
  /** Permission set of deno.json with which the command is started. */
  readonly permissions: string;
  readonly load: () => Promise<CommandModule>;
}

/**
 * Exit codes of every command: `fine`; `found`, what the command looks for is there (a problem, a lost
 * route, an answer of the proxy itself); `unusable`, a wrong command line or input that cannot be read.
 */
export const EXIT = { fine: 0, found: 1, unusable: 2 } as const;
