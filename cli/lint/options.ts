/** The command line of `deno task lint`. In: arguments. Out: typed options, help, or an error. */
import { acceptCheck, labelCheck, namesOf } from "../../controller/cli/option_values.ts";
import { isDnsName } from "../../controller/base/names.ts";
import { defineOptions, parseOptions, type Program } from "../../shared/options.ts";
import type { Verdict } from "./finding.ts";

export const LINT_PROGRAM: Program = {
  name: "deno task lint",
  summary: "Compares what becomes of Ingresses written for ingress-nginx, without a cluster.",
  positionals: {
    name: "DIR…",
    help: "Folders or files of Kubernetes YAML or JSON.",
    min: 1,
    max: 1000,
  },
};

export const FORMATS = ["text", "json", "markdown", "sarif", "github"] as const;
export type Format = typeof FORMATS[number];

const LEVELS = ["opens", "breaks", "differs"] as const;

export const LINT_OPTIONS = defineOptions({
  output: {
    type: "choice",
    choices: FORMATS,
    default: "text",
    help: "Format of the output; -o for short. sarif is SARIF 2.1.0, github are workflow commands.",
  },
  failOn: {
    type: "choice",
    choices: LEVELS,
    default: "opens",
    reason: "a closed path is noticed at once, one that lost its protection is not",
    help: "Exits with 1 where a verdict is this one or worse.",
  },
  nginxClass: {
    type: "string",
    value: "NAME",
    repeatable: true,
    default: "nginx",
    reason: "the class of ingress-nginx's own manifests",
    check: (value) => isDnsName(value) ? null : "the name of an IngressClass",
    help: "Class of ingress-nginx. Ingresses without a class are checked too.",
  },
  controllerName: {
    type: "string",
    value: "NAME",
    repeatable: true,
    default: "k8s.io/ingress-nginx",
    reason: "that of ingress-nginx",
    help: "Also checks the Ingresses of IngressClasses with this spec.controller.",
  },
  watchNamespace: {
    type: "string",
    value: "NAME",
    repeatable: true,
    check: labelCheck("the name of a namespace"),
    help: "As for the controller: checks Ingresses of this namespace only.",
  },
  configmap: {
    type: "string",
    value: "FILE|NAMESPACE/NAME",
    help: "The ConfigMap that ingress-nginx was started with: a file, or one in the folders.",
  },
  acceptUnsupported: {
    type: "string",
    value: "NAME,…",
    repeatable: true,
    check: acceptCheck,
    help: "As for the controller: paths with these annotations are served without them.",
  },
  allowAcceptUnsupportedAnnotation: {
    type: "boolean",
    reason: "as for the controller",
    help: "As for the controller: allows the annotation pingress.io/accept-unsupported.",
  },
});

export interface LintOptions {
  readonly nginxClasses: readonly string[];
  readonly controllerNames: readonly string[];
  /** Empty for all. */
  readonly watchNamespaces: readonly string[];
  readonly acceptUnsupported: readonly string[];
  readonly allowAcceptUnsupportedAnnotation: boolean;
}

export interface LintCommand {
  readonly paths: readonly string[];
  readonly format: Format;
  readonly failOn: Verdict;
  /** A file, or `NAMESPACE/NAME`. */
  readonly configmap: string | null;
  readonly lint: LintOptions;
}

export type ParsedCommand =
  | { readonly kind: "ok"; readonly command: LintCommand }
  | { readonly kind: "help" | "error"; readonly text: string };

/** Never throws for what a user wrote. */
export function parseLintCommand(args: readonly string[]): ParsedCommand {
  const parsed = parseOptions(LINT_PROGRAM, LINT_OPTIONS, args.map(withLongName));
  if (parsed.kind !== "ok") return parsed;
  const { options, positionals } = parsed;
  return {
    kind: "ok",
    command: {
      paths: positionals,
      format: options.output as Format,
      failOn: options.failOn.toUpperCase() as Verdict,
      configmap: options.configmap ?? null,
      lint: {
        nginxClasses: options.nginxClass,
        controllerNames: options.controllerName,
        watchNamespaces: [...new Set(options.watchNamespace)],
        acceptUnsupported: options.acceptUnsupported.flatMap(namesOf),
        allowAcceptUnsupportedAnnotation: options.allowAcceptUnsupportedAnnotation,
      },
    },
  };
}

/** The only short flag of all programs: that of kubectl and linters. */
function withLongName(arg: string): string {
  return arg === "-o" ? "--output" : arg.startsWith("-o=") ? `--output=${arg.slice(3)}` : arg;
}
