/** The command line of `diff`. In: arguments. Out: typed options, a help text, or what is wrong. */
import { GATEWAY_OPTIONS, type Parsed, PLAN_OPTIONS, toPlanOptions } from "../../dev/options.ts";
import type { PlanOptions } from "../../dev/plan.ts";
import { defineOptions, parseOptions, type Program } from "../../shared/options.ts";
import { OUTPUT_OPTION, withLongNames } from "../output_option.ts";

export const DIFF_PROGRAM: Program = {
  name: "pingress diff",
  summary: "Shows which routes, certificates and answers new manifests change.",
};

export const DIFF_OPTIONS = defineOptions({
  file: {
    type: "string",
    value: "DIR",
    repeatable: true,
    required: true,
    help: "The new manifests: a folder or file of Kubernetes YAML or JSON; -f for short.",
  },
  against: {
    type: "string",
    value: "DIR|git:REF",
    required: true,
    help:
      "What they are compared with. DIR: another folder or file. git:REF: the same folders in a " +
      "branch, tag or commit, such as git:origin/main.",
  },
  output: OUTPUT_OPTION,
  ...GATEWAY_OPTIONS,
  ...PLAN_OPTIONS,
});

export type Against =
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "git"; readonly reference: string };

export interface DiffOptions {
  /** Folders and files. */
  readonly paths: readonly string[];
  readonly against: Against;
  readonly output: "text" | "json";
  readonly plan: PlanOptions;
}

/** Never throws for what a user wrote. */
export function parseDiffOptions(args: readonly string[]): Parsed<DiffOptions> {
  const parsed = parseOptions(DIFF_PROGRAM, DIFF_OPTIONS, withLongNames(args));
  if (parsed.kind !== "ok") return parsed;
  const { options } = parsed;
  const against = readAgainst(options.against);
  return against === null
    ? {
      kind: "error",
      text: "--against git: needs a branch, tag or commit, such as git:main\n" +
        `${DIFF_PROGRAM.name} --help lists the flags`,
    }
    : {
      kind: "ok",
      options: {
        paths: options.file,
        against,
        output: options.output,
        plan: toPlanOptions(options),
      },
    };
}

const GIT = "git:";

/** Null for a reference that is none. */
function readAgainst(text: string): Against | null {
  if (!text.startsWith(GIT)) return { kind: "folder", path: text };
  const reference = text.slice(GIT.length);
  return reference === "" || reference.includes("\0") ? null : { kind: "git", reference };
}
