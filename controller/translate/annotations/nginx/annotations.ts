/**
 * What people who come from ingress-nginx had in annotations. In: the annotations of an Ingress. Out:
 * a problem for each `nginx.ingress.kubernetes.io/*` that closes no path, with what stands in for it
 * here, or that nothing does yet. `refusals.ts` has those that close paths.
 *
 * https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations/
 */
import { asObject, quote } from "../../../base/json.ts";
import { STAND_INS, type StandIn } from "./table.ts";
import type { Report } from "../../../base/problems.ts";
import { NGINX_PREFIX } from "./refusals.ts";

/**
 * Reports each annotation of ingress-nginx, in the order of their names, but for those in `reported`,
 * which `closures.ts` judges.
 */
export function reportNginxAnnotations(
  annotations: unknown,
  reported: ReadonlySet<string>,
  report: Report,
): void {
  const names = Object.keys(asObject(annotations) ?? {})
    .filter((name) => name.startsWith(NGINX_PREFIX))
    .sort();
  for (const name of names) {
    const short = name.slice(NGINX_PREFIX.length);
    if (reported.has(short)) continue;
    const standIn = STAND_INS.get(short);
    const { message, remedy } = standIn === undefined ? UNKNOWN : wordsFor(standIn);
    report.warning(`metadata.annotations[${JSON.stringify(name)}]`, {
      reason: "NginxAnnotation",
      message: `annotation ${quote(name)} ${message}`,
      remedy,
    });
  }
}

/** Names of ingress-nginx's annotations, without the prefix. */
export const NGINX_ANNOTATIONS: readonly string[] = [...STAND_INS.keys()];

interface Words {
  readonly message: string;
  readonly remedy: string;
}

const UNKNOWN: Words = {
  message: "has no effect here, and is none that ingress-nginx documents",
  remedy: "Take the annotation off",
};

function wordsFor(standIn: StandIn): Words {
  switch (standIn.kind) {
    case "nothing":
      return {
        message: "has no effect here",
        remedy: "Nothing stands in for it yet; take the annotation off if you can do without",
      };
    case "open":
      return {
        message: "has no effect here, and its value protects nothing",
        remedy: "Remove the annotation",
      };
    case "never":
      return {
        message: "has no effect here: configuration is never text that is run",
        remedy: "Nothing stands in for it; take the annotation off",
      };
    case "flag":
      return {
        message: "has no effect here: flags of the proxy say it for all that it serves",
        remedy: `${standIn.remedy}; then take the annotation off`,
      };
    case "instead":
      return { message: "has no effect here", remedy: standIn.remedy };
    case "always":
      return {
        message: `has no effect here: ${standIn.because}`,
        remedy: "Take the annotation off",
      };
  }
}
