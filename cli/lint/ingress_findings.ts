/**
 * Findings about the rest of an Ingress. In: an Ingress and its translation. Out: a finding for each
 * problem that is about no annotation of ingress-nginx, and for each path that is not served.
 */
import { NGINX_PREFIX } from "../../controller/translate/annotations/nginx/table.ts";
import { isAboutBackendTls } from "../../dev/backend_tls.ts";
import type { Problem } from "../../shared/problem.ts";
import type { Finding, InputProblem, Verdict } from "./finding.ts";
import type { JudgedIngress } from "./judgement.ts";

type Locate = (field: string) => Finding["at"];

/** The same in ingress-nginx: it answers 503 for these. */
const SAME_THERE: ReadonlySet<string> = new Set([
  "ServiceNotFound",
  "ServicePortNotFound",
  "EndpointsMissing",
  "BackendMissing",
]);

/** Which of two Ingresses wins is decided by their age in both, which files do not say. */
const BY_AGE: ReadonlySet<string> = new Set(["PathConflict", "DefaultBackendConflict"]);

/** The same in ingress-nginx, which says nothing of it. */
const UNREACHABLE = "PathUnreachable";

const SECRET_MISSING = "SecretNotFound";

const PREFIX = `metadata.annotations["${NGINX_PREFIX}`;

/** @param isAgeKnown Whether all Ingresses say when they were made, as those of a cluster. */
export function ingressFindings(
  judged: JudgedIngress,
  isAgeKnown: boolean,
  locate: Locate,
): Finding[] {
  const { problems } = judged;
  const findings = problems
    .filter((problem) =>
      !problem.field.startsWith(PREFIX) && problem.reason !== "SecretNameMissing" &&
      !isAboutMissingSecret(problem)
    )
    .map((problem): Finding => ({
      verdict: verdictOf(problem, isAgeKnown),
      rule: `problem/${problem.reason}`,
      effect: hasWrongPrefix(problem)
        ? "ingress-nginx reads it only if its flag --annotations-prefix names this prefix"
        : BY_AGE.has(problem.reason)
        ? "the oldest Ingress with this host and path wins, in ingress-nginx and here"
        : problem.reason === UNREACHABLE
        ? "no request reaches the path in ingress-nginx, too"
        : SAME_THERE.has(problem.reason)
        ? "ingress-nginx answers 503, too"
        : isAboutBackendTls(problem)
        ? "ingress-nginx reads neither appProtocol nor annotations of a Service"
        : `${problem.field === "" ? "the Ingress" : problem.field} as it is written`,
      difference: problem.message,
      remedy: problem.reason === "HostNotOwned"
        ? `${problem.remedy}, or start the controller and lint with --host-ownership=shared, as in ` +
          "ingress-nginx"
        : problem.remedy,
      field: problem.field,
      at: locate(problem.field),
    }));
  return [...findings, ...unservedPaths(judged, findings, locate)];
}

/** What was not checked for want of Secrets; without `hasSecrets` none of them was read. */
export function missingSecrets(
  { name, problems }: JudgedIngress,
  hasSecrets: boolean,
  locate: Locate,
): InputProblem[] {
  return problems.filter(isAboutMissingSecret).map(({ message, field }) => ({
    message: hasSecrets
      ? `not checked: ${message}`
      : `not checked, as Secrets are not read: ${field} of Ingress ${name}`,
    remedy: hasSecrets
      ? "Nothing to do if the Secret is in the cluster"
      : "Lint the manifests with the Secrets, if you have them",
    at: locate(field),
  }));
}

/** Secrets are seldom in the folder, so that it decides nothing. */
export function isAboutMissingSecret({ reason, facts }: Problem): boolean {
  return reason === SECRET_MISSING || facts?.isSecretMissing === true;
}

function verdictOf(problem: Problem, isAgeKnown: boolean): Verdict {
  const { reason, severity } = problem;
  if (reason === "PathConflict" && isAgeKnown) return "SAME";
  if (SAME_THERE.has(reason) || reason === UNREACHABLE || hasWrongPrefix(problem)) return "SAME";
  return severity === "error" && !BY_AGE.has(reason) ? "BREAKS" : "DIFFERS";
}

/** Whether an annotation of ingress-nginx is written with a prefix that is not its own. */
function hasWrongPrefix({ reason, field }: Problem): boolean {
  return reason === "NginxAnnotation" && field.startsWith("metadata.annotations[") &&
    !field.startsWith(PREFIX);
}

/** Paths that the translation does not serve, where no problem of the Ingress says why. */
function unservedPaths(
  { status, problems, closedBy }: JudgedIngress,
  findings: readonly Finding[],
  locate: Locate,
): Finding[] {
  if (findings.some(({ verdict }) => verdict === "BREAKS")) return [];
  // Before Secrets that are missing or not read: the ConfigMap closes the Ingress whatever they contain.
  if (closedBy !== null) {
    return [{
      verdict: "BREAKS",
      rule: "configmap/closed",
      effect: "forwards the requests for its paths",
      difference: `ConfigMap: ${closedBy}`,
      remedy: "See the finding about the ConfigMap",
      field: "",
      at: locate(""),
    }];
  }
  const isExplained = problems.some((problem) =>
    problem.severity === "error" || SAME_THERE.has(problem.reason) || isAboutMissingSecret(problem)
  );
  if (isExplained) return [];
  return status.paths
    .filter(({ outcome }) => outcome === "failing" || outcome === "dropped")
    .map(({ field }): Finding => ({
      verdict: "BREAKS",
      rule: "path/not-served",
      effect: "forwards the requests for the path",
      difference: "the path is not served: its Service or the Ingress has an error",
      remedy: "See the problems of the Service with deno task explain",
      field,
      at: locate(field),
    }));
}
