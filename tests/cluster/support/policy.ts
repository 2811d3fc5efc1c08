/**
 * Variables of admission policies. In: a ValidatingAdmissionPolicy. Out: their expressions by name; the policy
 * with another expression.
 */
import type { KubeObject } from "./api_client.ts";

export interface Policy extends KubeObject {
  readonly spec: {
    readonly paramKind?: unknown;
    readonly variables?: readonly { readonly name: string; readonly expression: string }[];
  };
}

export function variablesOf({ spec }: Policy): Record<string, string> {
  return Object.fromEntries(
    (spec.variables ?? []).map(({ name, expression }) => [name, expression]),
  );
}

/** Objects without the variable, such as bindings, stay as they are. */
export function withVariable(policy: Policy, name: string, expression: string): Policy {
  if (!Object.hasOwn(variablesOf(policy), name)) return policy;
  const variables = (policy.spec.variables ?? []).map((variable) =>
    variable.name === name ? { name, expression } : variable
  );
  return { ...policy, spec: { ...policy.spec, variables } };
}
