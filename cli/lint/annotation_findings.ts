/**
 * Findings about annotations of ingress-nginx. In: an Ingress and the problems of its translation.
 * Out: one finding for each annotation, with what its row of the table says and, where the
 * translation reports it, what becomes of it.
 */
import { isInvalidSwitch } from "../../controller/translate/annotations/nginx/annotations.ts";
import { isCanary } from "../../controller/translate/annotations/nginx/refusals.ts";
import { fieldOfAnnotation } from "../../controller/translate/annotations/nginx/refusals.ts";
import type {
  NginxAnnotations,
  WrittenAnnotation,
} from "../../controller/translate/annotations/nginx/nginx_annotations.ts";
import type { Row } from "../../controller/translate/annotations/nginx/rows/row.ts";
import { canClose, isHonoured } from "../../controller/translate/annotations/nginx/table.ts";
import { nginxRemedy } from "../../dev/problems/annotation_suggestion.ts";
import type { Problem } from "../../shared/problem.ts";
import type { Finding, Verdict } from "./finding.ts";
import { isAboutMissingSecret } from "./ingress_findings.ts";
import { annotationsOf, type JudgedIngress } from "./judgement.ts";
import { snippetLines } from "./snippet.ts";

/** Warnings beside which the difference of the row holds: others say that nothing is done, there and here. */
const ABOUT_VALUE: ReadonlySet<string> = new Set(["NginxAnnotation", "UpstreamUnverified"]);

const REMOVE = "Remove the annotation";

type Locate = (field: string) => Finding["at"];

type Judged = Pick<Finding, "verdict" | "difference" | "remedy">;

/** In the order of their names. */
export function annotationFindings(
  judged: JudgedIngress,
  acceptUnsupported: readonly string[],
  locate: Locate,
): Finding[] {
  const annotations = annotationsOf(judged);
  const problems = judged.problems.filter((problem) => !isAboutMissingSecret(problem));
  const reported = Map.groupBy(problems, ({ field }) => field);
  return annotations.written.map((written): Finding => {
    const field = fieldOfAnnotation(written.name);
    const problem = worstOf(reported.get(field) ?? []);
    const snippet = linesOf(written);
    return {
      rule: `annotation/${written.row === null ? "unknown" : written.name}`,
      effect: written.row === null
        ? `${written.name}: ingress-nginx has no such annotation`
        : `${written.name}: ${written.row.does}`,
      ...judgeOne(written, annotations, problem, acceptUnsupported),
      field,
      at: locate(field),
      ...(snippet === null ? {} : { lines: snippet }),
    };
  });
}

function worstOf(problems: readonly Problem[]): Problem | null {
  return problems.find(({ severity }) => severity === "error") ?? problems[0] ?? null;
}

function linesOf({ name, text }: WrittenAnnotation) {
  return name.endsWith("-snippet") && name !== "modsecurity-snippet" && text !== null
    ? snippetLines(text)
    : null;
}

function judgeOne(
  { name, row, text, replacedBy }: WrittenAnnotation,
  annotations: NginxAnnotations,
  problem: Problem | null,
  acceptUnsupported: readonly string[],
): Judged {
  if (row === null) {
    return {
      verdict: "SAME",
      difference: "it has no effect, there and here",
      remedy: nginxRemedy(name),
    };
  }
  if (replacedBy !== null) return said("SAME", problem);
  if (problem?.severity === "error") return said("BREAKS", problem);
  // No request is admitted: nothing has the host that requests for authentication could reach.
  if (name === "auth-url" && problem?.reason === "ExternalNameNotAllowed") {
    return said("BREAKS", problem);
  }
  const isHarmless = annotations.isHarmless(row, text);
  if (problem !== null && isServedWithout(name, row, isHarmless, acceptUnsupported)) {
    return said(row.protects ? "OPENS" : "BREAKS", problem);
  }
  if (isHonoured(row)) {
    const difference = isCanary(annotations) ? null : differenceOf(row, text, annotations);
    if (problem === null) {
      return difference === null ? said("SAME", null) : {
        verdict: "DIFFERS",
        difference,
        remedy: "Check that the difference does not matter to you",
      };
    }
    const isValid = text !== null && annotations.read(row, text) !== null;
    const there = text === null ? null : row.effectThere?.(text) ?? null;
    const more = there ?? (isValid && ABOUT_VALUE.has(problem.reason) ? difference : null);
    // Another value that is invalid and closes nothing is the default in ingress-nginx, too.
    return more === null ? said("SAME", problem) : {
      verdict: "DIFFERS",
      difference: `${problem.message}; ${more}`,
      remedy: problem.remedy,
    };
  }
  return said(
    isSameWithout(row, text, isHarmless, annotations) ? "SAME" : "DIFFERS",
    problem,
  );
}

/** Null where the difference of the row does not concern the value, or the annotation adds to none. */
function differenceOf(
  row: Row,
  text: string | null,
  annotations: NginxAnnotations,
): string | null {
  if (addsToNone(row, annotations)) return null;
  return row.verdict.kind === "differs" && text !== "" && !annotations.isSame(row, text)
    ? row.verdict.difference
    : null;
}

/** Whether an annotation only adds to others, of which the Ingress has none. */
function addsToNone({ beside }: Row, annotations: NginxAnnotations): boolean {
  return beside?.some((main) => annotations.isSet(main)) === false;
}

/** Whether its paths would be closed for it, were it not accepted; given that they are not. */
function isServedWithout(
  name: string,
  row: Row,
  isHarmless: boolean,
  acceptUnsupported: readonly string[],
): boolean {
  if (isHarmless) return false;
  return isHonoured(row) ? acceptUnsupported.includes(name) : canClose(row);
}

/** Whether ingress-nginx does as we do; for an annotation without effect here. */
function isSameWithout(
  row: Row,
  text: string | null,
  isHarmless: boolean,
  annotations: NginxAnnotations,
): boolean {
  if (row.verdict.kind === "always" || row.risk === null && !row.protects) return true;
  if (text === "" && row.needsValue !== true) return true;
  if (addsToNone(row, annotations)) return true;
  if (isInvalidSwitch(row, text)) return true;
  if (row.protects) return isHarmless;
  return canClose(row) ? isHarmless : annotations.isSame(row, text);
}

function said(verdict: Verdict, problem: Problem | null): Judged {
  if (problem !== null) {
    return { verdict, difference: problem.message, remedy: problem.remedy };
  }
  return verdict === "SAME"
    ? { verdict, difference: null, remedy: null }
    : { verdict, difference: "it has no effect here", remedy: REMOVE };
}
