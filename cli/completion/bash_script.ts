/** Completion in bash, from 3.2 on. In: commands. Out: a script that is sourced. */
import {
  type CompletedCommand,
  type CompletedFlag,
  HELP_COMMAND,
  type Values,
} from "./completed_command.ts";

export function bashScript(commands: readonly CompletedCommand[]): string {
  const names = commands.map(({ name }) => name);
  return `# bash completion of pingress. In ~/.bashrc: source <(pingress completion bash)
_pingress() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]}
  COMPREPLY=()
  # bash splits --flag=value at the equals sign.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  if ((COMP_CWORD == 1)); then
    _pingress_words "${[...names, HELP_COMMAND, "--help", "--version"].join(" ")}"
    return
  fi
  case "$command:$prev" in
${commands.flatMap(({ name, flags }) => flags.flatMap((flag) => flagCase(name, flag))).join("\n")}
  esac
  case "$command:$cur" in
${
    commands.map(({ name, flags }) =>
      `    ${name}:-*) ${words(flags.map((flag) => `--${flag.name}`))} ;;`
    ).join("\n")
  }
${commands.map(({ name, argument }) => `    ${name}:*) ${action(argument)} ;;`).join("\n")}
    ${HELP_COMMAND}:*) ${words(names)} ;;
  esac
}

_pingress_words() {
  COMPREPLY=($(compgen -W "$1" -- "$cur"))
  # No files where there are words.
  compopt +o default +o bashdefault 2>/dev/null
}

_pingress_words_or_files() {
  COMPREPLY=($(compgen -W "$1" -- "$cur") $(compgen -f -- "$cur"))
  compopt -o filenames 2>/dev/null
}

complete -o bashdefault -o default -F _pingress pingress kubectl-pingress
`;
}

function flagCase(
  command: string,
  { name, short, values, takesFiles, isBare }: CompletedFlag,
): string[] {
  if (values === null || isBare) return [];
  const patterns = [`${command}:--${name}`, ...(short === null ? [] : [`${command}:-${short}`])];
  const offer = takesFiles && Array.isArray(values)
    ? `_pingress_words_or_files "${values.join(" ")}"`
    : action(values);
  return [`    ${patterns.join("|")}) ${offer}; return ;;`];
}

/** Without a word of ours, bash completes files. */
function action(values: Values | null): string {
  if (values === "files") return ":";
  return words(values === null || values === "any" ? [] : values);
}

function words(all: readonly string[]): string {
  return `_pingress_words "${all.join(" ")}"`;
}
