/**
 * What people who come from ingress-nginx had in annotations. In: the annotations of an Ingress. Out:
 * a problem for each `nginx.ingress.kubernetes.io/*`, with what stands in for it here, or that
 * nothing does yet. None of them changes what is served, so those that protect something are errors:
 * without them a door stands open.
 *
 * https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations/
 */
import { asObject, quote } from "./json.ts";
import { STAND_INS, type StandIn } from "./nginx_stand_ins.ts";
import type { Report } from "./problems.ts";

export const NGINX_PREFIX = "nginx.ingress.kubernetes.io/";

/** Reports each annotation of ingress-nginx, in the order of their names. */
export function reportNginxAnnotations(annotations: unknown, report: Report): void {
  const names = Object.keys(asObject(annotations) ?? {})
    .filter((name) => name.startsWith(NGINX_PREFIX))
    .sort();
  for (const name of names) {
    const standIn = STAND_INS.get(name.slice(NGINX_PREFIX.length));
    const { message, remedy } = standIn === undefined ? UNKNOWN : wordsFor(standIn);
    const severity = standIn !== undefined && keptOut(standIn) ? "error" : "warning";
    report[severity](`metadata.annotations[${JSON.stringify(name)}]`, {
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

/** Whether what it kept out gets in. */
function keptOut(standIn: StandIn): boolean {
  return standIn.kind === "open" || (standIn.kind === "flag" && standIn.open);
}

function wordsFor(standIn: StandIn): Words {
  switch (standIn.kind) {
    case "nothing":
      return {
        message: "has no effect here",
        remedy: "Nothing stands in for it yet; take the annotation off if you can do without",
      };
    case "open":
      return {
        message: "has no effect here: requests that it would refuse are let through",
        remedy: "Nothing stands in for it yet; do not publish this Ingress where it must hold",
      };
    case "never":
      return {
        message: "has no effect here: configuration is never text that is run",
        remedy: "Nothing stands in for it; take the annotation off",
      };
    case "flag":
      return {
        message: standIn.open
          ? "has no effect here: requests that it would refuse are let through, unless a flag of " +
            "the proxy says otherwise"
          : "has no effect here: flags of the proxy say it for all that it serves",
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
