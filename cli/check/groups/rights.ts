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
  return missing.map((right) =>
    warning(
      "user-rights",
      `you may not ${right.verb} ${showResource(right)}${where(right, installation.namespace)}: ` +
        `${right.without} ${isAre(right.without)} not checked`,
      `Allow the verb ${right.verb} on ${showResource(right)}${
        where(right, installation.namespace)
      }; overlays/check has all of them`,
    )
  );
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
  return missing.map((right) =>
    (right.isOptional ? warning : failed)(
      "controller-rights",
      `the controller's account may not ${right.verb} ${showResource(right)}${
        where(right, installation.namespace)
      }, so ${right.without}`,
      "Apply manifests/hostport.yaml of the controller's version",
    )
  );
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
