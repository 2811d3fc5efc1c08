/**
 * The Ingress that has what no rule takes. In: all Ingresses, oldest first. Out: which one that is, and which
 * paths of others it takes in the profile nginx.
 *
 * In Kubernetes a rule comes before a defaultBackend. In ingress-nginx, an Ingress without rules takes / of
 * all hosts that no rule names, and a rule without a host for / has no effect. Its check may protect, so that
 * the profile does the same: else the rule's Service would answer every unknown host without it.
 */
import type { ProblemList } from "../../base/problems.ts";
import type { Ownership } from "../hosts/ownership.ts";
import { ANY_HOST } from "../model/host.ts";
import { DEFAULT_BACKEND_FIELD, type PathModel, type Source } from "../model/source.ts";

/** Whether what no rule takes, of all hosts, may be its default backend's. */
export function isCatchAll({ defaultBackend, hasRules }: Source): boolean {
  return defaultBackend !== null && !hasRules;
}

/** The one that takes / of rules without a host; null where they have it. */
export function rootTaker(ingresses: readonly Source[], ownership: Ownership): Source | null {
  const chosen = ingresses.find(isCatchAll);
  // A default backend that is no Service does not count there.
  return chosen?.profile === "nginx" && chosen.defaultBackend?.kind === "service" &&
      ownership.isOwn(ANY_HOST, chosen.identity.ref.namespace)
    ? chosen
    : null;
}

/** Who takes / of a host that rules of `ingress` have, of all the same; null for nobody. */
export function takerOf(taker: Source | null, { profile }: Source, host: string): Source | null {
  return profile === "nginx" && host === ANY_HOST ? taker : null;
}

/** Whether a path is /, be it a regular expression. */
export function isRoot({ place, written }: PathModel): boolean {
  return (place?.match.type === "Prefix" && place.match.value === "/") ||
    (written?.path === "/" && written.type === "Prefix");
}

export function reportRootTaken(
  taker: Source,
  ingress: Source,
  { field }: PathModel,
  problems: ProblemList,
): void {
  problems.about(ingress.identity.ref).warning(`${field}.path`, {
    reason: "PathUnreachable",
    message: `no request reaches / of any host: as in ingress-nginx, ${DEFAULT_BACKEND_FIELD} of ` +
      `${taker.identity.label}, which has no rules, takes them all`,
    remedy: `Name the hosts of the rule, or remove ${DEFAULT_BACKEND_FIELD} of that Ingress`,
  });
}
