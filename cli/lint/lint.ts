/**
 * Lint of a folder or a cluster. In: its objects, the ConfigMap of ingress-nginx, and what the cluster sets.
 * Out: a verdict for each Ingress with its findings, worst first. Pure but for the clock.
 */
import { asList, asText, fieldOf } from "../../controller/base/json.ts";
import type { Ingress, Resources, Service } from "../../controller/kube/resources.ts";
import type { Clock } from "../../controller/translate/translator.ts";
import type { LocatedProblem } from "../../dev/manifests/file.ts";
import type { Manifests } from "../../dev/manifests/manifests.ts";
import { formatPosition } from "../../dev/manifests/position.ts";
import { refOf } from "../../dev/problems/class_problems.ts";
import { explains } from "../../dev/problems/words_of_dev.ts";
import { formatObject } from "../../shared/problem.ts";
import { annotationFindings } from "./annotation_findings.ts";
import { clusterFindings, type LocatedObject } from "./cluster_findings.ts";
import {
  byVerdict,
  type Finding,
  type InputProblem,
  type LintedIngress,
  type LintResult,
  redact,
  redacted,
  worst,
} from "./finding.ts";
import { gatewayFindings } from "./gateway_findings.ts";
import { hostFindings } from "./host_findings.ts";
import type { HostFinding } from "./host_member.ts";
import { ingressFindings, missingSecrets } from "./ingress_findings.ts";
import { leftOut } from "./left_out.ts";
import { classOf, createdAt, judge, type JudgedIngress, nameOf } from "./judgement.ts";
import type { LintInput } from "./lint_input.ts";
import type { LintOptions } from "./options.ts";

/** Of what `dev/manifests` reports: these leave an object out. */
const UNREADABLE: ReadonlySet<string> = new Set([
  "NotParsable",
  "NotReadable",
  "NotAnObject",
  "ApiVersionNotSupported",
  "KindUnknown",
  "NameInvalid",
  "NamespaceInvalid",
  "ObjectDuplicated",
]);

/** Would turn every verdict into DIFFERS. */
const ALWAYS: readonly string[] = [
  "ingress-nginx reads whole request bodies before it contacts a backend; here they are streamed " +
  "unless proxy-request-buffering says otherwise",
  "ingress-nginx shows a fake certificate for hosts without one; here the TLS handshake ends with " +
  "the alert unrecognized_name",
];

/** A folder. */
export function inputOf(manifests: Manifests): LintInput {
  return {
    resources: manifests.resources,
    objects: manifests.files.flatMap((file) => file.objects),
    problems: manifests.problems,
    unread: [],
    notChecked: [],
    hasSecrets: true,
    locate: (object, field) => manifests.locate(object, field),
    excerptAt: (at) => manifests.excerptAt(at),
  };
}

export function lint(
  input: LintInput,
  configMap: LocatedObject | null,
  options: LintOptions,
  clock: Clock,
): LintResult {
  const resources = watched(input.resources, options);
  const judgement = judge(resources, configMap, options, clock);
  const { judged, others, globalProblems } = judgement;
  const isAgeKnown = judged.every(({ ingress }) => createdAt(ingress) !== null);
  const shared = Map.groupBy(hostFindings(judgement, options), ({ name }) => name);
  const ingresses = judged
    .map((one) => lintOne(one, shared.get(one.name) ?? [], isAgeKnown, input, options))
    .sort((a, b) => byVerdict(a, b) || (a.name < b.name ? -1 : 1));
  const gateway = gatewayFindings(input, options, clock);
  return {
    ingresses,
    cluster: clusterFindings(
      input.objects,
      configMap,
      { ...options, hasCatchAll: judged.some(({ ingress }) => isCatchAll(ingress)) },
      globalProblems,
      options,
    ).map(redacted).sort(byVerdict),
    gatewayApi: gateway.objects,
    unreadable: [...input.unread, ...input.problems.filter(isUnreadable).map(unreadable)],
    notChecked: [
      ...input.notChecked,
      // Of a cluster, others were not read.
      ...(input.hasSecrets ? leftOut(input, options.watchNamespaces) : []),
      ...input.problems.filter(isNotApplied).map(unreadable),
      ...gateway.notChecked,
      ...others.map((ingress): InputProblem => {
        const name = classOf(ingress);
        return {
          message: `Ingress ${nameOf(ingress)} is not checked: its class is ${name ?? "another"}`,
          remedy: name === null ? "Write its class" : `Add --nginx-class ${name}`,
          at: input.locate(refOf(ingress), "spec.ingressClassName"),
        };
      }),
      ...judged.flatMap((one) =>
        missingSecrets(one, input.hasSecrets, (field) => input.locate(one.status.object, field))
      ),
    ].map((problem) => ({ ...problem, message: redact(problem.message) })),
    always: ALWAYS,
  };
}

