/**
 * What is served. In: problems of the controller, certificates, claims and Ingresses. Out: which objects are not
 * served as written, which certificates end, and which bounds are near.
 */
import { asList, fieldOf } from "../../../controller/base/json.ts";
import type { KubeObject } from "../../../controller/kube/types.ts";
import { CLAIMS_NAME, readClaims } from "../../../controller/outputs/publish/host_claims.ts";
import { DEFAULT_NAMESPACE_BOUNDS } from "../../../controller/translate/bounds/namespace_bounds.ts";
import type { KnownCertificate } from "../../installation/certificates.ts";
import { count } from "../../../dev/terminal_text.ts";
import { daysLeft, WARN_DAYS } from "../../installation/certificates.ts";
import type { ShownProblem } from "../../installation/problems_page.ts";
import type { CheckFacts } from "../facts.ts";
import { type CheckResult, failed, ok, skipped, unchecked, warning } from "../result.ts";

/** Reasons of problems with what does not fit; the rest of their names says of what. */
const BOUND_REASON = /(?:LimitExceeded|TooLarge|TooLargeForStream)$/;

/** Of a bound, from which on it is near. */
const NEARLY_FULL = 0.85;

/** Objects and reasons that are named. */
const MAX_NAMES = 3;

export function checkProblems({ pages: { problems } }: CheckFacts): readonly CheckResult[] {
  if (!problems.ok) return [unchecked("problems", problems.unread)];
  if (problems.value === null) {
    return [skipped("problems", "not checked: no leader of this version says its problems")];
  }
  const users = problems.value.filter(({ reason }) => !BOUND_REASON.test(reason));
  if (users.length === 0) return [ok("problems", "every object is served as written")];
  return byReason(users).map(([reason, group]) => {
    const objects = [...new Set(group.map(({ object }) => object ?? "the installation"))];
    const more = objects.length - MAX_NAMES;
    const [{ message, remedy }] = group;
    // Errors are of what is not served: their paths return 503, or their host is of another namespace.
    return (group.some(({ severity }) => severity === "error") ? failed : warning)(
      "problems",
      `${reason}: ${objects.slice(0, MAX_NAMES).join(", ")}${
        more > 0 ? ` and ${more} more` : ""
      }: ` +
        message,
      remedy,
    );
  });
}

export function checkBounds(facts: CheckFacts): readonly CheckResult[] {
  const { pages: { problems }, ingresses, installation: { options } } = facts;
  const over = problems.ok
    ? (problems.value ?? []).filter(({ reason }) => BOUND_REASON.test(reason))
    : [];
  const results: CheckResult[] = byReason(over).map(([reason, group]) => {
    const [{ object, message, remedy }] = group;
    const more = group.length === 1 ? "" : ` (and ${group.length - 1} more)`;
    return failed(
      "bounds",
      `${reason}: ${object ?? "the installation"}${more}: ${message}`,
      remedy,
    );
  });
  if (!ingresses.ok) return [...results, unchecked("bounds", ingresses.unread)];
  const { routes } = options?.namespaceBounds ?? DEFAULT_NAMESPACE_BOUNDS;
  const [fullest] = [...pathsByNamespace(ingresses.value)].sort(([, a], [, b]) => b - a);
  if (fullest !== undefined) {
    const [namespace, paths] = fullest;
    const share = `namespace ${namespace} has ${paths} of ${routes} paths`;
    results.push(
      paths >= routes * NEARLY_FULL
        ? warning(
          "bounds",
          share,
          "Raise --max-namespace-routes, or check what makes so many paths",
        )
        : ok("bounds", `${share}, and the others have fewer`),
    );
  } else if (results.length === 0) results.push(skipped("bounds", "there is no Ingress yet"));
  return results;
}

