/** Rights. In: the answers of the API server's reviews. Out: which are missing, of the user and of the controller. */
import type { CheckedRight, CheckFacts } from "../facts.ts";
import { type CheckResult, failed, ok, unchecked, warning } from "../result.ts";
import { type Right, showResource } from "../right.ts";

export function checkUserRights({ rights, installation }: CheckFacts): readonly CheckResult[] {
  if (!rights.ok) return [unchecked("user-rights", rights.unread)];
  const missing = missingOf(rights.value);
  if (missing.length === 0) {
    return [ok("user-rights", "you have every right that these commands use")];
  }
  return byConsequence(missing).map((group) => {
    const rights = showRights(group, installation.namespace);
    const [{ without }] = group;
    return warning(
      "user-rights",
      `you may not ${rights}: ${without} ${isAre(without)} not checked`,
      "Apply overlays/check, which has all of these rights, and bind its roles to the user",
    );
  });
}

export function checkAccountRights(
  { accountRights, installation }: CheckFacts,
): readonly CheckResult[] {
  if (accountRights === null) return [];
  if (!accountRights.ok) return [unchecked("controller-rights", accountRights.unread)];
  const missing = missingOf(accountRights.value);
  if (missing.length === 0) {
    return [
      ok(
        "controller-rights",
        "the controller's account has every right that it needs",
      ),
    ];
  }
  return byConsequence(missing).map((group) =>
    (group.every(({ isOptional }) => isOptional) ? warning : failed)(
      "controller-rights",
      `the controller's account may not ${showRights(group, installation.namespace)}, so ${
        group[0].without
      }`,
      "Apply manifests/hostport.yaml of the controller's version",
    )
  );
}

/** What follows from their absence is said once. */
function byConsequence(rights: readonly Right[]): readonly (readonly Right[])[] {
  return [...Map.groupBy(rights, ({ without }) => without).values()];
}

/** `list and watch services, get and create pods/portforward in namespace x`. */
function showRights(rights: readonly Right[], namespace: string): string {
  const byResource = Map.groupBy(
    rights,
    (right) => `${showResource(right)}${where(right, namespace)}`,
  );
  return Array.from(
    byResource,
    ([resource, group]) => `${group.map(({ verb }) => verb).join(" and ")} ${resource}`,
  ).join(", ");
}

function missingOf(rights: readonly CheckedRight[]): readonly Right[] {
  return rights.filter(({ isAllowed }) => !isAllowed).map(({ right }) => right);
}

function where({ scope, name }: Right, namespace: string): string {
  const named = name === undefined ? "" : ` ${name}`;
  return scope === "installation" ? `${named} in namespace ${namespace}` : named;
}

/** Of a phrase about several things. */
function isAre(phrase: string): string {
  return phrase.startsWith("whether") || phrase.startsWith("which") ? "is" : "are";
}