/** As with `--watch-namespace`: the controller reads no objects of other namespaces. */
function watched(resources: Resources, { watchNamespaces }: LintOptions): Resources {
  if (watchNamespaces.length === 0) return resources;
  const isRead = ({ metadata }: Pick<Service, "metadata">) =>
    watchNamespaces.includes(metadata?.namespace ?? "default");
  return {
    ...resources,
    ingresses: resources.ingresses.filter(isRead),
    services: resources.services.filter(isRead),
    endpointSlices: resources.endpointSlices.filter(isRead),
    secrets: resources.secrets.filter(isRead),
  };
}

/** Whether it takes requests for any host. */
function isCatchAll({ spec }: Ingress): boolean {
  return fieldOf(spec, "defaultBackend") !== undefined ||
    (asList(fieldOf(spec, "rules")) ?? []).some((rule) =>
      (asText(fieldOf(rule, "host")) ?? "") === ""
    );
}

function lintOne(
  judged: JudgedIngress,
  shared: readonly HostFinding[],
  isAgeKnown: boolean,
  input: LintInput,
  { acceptUnsupported }: LintOptions,
): LintedIngress {
  const locate = (field: string) => input.locate(judged.status.object, field);
  const findings = [
    ...annotationFindings(judged, acceptUnsupported, locate),
    ...ingressFindings(judged, isAgeKnown, locate),
    ...shared.map(({ name: _, ...finding }): Finding => ({
      ...finding,
      at: locate(finding.field),
    })),
  ].map((finding) => withCause(finding, judged, input)).map(redacted).sort(byVerdict);
  return {
    name: judged.name,
    verdict: worst(findings.map(({ verdict }) => verdict)),
    at: locate(""),
    findings,
  };
}

/** A finding that follows from a misspelt field or a value of a wrong type has the remedy of that. */
function withCause(finding: Finding, { status }: JudgedIngress, { problems }: LintInput): Finding {
  const label = formatObject(status.object);
  const reason = finding.rule.slice(finding.rule.indexOf("/") + 1);
  const cause = problems.find((one) =>
    one.problem.object !== null && formatObject(one.problem.object) === label &&
    explains(one, { field: finding.field, reason })
  );
  return cause === undefined || finding.remedy === null ? finding : {
    ...finding,
    remedy: cause.problem.remedy +
      (cause.at === null ? "" : ` at ${formatPosition(cause.at)}`),
  };
}

/** Whether an object is left out for it. */
export function isUnreadable({ problem }: LocatedProblem): boolean {
  return problem.severity === "error" && UNREADABLE.has(problem.reason);
}

function isNotApplied({ problem }: LocatedProblem): boolean {
  return problem.reason === "KustomizationNotApplied";
}

export function unreadable({ problem, at }: LocatedProblem): InputProblem {
  return {
    message: redact(problem.message),
    // `deno task dev` serves the rest; lint only goes on with it.
    remedy: redact(problem.remedy.replace("; the rest is served meanwhile", "")),
    at,
  };
}
