/** The command line of `diff`. In: arguments. Out: typed options, a help text, or what is wrong. */
import { GATEWAY_OPTIONS, type Parsed, PLAN_OPTIONS, toPlanOptions } from "../../dev/options.ts";
import type { PlanOptions } from "../../dev/plan.ts";
import { defineOptions, parseOptions, type Program } from "../../shared/options.ts";
import {
  CLUSTER_OPTIONS,
  type ClusterChoice,
  clusterChoice,
  SYSTEM_NAMESPACE_OPTION,
} from "../cluster/options.ts";
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
    value: "cluster|DIR|git:REF",
    required: true,
    help:
      "What they are compared with. DIR: another folder or file. git:REF: the same folders in a " +
      "branch, tag or commit, such as git:origin/main. cluster: the cluster of the kubeconfig, to " +
      "which they are added in place of the objects with the same names. A folder that is called " +
      "cluster is ./cluster.",
  },
  output: OUTPUT_OPTION,
  ...GATEWAY_OPTIONS,
  ...PLAN_OPTIONS,
  ...CLUSTER_OPTIONS,
  ...SYSTEM_NAMESPACE_OPTION,
});

export type Against =
  | {
    readonly kind: "cluster";
    readonly choice: ClusterChoice;
    readonly environment: (name: string) => string | undefined;
    /** Of the installation. */
    readonly namespace: string;
  }
  | { readonly kind: "folder"; readonly path: string }
  | {
    readonly kind: "git";
    readonly reference: string;
    /** All that git inherits, by name. */
    readonly environment: Readonly<Record<string, string>>;
  };

/**
 * Where git has its configuration of the user. In a hook, GIT_DIR and others (`git rev-parse --local-env-vars`) name
 * the repository of the hook, and so another folder than the one asked for.
 */
const INHERITED = ["HOME", "USERPROFILE", "XDG_CONFIG_HOME"];

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
  const against = options.against === "cluster"
    ? {
      kind: "cluster" as const,
      choice: clusterChoice(options),
      environment: (name: string) => Deno.env.get(name),
      namespace: options.systemNamespace,
    }
    : readAgainst(options.against);
  const fault = against === null
    ? "--against git: needs a branch, tag or commit, such as git:main"
    : against.kind !== "cluster" && options.context !== undefined
    ? "--context needs --against cluster"
    : against.kind !== "cluster" && options.kubeconfig !== undefined
    ? "--kubeconfig needs --against cluster"
    : null;
  return against === null || fault !== null
    ? { kind: "error", text: `${fault}\n${DIFF_PROGRAM.name} --help lists the flags` }
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
function readAgainst(text: string): Exclude<Against, { readonly kind: "cluster" }> | null {
  if (!text.startsWith(GIT)) return { kind: "folder", path: text };
  const reference = text.slice(GIT.length);
  if (reference === "" || reference.includes("\0")) return null;
  const environment = INHERITED.flatMap((name): [string, string][] => {
    const value = Deno.env.get(name);
    return value === undefined ? [] : [[name, value]];
  });
  return { kind: "git", reference, environment: Object.fromEntries(environment) };
}
