/**
 * Tasks of several commands. In: the name of the task and its commands, one an argument, as deno.json has
 * them. Out: what they print, one after the other until one fails, and the exit code of the last.
 *
 * A shell's `&&` would give a flag such as `--help` to the last command, after it has run the others.
 */
import { runCommand } from "./command.ts";
import { taskOptions } from "./task_options.ts";

const isCommand = (arg: string) => arg.includes(" ");
const [name, ...rest] = Deno.args;
const commands = rest.filter(isCommand);
taskOptions(
  {
    name: `deno task ${name}`,
    summary: `Runs these commands, one after the other, until one fails: ${commands.join(", ")}.`,
  },
  {},
  rest.filter((arg) => !isCommand(arg)),
);

for (const command of commands) {
  const [program, ...args] = command.split(" ");
  const { code, stderr } = await runCommand(program, args, { shown: true });
  if (stderr !== "") console.error(stderr);
  if (code !== 0) Deno.exit(code);
}
