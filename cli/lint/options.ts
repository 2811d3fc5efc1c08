/** The command line of `deno task lint`. In: arguments. Out: typed options, help, or an error. */
import { acceptCheck, labelCheck, namesOf } from "../../controller/cli/option_values.ts";
import { HOST_OWNERSHIPS, type HostOwnershipMode } from "../../controller/translate/translator.ts";
import type { Backend } from "../../controller/cli/option_specs.ts";
import { BACKEND_OPTION, FILE_OPTION } from "../../dev/options.ts";
import { isDnsName } from "../../controller/base/names.ts";
import { defineOptions, parseOptions, type Program } from "../../shared/options.ts";
import { CLUSTER_OPTIONS } from "../cluster/options.ts";
import { withLongNames } from "../output_option.ts";
import type { Verdict } from "./finding.ts";

export const LINT_PROGRAM: Program = {
  name: "deno task lint",
  summary:
    "Compares what becomes of Ingresses written for ingress-nginx, in a folder or a cluster.",
  positionals: {
    name: "DIR…",
    help: "Folders or files of Kubernetes YAML or JSON. None with --context.",
    min: 0,
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
  context: {
    type: "string",
    value: "NAME",
    help:
      "Reads the cluster of this context of the kubeconfig in place of folders. Needs the rights " +
      "of the ClusterRole pingress-lint (overlays/lint), and reads no Secrets.",
  },
  kubeconfig: {
    type: "string",
    value: "FILE",
    help: `For --context. ${CLUSTER_OPTIONS.kubeconfig.help}`,
  },
  timeout: {
    type: "duration",
    default: CLUSTER_OPTIONS.timeout.default,
    min: CLUSTER_OPTIONS.timeout.min,
    max: CLUSTER_OPTIONS.timeout.max,
    reason: CLUSTER_OPTIONS.timeout.reason,
    help: "For --context: gives up when the API server has not answered all by then.",
  },
  hostOwnership: {
    type: "choice",
    choices: HOST_OWNERSHIPS,
    default: "namespace",
    reason: "as for a controller that serves class pingress beside those of ingress-nginx",
    help:
      "As for the controller: namespace rejects rules of other namespaces for a host; shared, as " +
      "in ingress-nginx, gives each path to the oldest Ingress of any namespace.",
  },
  ...BACKEND_OPTION,
  allowExternalName: {
    type: "boolean",
    reason: "as for the controller",
    help: "As for the controller: allows Services of type ExternalName, and names outside of the " +
      "cluster in auth-url.",
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
  ...FILE_OPTION,
});

export interface LintOptions {
  readonly nginxClasses: readonly string[];
  readonly controllerNames: readonly string[];
  /** Empty for all. */
  readonly watchNamespaces: readonly string[];
  readonly hostOwnership: HostOwnershipMode;
  readonly backend: Backend;
  readonly allowExternalName: boolean;
  readonly acceptUnsupported: readonly string[];
  readonly allowAcceptUnsupportedAnnotation: boolean;
}

/** A cluster in place of folders. */
export interface LintedCluster {
  readonly context: string;
  /** Null where the environment says. */
  readonly kubeconfig: string | null;
  /** Milliseconds. */
  readonly timeout: number;
}

export interface LintCommand {
  /** Empty with `cluster`. */
  readonly paths: readonly string[];
  readonly format: Format;
  readonly failOn: Verdict;
  readonly cluster: LintedCluster | null;
  /** A file, or `NAMESPACE/NAME`; the latter with `cluster`. */
  readonly configmap: string | null;
  readonly lint: LintOptions;
}

export type ParsedCommand =
  | { readonly kind: "ok"; readonly command: LintCommand }
  | { readonly kind: "help" | "error"; readonly text: string };

/** Never throws for what a user wrote. */
export function parseLintCommand(
  args: readonly string[],
  program: Program = LINT_PROGRAM,
): ParsedCommand {
  const parsed = parseOptions(program, LINT_OPTIONS, withLongNames(args));
  if (parsed.kind !== "ok") return parsed;
  const { options } = parsed;
  const paths = [...parsed.positionals, ...options.file];
  const fault = faultOf(program, options, paths);
  if (fault !== null) {
    return { kind: "error", text: `${fault}\n${program.name} --help lists the flags` };
  }
  return {
    kind: "ok",
    command: {
      paths,
      format: options.output as Format,
      failOn: options.failOn.toUpperCase() as Verdict,
      cluster: options.context === undefined ? null : {
        context: options.context,
        kubeconfig: options.kubeconfig ?? null,
        timeout: options.timeout,
      },
      configmap: options.configmap ?? null,
      lint: {
        nginxClasses: options.nginxClass,
        controllerNames: options.controllerName,
        watchNamespaces: [...new Set(options.watchNamespace)],
        hostOwnership: options.hostOwnership,
        backend: options.backend,
        allowExternalName: options.allowExternalName,
        acceptUnsupported: options.acceptUnsupported.flatMap(namesOf),
        allowAcceptUnsupportedAnnotation: options.allowAcceptUnsupportedAnnotation,
      },
    },
  };
}

/** What does not go together; null for nothing. */
function faultOf(
  program: Program,
  { context, kubeconfig, configmap }: {
    readonly context: string | undefined;
    readonly kubeconfig: string | undefined;
    readonly configmap: string | undefined;
  },
  paths: readonly string[],
): string | null {
  if (context === undefined) {
    if (kubeconfig !== undefined) return "--kubeconfig needs --context NAME";
    return paths.length === 0 ? `${program.name} needs DIR…, or --context NAME` : null;
  }
  if (paths.length > 0) return "--context takes the place of DIR…; give one of them";
  if (configmap === undefined) return null;
  const [namespace, name, ...more] = configmap.split("/");
  return isDnsName(namespace) && isDnsName(name ?? "") && more.length === 0
    ? null
    : "with --context, --configmap must be NAMESPACE/NAME";
}
