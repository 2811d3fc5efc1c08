/**
 * What `deno task dev` says of a folder that was written for ingress-nginx. In: its manifests and how it
 * is served. Out: the verdicts of lint in a few lines; null for a folder without such Ingresses.
 */
import type { LintedIngress } from "../cli/lint/finding.ts";
import { rankOf, totalsText } from "../cli/lint/finding.ts";
import { inputOf, lint } from "../cli/lint/lint.ts";
import { findConfigMap } from "../cli/lint/cluster_findings.ts";
import { classOf } from "../cli/lint/judgement.ts";
import { LINT_OPTIONS } from "../cli/lint/options.ts";
import type { Ingress } from "../controller/kube/resources.ts";
import { isDefaultClass } from "../controller/translate/ingress/class.ts";
import { NGINX_PREFIX } from "../controller/translate/annotations/nginx/table.ts";
import type { Clock } from "../controller/translate/translator.ts";
import type { Manifests } from "./manifests/manifests.ts";
import { formatPosition } from "./manifests/position.ts";
import type { PlanOptions } from "./plan.ts";
import { printable, quoteForShell } from "./terminal_text.ts";

/** Ingresses that are named; the rest is counted. */
const MAX_NAMED = 10;

const DEFAULT_CLASS = LINT_OPTIONS.nginxClass.default;

/**
 * @param paths Files and folders, as the user named them.
 * @param plan How they are served.
 */
export function lintSummary(
  manifests: Manifests,
  paths: readonly string[],
  plan: PlanOptions,
  clock: Clock,
): string | null {
  const served = plan.nginxClasses;
  const nginxClasses = served.length === 0 ? [DEFAULT_CLASS] : served;
  const isNginx = (ingress: Ingress) =>
    nginxClasses.includes(classOf(ingress) ?? "") || hasAnnotation(ingress);
  if (!manifests.resources.ingresses.some(isNginx)) return null;
  const input = inputOf(manifests);
  const { configMap: name = null } = plan;
  const named = name === null ? null : `${name.namespace}/${name.name}`;
  const configMap = named === null ? null : findConfigMap(input.objects, named);
  const result = lint(input, configMap, {
    nginxClasses,
    controllerNames: [LINT_OPTIONS.controllerName.default],
    watchNamespaces: [],
    hostOwnership: plan.hostOwnership ?? LINT_OPTIONS.hostOwnership.default,
    backend: plan.backend ?? LINT_OPTIONS.backend.default,
    allowExternalName: plan.allowExternalName,
    acceptUnsupported: plan.acceptUnsupported,
    allowAcceptUnsupportedAnnotation: plan.allowAcceptUnsupportedAnnotation,
  }, clock);
  if (result.ingresses.length === 0) return null;
  const worse = result.ingresses.filter(({ verdict }) => rankOf(verdict) <= rankOf("BREAKS"));
  const more = worse.length - MAX_NAMED;
  const classless =
    manifests.resources.ingresses.filter((ingress) =>
      classOf(ingress) === null && hasAnnotation(ingress)
    ).length;
  const flags = [
    ...served.map((name) => ` --nginx-class ${name}`),
    ...(configMap === null ? [] : [` --configmap ${named}`]),
    ...(plan.allowExternalName ? [" --allow-external-name"] : []),
    ...plan.acceptUnsupported.map((name) => ` --accept-unsupported ${name}`),
    ...(plan.allowAcceptUnsupportedAnnotation ? [" --allow-accept-unsupported-annotation"] : []),
  ].join("");
  return [
    `Compared with ingress-nginx, ${totalsText(result)}`,
    ...worse.slice(0, MAX_NAMED).map(line),
    ...(more > 0 ? [`  … and ${more} more`] : []),
    ...(served.length > 0 ? [] : [
      `To serve class ${DEFAULT_CLASS} here as ingress-nginx does: --nginx-class ${DEFAULT_CLASS}`,
    ]),
    // The default class of the folder, if there is one, decides.
    ...(classless === 0 || manifests.resources.ingressClasses.some(isDefaultClass) ? [] : [
      `${classless} without a class, served here without the profile nginx: ` +
      `write spec.ingressClassName: ${nginxClasses[0]}`,
    ]),
    `For each difference and its remedy: deno task lint ${
      paths.map((path) => quoteForShell(printable(path))).join(" ")
    }${flags}`,
  ].join("\n");
}

function line({ verdict, name, at }: LintedIngress): string {
  return `  ${verdict.padEnd(7)}  ${printable(name)}${
    at === null ? "" : `  ${printable(formatPosition(at))}`
  }`;
}

function hasAnnotation({ metadata }: Ingress): boolean {
  return Object.keys(metadata?.annotations ?? {}).some((name) => name.startsWith(NGINX_PREFIX));
}
