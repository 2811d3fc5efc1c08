/**
 * What may stand in place of the last word of a command line. In: the commands, and the words behind the program,
 * of which the last is being typed. Out: words, and whether files fit. kubectl asks for it by
 * `kubectl_complete-pingress`. Pure.
 */
import { type CompletedCommand, HELP_COMMAND, type Values } from "./completed_command.ts";

export interface Offers {
  readonly words: readonly string[];
  readonly hasFiles: boolean;
}

/** What cobra calls directives: nothing in particular, and no files. */
const DIRECTIVES = { files: 0, words: 4 } as const;

export function offersFor(
  commands: readonly CompletedCommand[],
  typed: readonly string[],
): Offers {
  const names = commands.map(({ name }) => name);
  const current = typed.at(-1) ?? "";
  const [first] = typed;
  if (typed.length < 2) return matching([...names, HELP_COMMAND, "--help", "--version"], current);
  if (first === HELP_COMMAND) return matching(names, current);
  const command = commands.find(({ name }) => name === first);
  if (command === undefined) return NOTHING;
  const { flags, argument } = command;
  const [, inline, value] = /^--([\w-]+)=(.*)$/s.exec(current) ?? [];
  const before = typed.at(-2) ?? "";
  const flag = flags.find(({ name, short, isBare }) =>
    inline === undefined
      ? !isBare && (before === `--${name}` || (short !== null && before === `-${short}`))
      : inline === name
  );
  if (flag !== undefined && flag.values !== null) {
    const start = inline === undefined ? "" : `--${inline}=`;
    const { words, hasFiles } = ofValues(flag.values, value ?? current);
    return { words: words.map((word) => start + word), hasFiles: hasFiles || flag.takesFiles };
  }
  return current.startsWith("-")
    ? matching(flags.map(({ name }) => `--${name}`), current)
    : argument === null
    ? NOTHING
    : ofValues(argument, current);
}

/** A word a line, and the directive behind a colon. */
export function offersText({ words, hasFiles }: Offers): string {
  const directive = hasFiles ? DIRECTIVES.files : DIRECTIVES.words;
  return [...words, `:${directive}`, ""].join("\n");
}

const NOTHING: Offers = { words: [], hasFiles: false };

function ofValues(values: Values, current: string): Offers {
  if (values === "files") return { words: [], hasFiles: true };
  return values === "any" ? NOTHING : matching(values, current);
}

function matching(words: readonly string[], current: string): Offers {
  return { words: words.filter((word) => word.startsWith(current)), hasFiles: false };
}
