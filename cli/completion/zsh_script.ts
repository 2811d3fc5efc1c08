/** Completion in zsh. In: commands. Out: a script for a folder of `fpath`, or that is sourced. */
import {
  type CompletedCommand,
  type CompletedFlag,
  HELP_COMMAND,
  type Values,
} from "./completed_command.ts";

export function zshScript(commands: readonly CompletedCommand[]): string {
  const described = [
    ...commands.map(({ name, summary }) => `${name}:${summary}`),
    `${HELP_COMMAND}:Prints the help of a command`,
  ];
  return `#compdef pingress kubectl-pingress
# zsh completion of pingress. In ~/.zshrc, after compinit: source <(pingress completion zsh)
_pingress() {
  if ((CURRENT == 2)); then
    local -a commands=(
${described.map((text) => `      ${quoted(text)}`).join("\n")}
    )
    _describe -t commands command commands
    return
  fi
  # As if the command were the program, so that its flags begin at its name.
  shift words
  ((CURRENT--))
  case $words[1] in
${commands.map(commandCase).join("\n")}
    ${HELP_COMMAND}) _arguments ${
    quoted(`1:command:(${commands.map(({ name }) => name).join(" ")})`)
  } ;;
  esac
}

_pingress_words_or_files() {
  compadd -S '' -- "$@"
  _files
}

if [[ $funcstack[1] == _pingress ]]; then
  _pingress "$@"
else
  compdef _pingress pingress kubectl-pingress
fi
`;
}

function commandCase({ name, flags, argument }: CompletedCommand): string {
  const specs = [
    ...flags.flatMap(flagSpecs),
    ...(argument === null ? [] : [`*:argument:${action(argument)}`]),
  ];
  return [
    `    ${name})`,
    "      _arguments \\",
    `${specs.map((spec) => `        ${quoted(spec)}`).join(" \\\n")} ;;`,
  ].join("\n");
}

/** One for the long flag, and one for the short. */
function flagSpecs(
  { name, short, help, values, takesFiles, isBare, isRepeatable }: CompletedFlag,
): string[] {
  const own = short === null ? [`--${name}`] : [`--${name}`, `-${short}`];
  const before = isRepeatable ? "*" : `(${own.join(" ")})`;
  const about = `[${help.replace(/[[\]\\]/g, "\\$&")}]`;
  const value = values === null
    ? ""
    : takesFiles && Array.isArray(values)
    ? `:value: _pingress_words_or_files ${values.join(" ").replaceAll(":", "\\:")}`
    : `:value:${action(values)}`;
  return own.map((flag) => {
    const isLong = flag.startsWith("--");
    const equals = values === null ? "" : isBare ? "=-" : isLong ? "=" : "+";
    return `${before}${flag}${equals}${about}${isBare ? ":" : ""}${value}`;
  });
}

function action(values: Values): string {
  if (values === "files") return "_files";
  return values === "any" ? " " : `(${values.join(" ")})`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
