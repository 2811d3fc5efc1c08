/**
 * Problems with annotations of ingress-nginx. In: the annotations of an Ingress. Out: a warning for
 * each `nginx.ingress.kubernetes.io/*` that closes no path, with what has its effect here, or that
 * nothing does yet. `refusals.ts` has those that close paths.
 */
import { asObject, quote } from "../../../base/json.ts";
import type { Report } from "../../../base/problems.ts";
import { CUT_FAULT, CUT_REMEDY } from "../../../kube/excess.ts";
import { type GlobalSettings, NO_GLOBALS } from "../../model/global_settings.ts";
import type { NginxAnnotations, WrittenAnnotation } from "./nginx_annotations.ts";
import { fieldOfAnnotation } from "./refusals.ts";
import type { Row } from "./rows/row.ts";
import { BOOL, correction, invalid } from "./rows/value.ts";
import { BY_NAME, isHonoured, NGINX_PREFIX } from "./table.ts";

/**
 * Reports each annotation of ingress-nginx, in the order of their names, but for those in `reported`,
 * which `closures.ts` judges.
 *
 * @param globals What holds for all Ingresses of the profile.
 */
export function reportNginxAnnotations(
  annotations: NginxAnnotations,
  reported: ReadonlySet<string>,
  report: Report,
  globals: Pick<GlobalSettings, "externalAuth"> = NO_GLOBALS,
): void {
  for (const written of annotations.written) {
    if (reported.has(written.name)) continue;
    const words = wordsFor(written, annotations, globals);
    if (words === null) continue;
    report.warning(fieldOfAnnotation(written.name), {
      reason: "NginxAnnotation",
      message: `annotation ${quote(NGINX_PREFIX + written.name)} ${words.message}`,
      remedy: words.remedy,
    });
  }
}

/** Names before the slash that are written in place of ingress-nginx's; by default, it reads none. */
const WRONG_PREFIXES: ReadonlySet<string> = new Set([
  // That of ingress-nginx before 2018.
  "ingress.kubernetes.io",
  "ingress-nginx.kubernetes.io",
  "ingress.nginx.kubernetes.io",
  "nginx.ingress.k8s.io",
  "nginx.ingress.kubernetes",
  "nginx.ingress.kubernetes.com",
  "nginx.ingress.kubernets.io",
  "nginx.ingres.kubernetes.io",
  "nginx.kubernetes.io",
  "ngnix.ingress.kubernetes.io",
]);

/** Reports annotations of ingress-nginx with a prefix that it does not read by default. */
export function reportWrongPrefixes(annotations: unknown, report: Report): void {
  const wrong = Object.keys(asObject(annotations) ?? {})
    .filter((name) => WRONG_PREFIXES.has(name.slice(0, Math.max(name.indexOf("/"), 0))));
  for (const written of wrong.sort()) {
    const name = written.slice(written.indexOf("/") + 1);
    if (!BY_NAME.has(name)) continue;
    report.warning(`metadata.annotations[${JSON.stringify(written)}]`, {
      reason: "NginxAnnotation",
      message:
        `annotation ${quote(written)} has no effect: annotations of ingress-nginx begin with ` +
        NGINX_PREFIX,
      remedy: `Write ${NGINX_PREFIX}${name}, or remove the annotation`,
    });
  }
}

/**
 * Whether it is a switch that closes nothing, with a text that ingress-nginx does not read either. Nor
 * does it read "tRUE", which makes a canary here.
 */
export function isInvalidSwitch({ value, invalid }: Row, text: string | null): boolean {
  return value === BOOL && invalid === "default" && text !== null && text !== "" &&
    BOOL.read(text.toLowerCase()) === null;
}

interface Words {
  readonly message: string;
  readonly remedy: string;
}

/** Null where there is nothing to say: the annotation is honoured. */
function wordsFor(
  { name, row, text, isCut, replacedBy }: WrittenAnnotation,
  annotations: NginxAnnotations,
  globals: Pick<GlobalSettings, "externalAuth">,
): Words | null {
  if (row === null) {
    return {
      message: "has no effect here, and ingress-nginx does not document it",
      remedy: "Remove the annotation",
    };
  }
  if (replacedBy !== null) {
    return {
      message: `has no effect beside ${quote(NGINX_PREFIX + replacedBy)}, its newer name`,
      remedy: "Remove the annotation",
    };
  }
  const { verdict, beside, protects, value } = row;
  if (isCut) return { message: `${CUT_FAULT}, so it has no effect`, remedy: CUT_REMEDY };
  switch (verdict.kind) {
    case "honoured":
    case "differs":
      if (text === "") return null;
      if (text === null || annotations.read(row, text) === null) {
        return {
          message: `${invalid(value, text)}, so it has no effect`,
          remedy: correction(value),
        };
      }
      // Of the global login, an Ingress has nothing that it says itself, but what joins it with other checks.
      return name === "satisfy" && globals.externalAuth !== null
        ? null
        : wordsWithout(row, annotations);
    case "refused":
      return {
        message: `has no effect here: ${verdict.because}`,
        remedy: verdict.remedy,
      };
    case "always":
      return {
        message: `has no effect here: ${verdict.because}`,
        remedy: "Remove the annotation",
      };
    case "not-yet":
      break;
  }
  if (isInvalidSwitch(row, text)) {
    return {
      message: `${invalid(value, text)}, so it has no effect, as in ingress-nginx`,
      remedy: correction(value),
    };
  }
  if (verdict.flag) {
    return {
      message: "has no effect here: flags of the proxy set this for all routes",
      remedy: `${verdict.remedy}; then remove the annotation`,
    };
  }
  if (verdict.remedy !== null) return { message: "has no effect here", remedy: verdict.remedy };
  if (beside !== undefined) {
    const main = beside.find((each) => annotations.isSet(each));
    return wordsWithout(row, annotations) ?? {
      message: `has no effect here, as ${main} is not supported`,
      remedy: `Remove it together with ${main}`,
    };
  }
  return protects
    ? {
      message: "has no effect here, and its value protects nothing",
      remedy: "Remove the annotation",
    }
    : {
      message: "has no effect here",
      remedy: "There is no replacement yet; remove the annotation if you do not need it",
    };
}

/** Null where one of those is there that the annotation adds to. */
function wordsWithout(row: Row, annotations: NginxAnnotations): Words | null {
  const { beside } = row;
  if (beside === undefined || beside.some((name) => annotations.isSet(name))) return null;
  const main = beside.length === 1 ? beside[0] : "one of them";
  return {
    message: `has no effect without ${beside.join(" or ")}`,
    // One that is not supported has no effect, or closes the paths, beside it.
    remedy: isHonoured(row) ? `Write ${main}, or remove the annotation` : "Remove the annotation",
  };
}
