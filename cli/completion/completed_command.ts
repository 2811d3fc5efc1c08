/**
 * What a shell completes. In: the table of commands, and what each takes. Out: for each command its
 * flags with their values, and its arguments; the same for every shell.
 */
import { flagName, type OptionSpec } from "../../shared/options.ts";
import type { CommandModule } from "../command.ts";
import { shortFlagOf } from "../output_option.ts";

/** A list of words; `files`; or `any`, which is not completed. */
export type Values = readonly string[] | "files" | "any";

export interface CompletedFlag {
  /** Without dashes: `listen-http`. */
  readonly name: string;
  /** `o` for `--output`; null without one. */
  readonly short: string | null;
  /** One sentence without its full stop. */
  readonly help: string;
  /** Null where it takes none. */
  readonly values: Values | null;
  /** Whether a value may be a file besides words. */
  readonly takesFiles: boolean;
  /** Whether a value can only stand after `=`. */
  readonly isBare: boolean;
  readonly isRepeatable: boolean;
}

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly CompletedFlag[];
  /** Of arguments without a flag; null where it takes none. */
  readonly argument: Values | null;
}

/** The program itself takes these words beside the commands. */
export const HELP_COMMAND = "help";

const HELP_FLAG: CompletedFlag = {
  name: "help",
  short: "h",
  help: "Prints the help",
  values: null,
  takesFiles: false,
  isBare: false,
  isRepeatable: false,
};

export function completedCommand(
  name: string,
  summary: string,
  { specs, program, words }: CommandModule,
): CompletedCommand {
  const flags = Object.entries(specs).map(([key, spec]) => completedFlag(flagName(key), spec));
  return {
    name,
    summary: sentenceOf(summary),
    flags: [...flags, HELP_FLAG],
    argument: program.positionals === undefined
      ? null
      : words ?? valuesOf(program.positionals.name),
  };
}

function completedFlag(name: string, spec: OptionSpec): CompletedFlag {
  return {
    name,
    short: shortFlagOf(name),
    help: sentenceOf(spec.help),
    values: spec.type === "boolean"
      ? null
      : spec.type === "choice"
      ? spec.choices
      : spec.type === "string"
      ? valuesOf(spec.value)
      : "any",
    takesFiles: spec.type === "string" && wordsIn(spec.value).length > 0 && FILES.test(spec.value),
    isBare: spec.type === "string" && spec.bare !== undefined,
    isRepeatable: spec.type === "cidr" || ("repeatable" in spec && spec.repeatable === true),
  };
}

const FILES = /\b(?:FILE|DIR|PATH)/;

/** By what stands for the value: `FILE`, `DIR…`, `N|auto`, `cluster|DIR|git:REF`. */
function valuesOf(placeholder: string): Values {
  const words = wordsIn(placeholder);
  return words.length > 0 ? words : FILES.test(placeholder) ? "files" : "any";
}

/** Those that are written as they are: `auto`, and `git:` of `git:REF`. */
function wordsIn(placeholder: string): readonly string[] {
  const parts = placeholder.split("|");
  return parts.length === 1
    ? []
    : parts.flatMap((part) => /^([a-z]+|[a-z]+:(?=[A-Z]+$))(?:[A-Z]+)?$/.exec(part)?.[1] ?? []);
}

/** The first sentence, without its full stop. */
function sentenceOf(text: string): string {
  return text.split(/\.(?= |$)/)[0];
}
