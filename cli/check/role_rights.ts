/**
 * What roles allow. In: roles and bindings as the API server has them. Out: whether an account has a right by RBAC.
 * For users who may read roles, and may not have the API server review the rights of others. Pure.
 *
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/
 */
import { asList, asText, fieldOf } from "../../controller/base/json.ts";
import type { KubeObject } from "../../controller/kube/types.ts";
import type { Right } from "./right.ts";

export interface Account {
  readonly namespace: string;
  readonly name: string;
}

/** A role that a binding gives; `namespace` null for the whole cluster. */
export interface BoundRole {
  readonly namespace: string | null;
  readonly kind: "Role" | "ClusterRole";
  readonly name: string;
}

const ANY = "*";

/** Roles that bindings of either kind give to the account, or to a group that it is in. */
export function boundRoles(
  bindings: readonly KubeObject[],
  account: Account,
): readonly BoundRole[] {
  return bindings.flatMap((binding) => {
    const isBound = (asList(fieldOf(binding, "subjects")) ?? []).some((one) => isOf(one, account));
    const ref = fieldOf(binding, "roleRef");
    const kind = asText(fieldOf(ref, "kind"));
    const name = asText(fieldOf(ref, "name"));
    if (!isBound || name === null || (kind !== "Role" && kind !== "ClusterRole")) return [];
    return [{ namespace: binding.metadata.namespace ?? null, kind, name }];
  });
}

function isOf(subject: unknown, { namespace, name }: Account): boolean {
  const kind = fieldOf(subject, "kind");
  const named = fieldOf(subject, "name");
  if (kind === "ServiceAccount") {
    return named === name && fieldOf(subject, "namespace") === namespace;
  }
  return (kind === "Group" && groupsOf({ namespace }).includes(String(named))) ||
    (kind === "User" && named === userOf({ namespace, name }));
}

/** As the API server names a service account. */
export function userOf({ namespace, name }: Account): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

export function groupsOf({ namespace }: Pick<Account, "namespace">): readonly string[] {
  return ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
}

/** @param role A Role or ClusterRole. */
export function roleAllows(role: KubeObject, right: Right): boolean {
  return (asList(fieldOf(role, "rules")) ?? []).some((rule) => ruleAllows(rule, right));
}

function ruleAllows(
  rule: unknown,
  { verb, group, resource, subresource, name }: Right,
): boolean {
  const has = (field: string, ...wanted: readonly string[]) =>
    (asList(fieldOf(rule, field)) ?? []).some((one) => one === ANY || wanted.includes(String(one)));
  const resources = subresource === undefined
    ? [resource]
    : [`${resource}/${subresource}`, `${ANY}/${subresource}`];
  const names = asList(fieldOf(rule, "resourceNames")) ?? [];
  return has("verbs", verb) && has("apiGroups", group) && has("resources", ...resources) &&
    (names.length === 0 || (name !== undefined && names.includes(name)));
}
