/** Completion in fish. In: commands. Out: a script for the folder of completions, or that is sourced. */
import {
  type CompletedCommand,
  type CompletedFlag,
  HELP_COMMAND,
  type Values,
} from "./completed_command.ts";

export function fishScript(commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name).join(" ");
  return [
    "# fish completion of pingress: pingress completion fish > ~/.config/fish/completions/pingress.fish",
    "complete -c pingress -f",
    ...commands.map(({ name, summary }) =>
      `complete -c pingress -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`
    ),
    `complete -c pingress -n __fish_use_subcommand -a ${HELP_COMMAND} -d 'Prints the help of a command'`,
    `complete -c pingress -n ${after(HELP_COMMAND)} -a ${quoted(names)}`,
    ...commands.flatMap(commandLines),
    "complete -c kubectl-pingress -w pingress",
    "",
  ].join("\n");
}

function commandLines({ name, flags, argument }: CompletedCommand): string[] {
  const start = `complete -c pingress -n ${after(name)}`;
  return [
    ...flags.map((flag) => `${start} ${flagWords(flag)}`),
    ...(argument === null || argument === "any" ? [] : [`${start} ${words(argument)}`]),
  ];
}

function flagWords(
  { name, short, help, values, takesFiles, isBare }: CompletedFlag,
): string {
  const hasFiles = values === "files" || takesFiles;
  const value = values === null || isBare ? "" : hasFiles ? " -r -F" : " -x";
  const choices = Array.isArray(values) ? ` ${words(values)}` : "";
  return `-l ${name}${short === null ? "" : ` -s ${short}`}${value}${choices} -d ${quoted(help)}`;
}

function words(values: Exclude<Values, "any">): string {
  return values === "files" ? "-F" : `-a ${quoted(values.join(" "))}`;
}

/** Once the command stands there. */
function after(command: string): string {
  return quoted(`__fish_seen_subcommand_from ${command}`);
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
