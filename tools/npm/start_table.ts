/**
 * How the npm package starts a command. In: `deno.json` and the table of commands. Out: flags of
 * `deno run` by command, and the permission sets that they name; the same as those of the tasks.
 */
import type { Command } from "../../cli/command.ts";

/** Of `deno.json`, as far as it is read here. */
export interface StartConfig {
  readonly unstable: readonly string[];
  readonly tasks: Readonly<Record<string, { readonly command: string }>>;
  readonly permissions: Readonly<Record<string, unknown>>;
}

export interface StartTable {
  /** The oldest Deno that runs it: `2.9`. */
  readonly deno: string;
  /** By command; `""` is for help, and for words that are no command. */
  readonly flags: Readonly<Record<string, readonly string[]>>;
}

/** The task with the flags of commands that have no task of their own. */
const PROGRAM = "pingress";

/** What may run without any right: help, and what a mistyped command gets. */
const HARMLESS = "offline";

const OLDEST_DENO = "2.9";

export function startTable(config: StartConfig, commands: readonly Command[]): StartTable {
  const rows = commands.map(({ name, permissions }) => {
    const own = config.tasks[name]?.command;
    // Another task may have the command's name, as check has.
    const isSame = own?.split(" ").includes(`-P=${permissions}`);
    return [name, flagsOf(isSame ? own : config.tasks[PROGRAM].command, permissions)] as const;
  });
  const harmless = flagsOf(config.tasks[PROGRAM].command, HARMLESS);
  return { deno: OLDEST_DENO, flags: { ...Object.fromEntries(rows), "": harmless } };
}

/** `deno.json` of the package: the permission sets of its commands, and nothing to look up. */
export function packageConfig(config: StartConfig, commands: readonly Command[]) {
  const names = new Set([HARMLESS, ...commands.map(({ permissions }) => permissions)]);
  return {
    unstable: config.unstable,
    lock: false,
    nodeModulesDir: "none",
    permissions: Object.fromEntries(
      [...names].map((name) => [name, config.permissions[name]]),
    ),
  };
}

/** The task's flags for `deno run`, with another permission set; how modules are loaded is another matter in a bundle. */
function flagsOf(task: string, permissions: string): string[] {
  const [program, run, ...rest] = task.split(" ");
  if (program !== "deno" || run !== "run") throw new Error(`${task} is no deno run`);
  return rest.slice(0, -1).filter((flag) => !flag.startsWith("--unstable-")).map((flag) =>
    flag.startsWith("-P=") ? `-P=${permissions}` : flag
  );
}