export function checkCertificates({ certificates, now }: CheckFacts): readonly CheckResult[] {
  if (!certificates.ok) return [unchecked("certificates", certificates.unread)];
  const known = certificates.value;
  if (known.length === 0) return [skipped("certificates", "there is no certificate")];
  const left = ({ endsAt }: KnownCertificate) =>
    endsAt === null ? -Infinity : daysLeft(endsAt, now);
  const sorted = known.toSorted((a, b) => left(a) - left(b));
  const ending = sorted.filter((one) => left(one) < WARN_DAYS);
  if (ending.length === 0) {
    const [first] = sorted;
    return [ok(
      "certificates",
      `certificates: ${known.length}; the first to end is that of Secret ${first.secret}, in ` +
        count(left(first), "day"),
    )];
  }
  return ending.map((one) => {
    const { secret, endsAt } = one;
    if (endsAt === null) {
      return failed(
        "certificates",
        `the certificate of Secret ${secret} cannot be read`,
        "Write a certificate in PEM into tls.crt of the Secret",
      );
    }
    const renew =
      "Renew it, and check what should have: kubectl get certificates -A, with cert-manager";
    const day = new Date(endsAt).toISOString().slice(0, 10);
    return endsAt <= now
      ? failed("certificates", `the certificate of Secret ${secret} has expired on ${day}`, renew)
      : warning(
        "certificates",
        `the certificate of Secret ${secret} ends in ${count(left(one), "day")}, on ${day}`,
        renew,
      );
  });
}

export function checkClaims(
  { claims, ingresses, installation: { options, namespace } }: CheckFacts,
): readonly CheckResult[] {
  if (options?.hostOwnership === "shared") {
    return [skipped("claims", "hosts are shared by all namespaces (--host-ownership=shared)")];
  }
  if (!claims.ok) return [unchecked("claims", claims.unread)];
  if (claims.value === null) {
    return ingresses.ok && ingresses.value.length === 0
      ? [skipped("claims", "no host is claimed yet")]
      : [warning(
        "claims",
        `there is no ConfigMap ${CLAIMS_NAME}, so after a restart hosts belong to whoever serves them ` +
          "then",
        `Check that a replica leads, and that the controller may write ${CLAIMS_NAME} in ${namespace}`,
      )];
  }
  const reading = readClaims(claims.value);
  if (!reading.ok) {
    return [failed(
      "claims",
      `the ConfigMap ${CLAIMS_NAME} cannot be used: ${reading.reason}`,
      "Let the controller of the newest version write it, or delete it while the controller runs",
    )];
  }
  const waiting = [...reading.claims].filter(([, list]) =>
    list.length > 1 && !list.some(({ shared }) => shared)
  );
  if (waiting.length === 0) {
    return [ok("claims", `claimed hosts: ${reading.claims.size}, each by one namespace`)];
  }
  const [host, [owner, next]] = waiting[0];
  return [warning(
    "claims",
    `${waiting.length} of ${reading.claims.size} hosts are claimed by several namespaces, such as ` +
      `${host}, which belongs to ${owner.namespace} and not to ${next.namespace}`,
    "Assign it by the annotation pingress.io/hosts of a Namespace, or share it by " +
      "pingress.io/share-host-with",
  )];
}

/** Errors first, then the most frequent. */
function byReason(
  problems: readonly ShownProblem[],
): readonly (readonly [string, readonly ShownProblem[]])[] {
  const groups = Map.groupBy(problems, ({ reason }) => reason);
  const rank = (group: readonly ShownProblem[]) =>
    group.some(({ severity }) => severity === "error") ? 0 : 1;
  return [...groups].sort(([, a], [, b]) => rank(a) - rank(b) || b.length - a.length);
}

function pathsByNamespace(ingresses: readonly KubeObject[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const ingress of ingresses) {
    const rules = asList(fieldOf(fieldOf(ingress, "spec"), "rules")) ?? [];
    const paths = rules.reduce<number>(
      (sum, rule) =>
        sum + Math.max(1, (asList(fieldOf(fieldOf(rule, "http"), "paths")) ?? []).length),
      0,
    );
    const { namespace = "" } = ingress.metadata;
    counts.set(namespace, (counts.get(namespace) ?? 0) + paths);
  }
  return counts;
}
