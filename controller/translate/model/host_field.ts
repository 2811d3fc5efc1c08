/**
 * The hosts that a source names. In: its rules as read. Out: each host with the first field that names
 * it.
 */
import { ANY_HOST } from "./host.ts";

export interface HostField {
  readonly host: string;
  /** `spec.rules[0].host`. */
  readonly field: string;
}

/** What is read of a rule's host. */
interface RuleHost {
  /** Null where it cannot be read. */
  readonly host: string | null;
  /** `spec.rules[0]`. */
  readonly field: string;
}

/** Each host once; not that of rules without one, which nobody owns. */
export function hostFields(rules: readonly RuleHost[]): readonly HostField[] {
  const fields = new Map<string, HostField>();
  for (const { host, field } of rules) {
    if (host === null || host === ANY_HOST || fields.has(host)) continue;
    fields.set(host, { host, field: `${field}.host` });
  }
  return [...fields.values()];
}
